"""NVIDIA PTX: rows per (sm, PTX version)."""
