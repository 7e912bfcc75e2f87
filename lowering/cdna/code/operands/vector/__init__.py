"""Vector instructions: their names by generation, and the numbers of their registers."""
