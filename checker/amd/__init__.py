"""Guarantees, hazards and redundant synchronisation of AMD code."""
