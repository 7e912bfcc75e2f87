"""Foreign code raised to the ``scoped`` dialect."""
