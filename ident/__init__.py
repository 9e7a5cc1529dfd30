"""Robot dynamic parameter identification: from a log of joint positions and torques to a model."""

__version__ = "0.1.0"
