"""Code as text, read as programs that the simulator executes."""
