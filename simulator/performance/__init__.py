"""The performance model: cache lines, bandwidths and occupancy of whole kernels."""
