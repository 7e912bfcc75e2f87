"""Findings in code that others made: one registry of rules, with a page for each."""
