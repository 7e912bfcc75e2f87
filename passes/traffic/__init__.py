"""Kernels of machine instructions as their lanes run them, for ``simulator.performance`` to count."""
