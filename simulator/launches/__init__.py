"""Launches that no user has given in full: from the source of a kernel, and guessed."""
