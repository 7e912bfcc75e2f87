"""LLVM IR as a source: its operations and the order that they require."""
