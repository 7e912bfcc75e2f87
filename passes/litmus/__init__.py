"""Litmus tests between modules and the simulator's programs."""
