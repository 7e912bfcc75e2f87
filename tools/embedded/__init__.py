"""The programs called within another process: by tests, the documentation, a browser."""
