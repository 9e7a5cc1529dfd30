"""From prepared logs to a model: least squares, physical consistency, uncertainty, validation."""
