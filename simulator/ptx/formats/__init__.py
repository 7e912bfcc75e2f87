"""Texts of PTX litmus tests."""
