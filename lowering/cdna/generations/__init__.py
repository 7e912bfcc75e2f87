"""The rows of each generation of AMD chips."""
