"""Effects of calls of LLVM's intrinsics on memory: rows, and the search of a row by name."""
