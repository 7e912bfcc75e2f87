"""Scoped atomics and fences lowered to GPU synchronisation, with proof."""
