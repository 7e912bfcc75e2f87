"""Passes on ``cdna``: write-backs, invalidates, waits, registers."""
