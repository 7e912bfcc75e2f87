"""The cost of CDNA instructions and the limits of AMD devices, as rows."""
