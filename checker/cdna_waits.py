"""What an ``s_waitcnt`` of GFX9 waits for."""

import re
from collections.abc import Iterable

_COUNTS = re.compile(r"(\w+)\((\d+)\)")
_ALL_OF = {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}
"""The largest count of each counter of GFX9, which waits for nothing (MI300 ISA 4.4)."""


def wait_counts(words: Iterable[int | str]) -> dict[str, int]:
    """The counts of an ``s_waitcnt`` that waits for something; ValueError for other words.

    A number packs vmcnt in bits 15:14 and 3:0, expcnt in 6:4, lgkmcnt in 11:8.
    """
    counts: dict[str, int] = {}
    for word in words:
        if isinstance(word, int):
            counts |= {
                "vmcnt": word & 15 | word >> 14 << 4,
                "expcnt": word >> 4 & 7,
                "lgkmcnt": word >> 8 & 15,
            }
            continue
        found = _COUNTS.fullmatch(word)
        if found is None or found[1] not in _ALL_OF:
            raise ValueError(f"unknown wait '{word}'")
        counts[found[1]] = int(found[2])
    return {name: n for name, n in counts.items() if n < _ALL_OF[name]}
