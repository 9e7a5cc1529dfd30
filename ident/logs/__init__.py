"""Logs: from files of joint positions and torques to uniform, filtered, streamed data."""
