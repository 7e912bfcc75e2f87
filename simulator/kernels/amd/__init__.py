"""Kernels of AMD assembly as their lanes run them."""
