"""From ``scoped`` to ``ptx``: conversion, folding and merging."""
