"""Processes: campaigns over several of them, and the time and memory that one may take."""
