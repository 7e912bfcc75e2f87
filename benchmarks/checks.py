"""The time that each part of ``.ci/run everything`` takes; run on an idle machine, where it is
named."""

from pathlib import Path

from harness import Result, cpu_and_wall

PARTS = {
    "lint": "format, lint rules and generated checks",
    "types": "pyright, strict",
    "check-docs": "every table of the pages",
    "lit": "the FileCheck tests",
    "test": "those and a share of the campaigns",
    "every-test": "those and all campaigns, with some of the random programs",
    "own-code": "what the passes make of kernels and 1,000 random programs",
    "check-dist": "the wheel and the sdist",
    "check-site": "the site",
}
_ALONE = ("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-C", str(Path(__file__).parents[1]))


def results() -> list[Result]:
    """CPU and wall time of each part, one after another. A part that fails raises."""
    rows: list[tuple[str, ...]] = []
    for part, what in PARTS.items():
        cpu, wall = cpu_and_wall([*_ALONE, part])
        rows.append((f"make {part}", what, f"{cpu:.0f} s", f"{wall:.0f} s"))
    return [
        Result(
            "The checks of this project",
            ("command", "what it checks", "CPU time", "wall time"),
            tuple(rows),
            "lit, test and every-test are two processes each, others one. `.ci/run` makes those "
            "others two at a time, own-code with 50 programs, no test by itself, and beside all "
            "that the clone of a user.",
        )
    ]
