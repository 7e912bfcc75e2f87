"""docs/reference/verdicts.md: every kernel that the verdicts were measured on, from the data."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from fencewright.simulator.race.verdict import Judgement
from fencewright.tools.dev.campaigns.labelled_kernels import contradicts
from fencewright.tools.reports.markdown import markdown_table

_DATA = Path(__file__).resolve().parents[3] / "tests" / "data" / "verdicts"
Row = Mapping[str, str]
"""A kernel: ``verdict``, ``evidence`` and CPU ``seconds``; of a suite its ``label`` too."""

_TARGETS = {"A": "95 %", "B": "90 %", "C": "100 %", "D": "all races", "E": "85 %", "F": "55 %"}
_CLASSES = {
    "A": "control and addresses from indices and parameters",
    "B": "a branch or a read address depends on data",
    "C": "a store at an index that an atomic returned",
    "D": "a store at an address from data",
    "E": "flags, locks, tickets, grid barriers",
    "F": "mbarriers, asynchronous copies, clusters",
    "G": "calls through registers",
}
_FOUND = ("race", "race under a condition")
_VERDICTS = ("proved", *_FOUND, "not judged")


class VerdictsError(Exception):
    """Impossible data: a wrong kernel that is proved, or a right one that races."""


def verdicts_parts() -> Mapping[str, str]:
    """The tables of docs/reference/verdicts.md. Raises ``VerdictsError``."""
    labelled, production = (_rows(name) for name in ("labelled", "production"))
    for each in labelled:
        if contradicts(each) and not each["note"]:
            verdicts = f"{each['verdict']}, {each['executed']}"
            raise VerdictsError(f"{each['kernel']} is {each['label']}: {verdicts}")
    keys = ("suite", "kernel", "class", "label", "launch")
    return {
        "classes": _confusion(labelled, "class", lambda name: f"{name}: {_CLASSES[name]}"),
        "suites": _confusion(labelled, "suite", str),
        "executed": _executed(labelled),
        "production": _summary(production),
        "replaced": _replaced(_rows("replaced")),
        "labelled_kernels": _list(labelled, keys, {**EXECUTED, "note": "note"}),
        "production_kernels": _list(production, ("project", "file", "kernel")),
    }


def _rows(name: str) -> list[Row]:
    with (_DATA / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _confusion(rows: Sequence[Row], key: str, title: Callable[[str], str]) -> str:
    old = {each["name"]: each for each in _rows("patterns") if each["by"] == key}
    cells = [
        ("all" if name == "all" else title(name), *_counts(own), *_of_patterns(old[name]))
        for name, own in _groups(rows, key)
    ]
    if key == "class":
        cells = [(*each, _TARGETS.get(each[0][0], "")) for each in cells]
    head = (key, "wrong", "found", "not judged", "proved", "right", "proved", "under a condition")
    head = (*head, "not judged", "race", "decided", "SentryWard: found", "proved", "false")
    head = (*head, "patterns: found", "false")
    return markdown_table((*head, "target") if key == "class" else head, cells)


def _groups(rows: Sequence[Row], key: str) -> Iterator[tuple[str, Sequence[Row]]]:
    """The rows of each value of a column, by that, and all."""
    for name in sorted({each[key] for each in rows}):
        yield name, [each for each in rows if each[key] == name]
    yield "all", rows


def _counts(rows: Iterable[Row]) -> tuple[str, ...]:
    wrong, right = (
        [each for each in rows if each["label"] == label] for label in ("wrong", "right")
    )
    one, other = (Counter(each["verdict"] for each in own) for own in (wrong, right))
    found = sum(one[each] for each in _FOUND)
    decided = found + other["proved"]
    theirs, also = (Counter(each["sentryward"] for each in own) for own in (wrong, right))
    numbers = (
        len(wrong), found, one["not judged"], one["proved"],
        len(right), other["proved"], other[_FOUND[1]], other["not judged"], other["race"],
        f"{100 * decided // (len(wrong) + len(right))} %",
        theirs["race"], also["proved"], theirs["proved"] + also["race"],
    )  # fmt: skip
    return tuple(map(str, numbers))


def _executed(rows: Sequence[Row]) -> str:
    """The verdicts on launches, by class."""
    cells: list[tuple[str, ...]] = []
    for name, own in _groups(rows, "class"):
        wrong, right = (
            Counter(each["executed"] for each in own if each["label"] == label)
            for label in ("wrong", "right")
        )
        seconds = sum(float(each["cpu"]) for each in own)
        silent, undecided = Judgement.NO_RACE.value, Judgement.NOT_JUDGED.value
        found = [each.total() - each[silent] - each[undecided] for each in (wrong, right)]
        numbers = (
            wrong.total(), found[0], wrong[silent], wrong[undecided],
            right.total(), right[silent], found[1], right[undecided], f"{seconds:.1f}",
        )  # fmt: skip
        cells.append((name, *map(str, numbers)))
    head = ("class", "wrong", "found", "silent", "not judged")
    head = (*head, "right", "no race", "finding", "not judged", "seconds")
    return markdown_table(head, cells)


def _of_patterns(old: Row) -> tuple[str, str]:
    return f"{old['found']} of {old['wrong']}", f"{old['false']} of {old['right']}"


def _summary(rows: Sequence[Row]) -> str:
    cells: list[tuple[str, ...]] = []
    for name, own in _groups(rows, "project"):
        count = Counter(each["verdict"] for each in own)
        times = sorted(float(each["seconds"]) for each in own)
        seconds = times[len(times) // 2], times[len(times) * 95 // 100]
        numbers = (len(own), *(count[each] for each in _VERDICTS))
        cells.append((name, *map(str, numbers), ", ".join(f"{each:.1f}" for each in seconds)))
    return markdown_table(("project", "kernels", *_VERDICTS, "seconds: median, 95 %"), cells)


def _replaced(rows: Sequence[Row]) -> str:
    cells = [(f"`{own['module']}`", *(own[key] for key in _REPLACED)) for own in rows]
    total = sum(int(each["lines"]) for each in rows)
    return markdown_table(("module", *_REPLACED), (*cells, ("all", str(total), "", "")))


_REPLACED = ("lines", "rules", "replacement")
EXECUTED = {"executed": "`--launch`", "shown": "by", "accesses": "executed", "cpu": "seconds"}
"""The columns of a launch, and their heads."""


def _list(
    rows: Sequence[Row], keys: Sequence[str], more: Mapping[str, str] = MappingProxyType({})
) -> str:
    keys = (*keys, "verdict", "evidence", "seconds", *more)
    code = ("kernel", "launch")
    cells = [tuple(f"`{each[key]}`" if key in code else each[key] for key in keys) for each in rows]
    return markdown_table([more.get(each, each) for each in keys], cells)
