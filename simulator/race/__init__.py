"""Data races, by happens-before in an execution."""
