"""Remarks: the change of each fence, and the reason."""
