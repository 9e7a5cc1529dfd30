"""Robot dynamic parameter identification: from a log of joint positions and torques to a model."""
