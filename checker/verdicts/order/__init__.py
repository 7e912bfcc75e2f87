"""The order relation of verdicts: one file of rules for each primitive of synchronisation."""
