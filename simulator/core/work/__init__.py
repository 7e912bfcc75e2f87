"""Long work: campaigns over processes, and the memory that it may take."""
