"""Repairs of code, as fence-check prints and writes them."""
