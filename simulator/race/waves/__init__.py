"""Launches without a finding, shown over arrays."""
