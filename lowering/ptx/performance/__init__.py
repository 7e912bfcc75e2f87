"""The cost of PTX instructions and the limits of NVIDIA devices, as rows."""
