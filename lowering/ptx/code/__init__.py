"""The front end of PTX: text to statements with their effects."""
