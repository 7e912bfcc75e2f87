"""Litmus tests from files."""
