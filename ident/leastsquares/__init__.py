"""Least squares on streams: blocks become small triangular factors, factors become answers."""
