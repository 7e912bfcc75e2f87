"""The race detector for AMD machine code: the caches decide what a load may see."""
