"""Foreign code as programs for the simulator."""
