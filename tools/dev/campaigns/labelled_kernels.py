"""Labelled kernels of public suites, judged without a launch and by executing one.

``python -m fencewright.tools.dev.campaigns.labelled_kernels --labels CSV --ptx FOLDER [--launch]``

The labels have the columns ``suite``, ``source``, ``kernel`` (its name in PTX), ``our_label`` and
``class``; the PTX of a source is SUITE/STEM.ptx below a folder of ``--ptx``, of ``probes`` any
STEM.ptx. Rows of tests/data/verdicts/labelled.tsv are written anew: with ``--launch`` those columns
that execute the launch of the row, else those of ``fence-check --prove`` at its sizes. A row of
a new kernel begins with its launch. The status is 1 where a verdict contradicts its label and the
row has no note. Needs a checkout.
"""

import csv
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time

from fencewright.checker.findings.finding import Level, VerdictKind
from fencewright.checker.nvidia.findings import JudgedFunction, judged
from fencewright.checker.verdicts.amd.judge import JudgedFunction as JudgedAmd
from fencewright.checker.verdicts.solver import Launch as Sizes
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.race.rules import Fault
from fencewright.simulator.race.verdict import Judgement, Verdict, judge
from fencewright.simulator.threads.launch import Launch, Module, parse_launch

DATA = Path(__file__).resolve().parents[3] / "tests" / "data" / "verdicts" / "labelled.tsv"
Row = dict[str, str]
OUT_OF_SCOPE = "out of scope"
WORDS = {
    VerdictKind.RACE_FREE: "proved",
    VerdictKind.RACE: "race",
    VerdictKind.LAUNCH: "race under a condition",
    VerdictKind.NOT_JUDGED: "not judged",
}
_PARAMETER = re.compile(r"\b\w+_param_(\d+)")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A kernel with a label: its suite, the stem of its source, and its name in the PTX."""

    suite: str
    stem: str
    kernel: str
    group: str
    is_right: bool

    @property
    def title(self) -> str:
        """The name of its row."""
        return f"{self.stem}: {short_name(self.kernel)}"


class LabelledError(ValueError):
    """Labels, rows and PTX that do not fit together: one line, with the advice."""


def short_name(kernel: str) -> str:
    """The name of a kernel without its parameters.

    Source: Itanium C++ ABI, 5.1.5: names with their lengths, and arguments of templates.
    """
    found = re.match(r"_Z(\d+)", kernel)
    if found is None:
        return kernel
    begin = found.end()
    name, rest = kernel[begin : begin + int(found[1])], kernel[begin + int(found[1]) :]
    template = re.match(r"I((?:L[ij]\d+E)+)E", rest)
    if template is None:
        return name
    numbers = re.findall(r"L([ij])(\d+)E", template[1])
    return f"{name}<{', '.join(f'{n}u' if type == 'j' else n for type, n in numbers)}>"


def labels_of(text: str) -> Iterator[Labelled]:
    """The kernels of a file of labels, without those that no label is given to."""
    for each in csv.DictReader(text.splitlines()):
        if each["our_label"] == OUT_OF_SCOPE:
            continue
        stem = re.sub(r"\.(cu|ptx)$", "", each["source"].rpartition("/")[2])
        is_right = each["our_label"] == "race-free"
        yield Labelled(each["suite"], stem, each["kernel"], each["class"][0], is_right)


def texts_below(folders: Sequence[Path]) -> dict[tuple[str, str], Path]:
    """PTX by its folder's name and its stem, and by its stem alone; of equal ones the first."""
    found: dict[tuple[str, str], Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.ptx")):
            found.setdefault((path.parent.name, path.stem), path)
            found.setdefault(("probes", path.stem), path)
    return found


@cache
def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    return Module(read_ptx(text, path.name))


# Verdicts


def proved(module: Module, kernel: str, launch: Launch) -> Mapping[str, str]:
    """The columns of a verdict at the sizes of a launch."""
    begin = process_time()
    result = judged(module.ptx, module.ptx.functions[kernel], Sizes(launch.block, launch.grid))
    seconds = process_time() - begin
    reason = _PARAMETER.sub(r"parameter \1", evidence(result)).replace(kernel, short_name(kernel))
    word = WORDS[result.verdict.kind]
    return {"verdict": word, "evidence": reason, "seconds": f"{seconds:.1f}"}


def evidence(result: JudgedFunction | JudgedAmd) -> str:
    """The reason for a verdict in a few words: the rules of a proof, a condition, an obstacle."""
    verdict = result.verdict
    if verdict.kind is VerdictKind.RACE_FREE:
        return ", ".join(verdict.by) or "no conflict"
    if verdict.kind is VerdictKind.LAUNCH:
        return verdict.condition
    if verdict.kind is VerdictKind.NOT_JUDGED:
        first = verdict.obstacles[0]
        line = f" (line {first.line})" if first.line else ""
        return f"{first.reason.partition(': lines')[0]}{line}"
    findings = sorted(result.findings, key=lambda each: [*Level].index(each.level))
    return f"{findings[0].rule} (line {findings[0].line})" if findings else "race"


def executed(module: Module, launch: Launch) -> Mapping[str, str]:
    """The columns of a launch that is executed."""
    begin = process_time()
    verdict = judge(module, launch)
    seconds = process_time() - begin
    return {
        "executed": verdict.judgement.value,
        "shown": _shown(verdict),
        "accesses": f"{verdict.executed} of {verdict.accesses}",
        "cpu": f"{seconds:.2f}",
    }


def _shown(verdict: Verdict) -> str:
    if verdict.judgement is Judgement.NOT_JUDGED:
        return verdict.problem
    worst = verdict.errors or [each for each in verdict.findings if each.kind is Fault.SAME_VALUE]
    if not worst:
        return f"{verdict.schedules} schedules"
    return f"{worst[0].kind.rule} (line {worst[0].line})"


UNDECIDED = ("", Judgement.NOT_JUDGED.value)


def contradicts(row: Mapping[str, str]) -> bool:
    """True of a row in which a verdict is the opposite of the label."""
    if row["verdict"] == ("race" if row["label"] == "right" else "proved"):
        return True
    is_silent = row["executed"] == Judgement.NO_RACE.value
    return row["executed"] not in UNDECIDED and is_silent is (row["label"] == "wrong")


# The data


def rows() -> list[Row]:
    """The rows of the data."""
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(found: Sequence[Row]) -> None:
    """Write the rows."""
    lines = ["\t".join(found[0]), *("\t".join(each.values()) for each in found)]
    DATA.write_text("\n".join(lines) + "\n", encoding="utf-8")


def path_of(label: Labelled, texts: Mapping[tuple[str, str], Path]) -> Path:
    """The PTX of a label. Raises ``LabelledError``."""
    found = texts.get((label.suite, label.stem))
    if found is None:
        raise LabelledError(
            f"{label.suite}: no {label.stem}.ptx: compile it, and name its folder by --ptx"
        )
    return found


def judge_rows(
    labels: Sequence[Labelled], texts: Mapping[tuple[str, str], Path], only: str, *, launch: bool
) -> Iterator[Row]:
    """The rows of the data, those of the labels judged anew. Raises ``LabelledError``."""
    by_title = {(each.suite, each.title): each for each in labels}
    for row in rows():
        label = by_title.get((row["suite"], row["kernel"]))
        if label is None or re.search(only, f"{row['suite']} {row['kernel']}") is None:
            yield row
            continue
        module = _module(path_of(label, texts))
        given = parse_launch(label.kernel + row["launch"])
        found = executed(module, given) if launch else proved(module, label.kernel, given)
        row |= {"class": label.group, "label": "right" if label.is_right else "wrong", **found}
        print(*row.values(), sep="\t", flush=True)
        yield row


def main(argv: Sequence[str] | None = None) -> int:
    """Judge the kernels and write their rows."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=Path, required=True, metavar="CSV")
    parser.add_argument("--ptx", type=Path, required=True, action="append", metavar="FOLDER")
    parser.add_argument("--launch", action="store_true", help="execute the launch of each row")
    parser.add_argument("--only", default="", metavar="PATTERN", help="the rows of such names")
    given = parser.parse_args(argv)
    labels = list(labels_of(given.labels.read_text(encoding="utf-8")))
    try:
        found = list(judge_rows(labels, texts_below(given.ptx), given.only, launch=given.launch))
    except LabelledError as problem:
        print(problem, file=sys.stderr)
        return 2
    write(found)
    wrong = [each for each in found if contradicts(each) and not each["note"]]
    for each in wrong:
        print(f"{each['kernel']} is {each['label']}: {each['verdict']}, {each['executed']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
