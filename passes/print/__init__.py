"""Assembly and PTX text."""
