"""The race detector for AMD machine code: the caches decide the values that a load may see."""
