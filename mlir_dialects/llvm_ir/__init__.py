"""LLVM IR: its dialect, and the way from LLVM's text and back."""
