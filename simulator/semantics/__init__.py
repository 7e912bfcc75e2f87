"""The semantics of PTX instructions, as formulas that every executor takes."""
