"""Kernels of PTX text, executed lane by lane."""
