"""Passes on ``scoped``, for all targets."""
