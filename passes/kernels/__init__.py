"""Which functions are kernels, and what they may contain."""
