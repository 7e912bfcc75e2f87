"""Meanings of instructions as data, which every executor of assembly reads."""
