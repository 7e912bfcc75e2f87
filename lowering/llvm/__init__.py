"""LLVM's words: architectures, scopes, orderings, and in ``intrinsics`` the effects of
intrinsics."""
