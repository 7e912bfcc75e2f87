"""Arithmetic of AMD instructions on the values of lanes."""
