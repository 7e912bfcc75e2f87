"""Options of passes and pipelines."""

from typing import Literal, TypeAlias

OptLevel: TypeAlias = Literal[0, 2]
"""0: every operation has all the synchronisation that it needs by itself; 2: the fewest."""

DEFAULT_OPT_LEVEL: OptLevel = 2

TARGET_ID = "target_id"
"""The option for the target id, as ``gfx942:xnack-``, of passes that make assembly for CDNA."""
