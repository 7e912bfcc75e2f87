"""IR to IR, one pass per file named after it."""
