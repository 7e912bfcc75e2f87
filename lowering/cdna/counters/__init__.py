"""Counters of outstanding operations, and the waits for them."""
