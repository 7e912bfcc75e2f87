"""AMD assembly as programs of the CDNA machine."""
