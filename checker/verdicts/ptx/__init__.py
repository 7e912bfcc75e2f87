"""PTX as kernels of verdicts: values of registers, accesses, barriers, fences, mbarriers,
groups."""
