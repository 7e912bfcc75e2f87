"""The tables of the page on the CDNA machine: the reach of bits and cache instructions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fencewright.lowering.cdna.caches import ACCESS_NOUNS
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.table import Illegal, Table
from fencewright.simulator.cdna.rows import (
    ACCESS,
    CACHE,
    DEFAULT_READINGS,
    READINGS,
    AccessEffect,
    CacheEffect,
)
from fencewright.tools.reports.markdown import markdown_table


def cdna_machine_parts() -> Mapping[str, str]:
    """The tables of ``docs/cdna-machine.md`` that come from the rows."""
    readings = [
        (
            f"`{reading}`",
            row.value,
            _word(reading in DEFAULT_READINGS),
            str(row.evidence or ""),
            row.source,
        )
        for (reading,), row in sorted(READINGS.items())
    ]
    columns = ("reading", "assumption", "by default", "known", "from")
    return {
        "access": _effects(ACCESS),
        "cache": _effects(CACHE),
        "readings": markdown_table(columns, readings),
    }


def where_cells(
    table: Table[Any], where: Mapping[str, Sequence[object]], word: Callable[[object], str]
) -> Iterator[str]:
    """A cell for each column of a row of ``table``; empty where the row is for every value."""
    for column, domain in table.columns.items():
        given = where.get(column, domain)
        yield "" if set(given) == set(domain) else ", ".join(map(word, given))


def _effects(table: "Table[AccessEffect | Illegal] | Table[CacheEffect | Illegal]") -> str:
    return markdown_table(
        (*table.columns, "effect", "known", "source"),
        [
            (
                *where_cells(table, row.where, _word),
                _effect(row.value),
                str(row.evidence or ""),
                row.source,
            )
            for row in table.rows
        ],
    )


_COUNTED_AS = {False: "is counted as a load", True: "is counted as a store"}
"""The words for the count of cache maintenance; with vmcnt both are one."""


def _word(value: object) -> str:
    if isinstance(value, Kind):
        return ACCESS_NOUNS[value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "none"


def _effect(value: "AccessEffect | CacheEffect | Illegal") -> str:
    match value:
        case Illegal(reason=reason):
            return f"refused: {reason}"
        case AccessEffect():
            parts = [
                "L1" if value.l1 else "misses the L1",
                "by the reading `store-stays` alone" if value.stays else "",
                "may bring its line in" if value.brings_in else "",
                "past the L2" if value.past_l2 else "at the L2",
                "returns the old value" if value.returns else "",
            ]
        case CacheEffect():
            parts = [
                "empties the L1" if value.l1 else "",
                "empties the scalar cache" if value.scalar else "",
                "goes through the queues" if value.marker else "",
                "writes dirty lines back" if value.write_back else "",
                "drops clean nonlocal lines" if value.invalidate else "",
                "when is left open" if value.queued else "",
                _COUNTED_AS[value.as_store] if value.counts else "",
            ]
    return ", ".join(filter(None, parts)) or "nothing"
