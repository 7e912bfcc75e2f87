"""The common parts of all models: programs, conditions, relations, exploration."""
