"""LLVM's words: architectures, scopes, orderings; the effects of ``intrinsics``."""
