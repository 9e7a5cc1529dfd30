"""Simulation: a plant whose parameters are known, and the log that it would give."""
