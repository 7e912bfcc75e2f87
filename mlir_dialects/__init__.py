"""The languages programs are written in."""
