"""LLVM IR: its dialect, its reader and its writer."""
