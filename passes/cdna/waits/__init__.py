"""Passes on waits of ``cdna``."""
