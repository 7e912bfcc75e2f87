"""AMD assembly as kernels of verdicts."""
