"""Verdicts without a launch: two symbolic threads, conflicts, and the orders that separate them."""
