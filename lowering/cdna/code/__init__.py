"""The front end of AMD assembly: text and code objects to instructions with their effects."""
