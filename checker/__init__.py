"""What machine code from elsewhere does."""
