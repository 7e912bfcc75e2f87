"""The operands and effects of AMD instructions, as rows by generation."""
