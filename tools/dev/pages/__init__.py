"""Writers of the documentation."""
