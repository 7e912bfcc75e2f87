"""Lowering in LLVM IR."""
