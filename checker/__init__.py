"""Analyses of machine code from other compilers and authors."""
