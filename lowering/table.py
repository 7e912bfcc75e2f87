"""Rule tables: rows of data with named columns, indexed when they are built.

A row gives for each column the values it covers; what it does not name, it covers
wholly. A table expands its rows into one dictionary over every combination of its
columns, and refuses to exist with a combination covered twice or not at all.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Generic, TypeVar

from fencewright.lowering.evidence import Evidence

Value = TypeVar("Value", covariant=True)
Key = tuple[Hashable, ...]


class TableError(Exception):
    """The rows of a table overlap, or leave a gap, or name an unknown column."""


@dataclass(frozen=True, slots=True)
class Row(Generic[Value]):
    """One rule: the column values it covers, its value there, and its source.

    ``evidence`` says how well it is known, in tables that say so.
    """

    where: Mapping[str, tuple[Hashable, ...]]
    value: Value
    source: str
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Illegal:
    """The value of a row for a combination that has no lowering."""

    reason: str
    accepted: tuple[str, ...] = ()


def row(
    value: Value,
    source: str,
    evidence: Evidence | None = None,
    **where: Hashable | tuple[Hashable, ...],
) -> Row[Value]:
    """A row; each column takes one value or a tuple of them. An empty source is refused."""
    if not source:
        raise TableError(f"a row needs a source: {value!r}")
    columns: dict[str, tuple[Hashable, ...]] = {
        name: v if isinstance(v, tuple) else (v,)
        for name, v in where.items()  # pyright: ignore[reportUnknownVariableType]  (isinstance narrows a Hashable to an unknown tuple)
    }
    return Row(columns, value, source, evidence)


class Table(Generic[Value]):
    """An exact and complete mapping from every combination of the columns to one row.

    ``columns`` maps each column's name to all the values it can take. Raises
    ``TableError`` for an overlap, a gap, or a row that names something unknown.
    """

    __slots__ = ("_index", "columns", "name", "rows")

    def __init__(
        self, name: str, columns: Mapping[str, Iterable[Hashable]], rows: Iterable[Row[Value]]
    ):
        self.name = name
        self.columns = {column: tuple(domain) for column, domain in columns.items()}
        self.rows = tuple(rows)
        self._index: dict[Key, Row[Value]] = {}
        for each in self.rows:
            self._add(each)
        for key in product(*self.columns.values()):
            if key not in self._index:
                raise TableError(f"{name}: no row covers {self._describe(key)}")

    def _add(self, each: Row[Value]) -> None:
        for column, values in each.where.items():
            domain = self.columns.get(column)
            if domain is None:
                raise TableError(f"{self.name}: unknown column '{column}' in {each}")
            unknown = [v for v in values if v not in domain]
            if unknown:
                raise TableError(f"{self.name}: {column} is never {unknown} in {each}")
        domains = [each.where.get(c, domain) for c, domain in self.columns.items()]
        for key in product(*domains):
            if key in self._index:
                raise TableError(f"{self.name}: two rows cover {self._describe(key)}")
            self._index[key] = each

    def _describe(self, key: Key) -> str:
        return ", ".join(f"{c}={v}" for c, v in zip(self.columns, key, strict=True))

    def __getitem__(self, key: Key) -> Row[Value]:
        """The row for ``key``, given in the order of the columns."""
        return self._index[key]

    def items(self) -> Iterable[tuple[Key, Row[Value]]]:
        """Every combination with its row, in the order of the columns."""
        return self._index.items()
