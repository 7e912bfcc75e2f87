"""Campaigns for developers: mutation, deletion, foreign compilers."""
