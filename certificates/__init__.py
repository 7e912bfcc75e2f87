"""Certificates of the shipped lowerings, one JSON file a mode.

`simulator.certify.certificate` reads them.
"""
