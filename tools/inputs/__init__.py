"""Reading litmus tests and MLIR from files."""
