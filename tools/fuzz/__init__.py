"""Random programs through the passes, held against the behaviour of their source."""
