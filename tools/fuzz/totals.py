"""Totals of campaigns: numbers that grow as tasks are done, between processes and in files."""

from collections import Counter
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple, cast


class Violation(NamedTuple):
    """A seed whose program shows a mistake on a setting."""

    seed: int
    setting: str
    verdict: str
    message: str


@dataclass(slots=True)
class Totals:
    """The totals of all programs so far; ``seconds`` are CPU time of all processes.

    The fields of a class of these are numbers, counters, and tables of such by name.
    """

    programs: int = 0
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list[Violation])

    def data(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return _data_of(self)

    def include(self, data: dict[str, Any]) -> None:
        """Add the data of other totals."""
        _include(self, data | {"violations": [Violation(*each) for each in data["violations"]]})


def _data_of(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _data_of(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {name: _data_of(each) for name, each in table.items()}
    return round(value, 3) if isinstance(value, float) else value


def _include(total: Any, data: dict[str, Any]) -> None:
    """Add data to the fields of totals; a table makes the entries that it lacks."""
    for name, given in data.items():
        value: Any = getattr(total, name)
        if isinstance(value, Counter):
            cast("Counter[str]", value).update(given)
        elif isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            for key, each in given.items():
                if isinstance(table[key], Counter):
                    cast("Counter[str]", table[key]).update(each)
                else:
                    _include(table[key], each)
        else:
            setattr(total, name, value + given)
