"""Guarantees, races and redundant synchronisation of PTX."""
