"""docs/reference/verdicts.md: every kernel that the verdicts were measured on, from the data."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

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
_HEAD = """<!-- Written by `make docs` from tests/data/verdicts; change the data, not this page. -->
# Verdicts of kernels

`fence-check --prove` of kernels of others: labelled ones of public suites, and production code. A
wrong kernel is *found* by a race, also by one under a condition that is stated (contents of an
array, a number of blocks); a right one is *proved*. Seconds are CPU time of one kernel.
"""


class VerdictsError(Exception):
    """Data that say something that no verdict may be: a wrong kernel that is proved, a right one
    that races."""


def verdicts_page() -> str:
    """The page. Raises ``VerdictsError``."""
    labelled, production = (_rows(name) for name in ("labelled", "production"))
    for each in labelled:
        verdict = "race" if each["label"] == "right" else "proved"
        if each["verdict"] == verdict and not each["note"]:
            raise VerdictsError(f"{each['kernel']} is {each['label']}, and {verdict}")
    return "\n".join(
        [
            _HEAD,
            "## Labelled kernels\n",
            "With the label's grid and block. SentryWard 0.1.1 had the scalar arguments too; inputs"
            " that it refused count as not decided ([races.md](../races.md#public-suites) has 32 of"
            " them repaired). The"
            " patterns are those that verdicts have replaced, on 470 kernels of the suites.\n",
            _confusion(labelled, "class", lambda name: f"{name}: {_CLASSES[name]}"),
            _confusion(labelled, "suite", str),
            "## Production kernels\n",
            "Without a launch; rows of `tools/dev/production_kernels.py`. CUB's and libcu++'s are"
            " calls of their algorithms, Triton's its tutorials.\n",
            _summary(production),
            "## Each labelled kernel\n",
            _list(labelled, ("suite", "kernel", "class", "label", "launch")),
            "## Each production kernel\n",
            _list(production, ("project", "file", "kernel")),
        ]
    )


def _rows(name: str) -> list[Row]:
    with (_DATA / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _confusion(rows: Sequence[Row], key: str, title: Callable[[str], str]) -> str:
    names = sorted({each[key] for each in rows})
    groups = [(title(name), [each for each in rows if each[key] == name]) for name in names]
    old = {each["name"]: each for each in _rows("patterns") if each["by"] == key}
    cells = [
        (head, *_counts(own), *_of_patterns(old[name]))
        for name, (head, own) in zip((*names, "all"), (*groups, ("all", rows)), strict=True)
    ]
    if key == "class":
        cells = [(*each, _TARGETS.get(each[0][0], "")) for each in cells]
    head = (key, "wrong", "found", "not judged", "proved", "right", "proved", "under a condition")
    head = (*head, "not judged", "race", "decided", "SentryWard: found", "proved", "false")
    head = (*head, "patterns: found", "false")
    return markdown_table((*head, "target") if key == "class" else head, cells)


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


def _of_patterns(old: Row) -> tuple[str, str]:
    return f"{old['found']} of {old['wrong']}", f"{old['false']} of {old['right']}"


def _summary(rows: Sequence[Row]) -> str:
    names = sorted({each["project"] for each in rows})
    groups = [(name, [each for each in rows if each["project"] == name]) for name in names]
    cells: list[tuple[str, ...]] = []
    for name, own in (*groups, ("all", rows)):
        count = Counter(each["verdict"] for each in own)
        times = sorted(float(each["seconds"]) for each in own)
        seconds = times[len(times) // 2], times[len(times) * 95 // 100]
        numbers = (len(own), *(count[each] for each in _VERDICTS))
        cells.append((name, *map(str, numbers), ", ".join(f"{each:.1f}" for each in seconds)))
    return markdown_table(("project", "kernels", *_VERDICTS, "seconds: median, 95 %"), cells)


def _list(rows: Sequence[Row], keys: Sequence[str]) -> str:
    head = (*keys, "verdict", "evidence", "seconds")
    cells = [
        tuple(f"`{each[key]}`" if key == "kernel" else each[key] for key in head) for each in rows
    ]
    return markdown_table(head, cells)
