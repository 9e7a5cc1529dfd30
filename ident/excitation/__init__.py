"""Excitation: motions that show the parameters, within the limits of the robot."""
