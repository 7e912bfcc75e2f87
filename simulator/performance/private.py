"""The layout of private memory in global memory: word after word, and of each word those of all
lanes."""

import numpy as np

from fencewright.simulator.execution.lanes import LaneFlags, Numbers

BASE = 1 << 47
"""Private memory lies from here, above every buffer. How far it is from them no count depends
on."""


def interleaved(
    addresses: Numbers, active: LaneFlags, width: int, *, places: Numbers, room: int, word: int
) -> tuple[Numbers, LaneFlags]:
    """The addresses of lanes' private bytes, a column for each lane and word of the access.

    ``places``: which of the waves that are resident each row is; ``room``: bytes of private memory
    that a lane has; ``word``: bytes that lie together. An access within a word has one column a
    lane, a wider one is aligned to words.
    """
    lanes = addresses.shape[1]
    words = -(-room // word)
    count = max(width // word, 1)
    # Inactive lanes may have any address.
    own = np.where(active, addresses, 0)
    number: Numbers = own[:, None, :] // word + np.arange(count)[None, :, None]
    within: Numbers = (own % word)[:, None, :]
    first: Numbers = BASE + places[:, None, None] * (words * lanes * word)
    lane: Numbers = np.arange(lanes, dtype=np.int64)
    found: Numbers = np.add(first + number * (lanes * word), lane * word + within)
    return found.reshape(len(own), -1), np.tile(active, (1, count))
