"""Reasons of the passes for their changes to an operation."""
