"""Programs of the machines, made of sequences without their text."""
