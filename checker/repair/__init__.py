"""Repairs of findings: edits of statements, each repair judged again before it is shown."""
