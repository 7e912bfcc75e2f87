"""Counters of what is outstanding, and the waits for them."""
