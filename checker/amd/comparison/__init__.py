"""AMD code compared with the LLVM IR that it was made of."""
