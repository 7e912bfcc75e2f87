"""Certificates of the shipped lowerings, one JSON file a mode; `simulator.certificate` reads them."""
