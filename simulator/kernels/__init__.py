"""Kernels of machine code as their lanes run them."""
