"""Models in the formats that others load, each checked before it is written."""
