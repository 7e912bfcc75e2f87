"""Reports of the tools on their findings."""
