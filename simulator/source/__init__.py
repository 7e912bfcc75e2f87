"""The model of the ``scoped`` language."""
