"""From ``scoped`` to ``cdna``."""
