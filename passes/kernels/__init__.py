"""The functions that are kernels, and their permitted contents."""
