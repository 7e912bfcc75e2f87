"""What all models share: programs, conditions, relations, exploration."""
