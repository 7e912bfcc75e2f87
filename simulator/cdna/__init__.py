"""The CDNA machine and its engine."""
