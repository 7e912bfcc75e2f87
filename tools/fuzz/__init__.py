"""Random programs through the passes, held against what their source may do."""
