"""``fencewright.access``: what an access costs, with its picture for notebooks."""

from collections.abc import Sequence
from dataclasses import replace

from fencewright.simulator.performance.accesses import access as accesses


def access(
    instruction: str, addresses: str | Sequence[int | None], target: str
) -> accesses.AccessCounts:
    """What one access counts on ``target``, as Nsight Compute or rocprofiler would say.

    ``addresses``: one for each lane in bytes, None for an inactive lane, or an expression over
    ``lane``. Bases are aligned to 1 GiB. Raises ``UnsupportedError`` for an instruction or chip
    that is not modelled, ``AddressError`` for addresses that cannot be. A notebook shows a table
    and, where drawsvg is installed, the lanes against banks or sectors.
    """
    counts = accesses.access(instruction, addresses, target)

    def picture() -> str | None:
        from fencewright.simulator.performance.accesses.bank_conflicts import places_of
        from fencewright.simulator.pictures.access_svg import access_svg
        from fencewright.simulator.pictures.missing import drawn_if_possible

        model = accesses.model_of(instruction, target)
        given = accesses.given_addresses(model, addresses)
        places = places_of(model, given)
        return drawn_if_possible(lambda _: access_svg(model, places, counts), counts)

    return replace(counts, picture=picture)
