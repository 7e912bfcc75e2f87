"""Code of any vendor, read: what its analyses share."""
