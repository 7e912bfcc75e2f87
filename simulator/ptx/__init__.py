"""The PTX model."""
