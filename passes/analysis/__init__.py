"""Analyses of code that passes run before they change it."""
