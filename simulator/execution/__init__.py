"""Whole kernels, executed lane by lane."""
