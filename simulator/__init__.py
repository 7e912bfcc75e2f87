"""Executes what was lowered. Needs no xDSL."""
