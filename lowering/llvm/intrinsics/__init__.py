"""What calls of LLVM's intrinsics do to memory: rows, and how a name finds its row."""
