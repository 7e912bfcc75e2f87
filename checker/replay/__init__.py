"""Races of verdicts, replayed by execution."""
