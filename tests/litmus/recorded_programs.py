"""What the passes leave of the synchronisation of many programs, recorded.

A change to a pass that changes any of it shows, whether a model calls it wrong or only longer.
Run this file to record it anew, once the differences have been looked at.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pass_corpus
from pass_trials import FOLDED, ON_CDNA, ON_PTX, SCOPED, Trial, View
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

RECORD = Path(__file__).parents[1] / "data" / "lowered_programs.txt"
VIEWS = (*ON_CDNA, *ON_PTX, SCOPED, *FOLDED, *pass_corpus.ON_FACTS)
AT_RANDOM = 30
"""Random programs for each view."""


def trials() -> Iterator[Trial]:
    """The programs, each in a view."""
    for view in VIEWS:
        yield from trials_in(view)


def trials_in(view: View) -> Iterator[Trial]:
    """Those of one view."""
    yield from pass_corpus.for_guards(view)
    yield from pass_corpus.drawn(view, 5_000, AT_RANDOM)


def synchronisation(module: ModuleOp) -> str:
    """What orders accesses, and how they are cached, block by block."""
    lines: list[str] = []
    for op in module.walk():
        if op.name in ("cdna.kernel", "ptx.kernel", "litmus.thread") or op.successors:
            lines.append(op.name)
        elif (said := _said(op)) is not None:
            lines.append(said)
    return "\n".join(lines)


def _said(op: Operation) -> str | None:
    properties = op.properties
    if op.name == "cdna.s_waitcnt":
        counts = [
            f"{name}={properties[name]}" for name in ("vmcnt", "lgkmcnt") if name in properties
        ]
        return " ".join([op.name, *counts])
    if "opcode" in properties and op.name not in ("cdna.alu", "ptx.alu", "cdna.mov"):
        return f"{properties['opcode']} {properties.get('modifiers', '')}"
    if op.name.startswith("scoped."):
        return " ".join([op.name, *(f"{name}={each}" for name, each in sorted(properties.items()))])
    return None


def digest(trial: Trial) -> str:
    """Equal for equal synchronisation."""
    return hashlib.sha256(synchronisation(trial.lowered()).encode()).hexdigest()[:12]


def recorded() -> dict[str, str]:
    """The digests by program and view."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    return {name: found for found, name in (line.split(" ", 1) for line in lines)}


def record() -> None:
    """Write them anew."""
    lines = [f"{digest(each)} {each}" for each in trials()]
    RECORD.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    record()
