"""Remarks: what became of each fence, and the reason."""
