"""What became of synchronisation, and why."""
