"""What tools write about what they found."""
