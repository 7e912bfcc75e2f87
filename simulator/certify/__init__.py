"""Certificates: sequences shown sufficient, instructions shown necessary."""
