"""The execution of lowered code. Needs no xDSL."""
