"""Passes on write-backs and invalidates of ``cdna``."""
