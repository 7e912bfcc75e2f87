"""Litmus tests on a real GPU."""
