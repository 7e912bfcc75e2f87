"""Kernels of PTX files as their lanes run them."""
