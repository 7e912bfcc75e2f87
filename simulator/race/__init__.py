"""Data races, by what happens before what in an execution."""
