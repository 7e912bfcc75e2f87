"""The programs called within another process: by tests, by the documentation, by a page in a
browser."""
