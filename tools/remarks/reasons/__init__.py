"""Reasons of the passes for what they did to an operation."""
