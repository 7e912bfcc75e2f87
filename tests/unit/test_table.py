"""A rule table refuses gaps, overlaps, unknown columns and rows without a source."""

import pytest

from fencewright.lowering.table import Row, Table, TableError, row

COLUMNS = {"colour": ("red", "blue"), "lit": (False, True)}


def _table(*rows: Row[int]) -> Table[int]:
    return Table("lamps", COLUMNS, rows)


def test_looks_up_in_column_order():
    table = _table(row(1, "a", colour="red"), row(2, "b", colour="blue", lit=(False, True)))
    assert table["red", True].value == 1
    assert table["blue", False].source == "b"
    assert len(list(table.items())) == 4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((row(1, "a", colour="red"),), "no row covers colour=blue, lit=False"),
        ((row(1, "a"), row(2, "b", lit=True)), "two rows cover colour=red, lit=True"),
        ((row(1, "a", size=3),), "unknown column 'size'"),
        ((row(1, "a", colour="green"),), r"colour is never \['green'\]"),
    ],
)
def test_refuses(rows: tuple[Row[int], ...], message: str):
    with pytest.raises(TableError, match=message):
        _table(*rows)


def test_refuses_a_row_without_source():
    with pytest.raises(TableError, match="needs a source"):
        row(1, "")
