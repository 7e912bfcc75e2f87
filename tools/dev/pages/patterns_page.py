"""The programs of docs/patterns.md, as the model judges them without each part.

What a GPU showed is read from docs/gpu-async.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencewright.simulator.core.condition import LitmusError
from fencewright.tools.dev.campaigns.patterns import (
    FOLDER,
    Change,
    Pattern,
    Result,
    Verdict,
    Weakened,
    judged,
    patterns,
    weakenings,
)
from fencewright.tools.reports.markdown import markdown_table

GPU_PAGE = FOLDER.parents[1] / "docs" / "gpu-async.md"


class PageError(Exception):
    """A fault that the page cannot show: a verdict without a reason, or against a GPU's result."""


# Reasons that something can go


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason that a pattern holds without an instruction; ``test`` "" for any."""

    instruction: str
    change: Change
    why: str
    test: str = ""
    number: int | None = None

    def covers(self, weakened: Weakened) -> bool:
        """True if it is the reason of ``weakened``."""
        return (
            weakened.instruction.startswith(self.instruction)
            and weakened.change is self.change
            and self.test in ("", weakened.pattern.name)
            and self.number in (None, weakened.number)
        )


_TRIVIAL = "nothing is read after it: the test asks whether the mbarrier is found"
REASONS = (
    Reason(
        "fence.mbarrier_init", Change.REMOVED,
        "uses of the mbarrier are ordered after its initialisation by the barrier or program order; "
        "PTX's examples have the fence, which is no machine instruction",
    ),
    Reason(
        "mbarrier.arrive.expect_tx", Change.RELAXED,
        "the arrival announces bytes; its thread has no earlier writes that are read",
    ),
    Reason(
        "barrier.cluster.arrive.relaxed", Change.REMOVED,
        "it waits for the peer to start; in the model every work-group has started",
        "cluster_barrier_dsmem",
    ),
    *(
        Reason(
            "tcgen05.wait::ld", Change.REMOVED,
            "PTX keeps the order of a register dependency on `tcgen05.ld`; the wait protects tensor "
            "memory from later writes, and is no machine instruction", test,
        )
        for test in ("tcgen05_to_core", "store_then_load", "own_store_then_load")
    ),
    Reason("mbarrier.try_wait", Change.REMOVED, _TRIVIAL, "cluster_init"),
    Reason("mbarrier.try_wait", Change.RELAXED, _TRIVIAL, "cluster_init"),
    Reason("mbarrier.arrive.release", Change.RELAXED, _TRIVIAL, "cluster_init"),
)  # fmt: skip
"""Every verdict that something is not needed has its reason here."""


# Results of a GPU


@dataclass(frozen=True, slots=True)
class Shown:
    """The words of docs/gpu-async.md for a change of an instruction."""

    instruction: str
    change: Change
    words: str
    number: int | None = None


_NO_WAIT = "no wait on the mbarrier"
SHOWN = (
    Shown("fence.mbarrier_init", Change.REMOVED, "no fence.mbarrier_init"),
    Shown("mbarrier.try_wait.parity.acquire.cluster full", Change.REMOVED, "no wait for the bytes"),
    Shown(
        "mbarrier.try_wait.parity.acquire.cluster full", Change.RELAXED,
        "wait for the bytes relaxed",
    ),
    Shown("mbarrier.try_wait.parity.relaxed.cluster free", Change.REMOVED, "no wait for the readers"),
    Shown("mbarrier.try_wait", Change.REMOVED, _NO_WAIT),
    Shown("mbarrier.try_wait", Change.RELAXED, "wait relaxed"),
    Shown("fence.proxy.async::generic.release", Change.REMOVED, "no release fence"),
    Shown("fence.proxy.async::generic.acquire", Change.REMOVED, "no acquire fence"),
    Shown("fence.release.sync_restrict", Change.REMOVED, "no release fence"),
    Shown("fence.acquire.sync_restrict", Change.REMOVED, "no acquire fence"),
    Shown("fence.proxy.async", Change.REMOVED, "no proxy fence"),
    Shown("fence.proxy.tensormap::generic.acquire", Change.REMOVED, "no acquire of the map"),
    Shown("bar.cta.sync", Change.REMOVED, "no barrier before the copy", 0),
    Shown("bar.cta.sync", Change.REMOVED, "no barrier after the copy", 1),
    Shown("bar.cta.sync", Change.REMOVED, "no barrier", 0),
    Shown("cp.async.bulk.commit_group", Change.REMOVED, "no commit of the group"),
    Shown("cp.async.bulk.wait_group.read", Change.REMOVED, "no wait for the copy's source"),
    Shown("cp.async.bulk.wait_group", Change.REMOVED, "no wait for the copy"),
    Shown("cp.async.bulk.wait_group", Change.READ, "wait for the copy's source only"),
    Shown("cp.async.commit_group", Change.REMOVED, "no commit of the group"),
    Shown("cp.async.wait_group", Change.REMOVED, "no wait for the copy"),
    Shown("wgmma.fence", Change.REMOVED, "no fence of the registers"),
    Shown("wgmma.commit_group", Change.REMOVED, "no commit of the group"),
    Shown("red.release", Change.RELAXED, "flag set relaxed"),
    Shown("ld.acquire", Change.RELAXED, "flag read relaxed"),
    Shown("mbarrier.arrive", Change.RELAXED, "arrival relaxed"),
    Shown("barrier.cluster.arrive.relaxed", Change.REMOVED, "no barrier before the write", 0),
    Shown("barrier.cluster.arrive.release", Change.REMOVED, "no barrier before the read", 1),
    Shown("barrier.cluster.arrive.release", Change.RELAXED, "arrival before the read relaxed", 1),
)  # fmt: skip
"""The names on the page of the GPU for the changes here."""


@dataclass(frozen=True, slots=True)
class OnGpu:
    """The number of wrong results out of all; ``note`` as *same machine code*."""

    wrong: int
    instances: int
    note: str = ""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"{self.wrong:,} of {self.instances:,}{note}"


def gpu_results(text: str) -> Mapping[tuple[str, str], OnGpu]:
    """The table of docs/gpu-async.md by pattern and removed instruction."""
    found: dict[tuple[str, str], OnGpu] = {}
    pattern = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 4 or not cells[3][:1].isdigit():
            continue
        pattern = cells[0].strip("`") or pattern
        wrong, _, note = cells[3].partition(" (")
        count, instances = (int(each.replace(",", "")) for each in (wrong, cells[2]))
        found[pattern, cells[1]] = OnGpu(count, instances, note.rstrip(")"))
    return found


def on_gpu(weakened: Weakened, known: Mapping[tuple[str, str], OnGpu]) -> OnGpu | None:
    """The GPU's result for the same change, if it was tried."""
    if (found := known.get((weakened.pattern.name, weakened.words))) is not None:
        return found
    for each in SHOWN:
        if (
            weakened.instruction.startswith(each.instruction)
            and weakened.change is each.change
            and each.number in (None, weakened.number)
            and (found := known.get((weakened.pattern.name, each.words))) is not None
        ):
            return found
    return None


# The page


def patterns_parts() -> Mapping[str, str]:
    """The part of docs/patterns.md on the programs. Raises ``PageError``."""
    known = gpu_results(GPU_PAGE.read_text(encoding="utf-8"))
    sections: dict[str, list[str]] = {}
    agreement = _Agreement()
    for pattern in patterns():
        sections.setdefault(pattern.file, []).append(_section(pattern, known, agreement))
    parts: list[str] = []
    for file, texts in sections.items():
        parts += [f"### `{file.removesuffix('.mlir')}`\n\n{_remark(file)}\n", *texts]
    return {"programs": "\n".join([*parts, agreement.text()])}


def _remark(file: str) -> str:
    """The remark in the first lines of a file, without the command that runs it."""
    lines: list[str] = []
    for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
        if not line.startswith("//") or "fence-sim run" in line:
            break
        lines.append(line.removeprefix("//").strip())
    return "\n".join(lines).strip()


class _Agreement:
    """The agreement of the model and the GPU, counted."""

    def __init__(self) -> None:
        self.both = self.model_alone = self.neither = self.seen = 0

    def add(self, weakened: Weakened, result: Result, gpu: OnGpu | None) -> None:
        """Count one; raises ``PageError`` if the GPU shows an outcome that the model forbids."""
        if gpu is None:
            return
        if gpu.wrong and result.verdict is Verdict.HOLDS:
            raise PageError(
                f"{weakened.key}: {gpu} wrong on a GPU, but the model says that it holds"
            )
        self.seen += 1
        self.both += bool(gpu.wrong)
        self.model_alone += not gpu.wrong and result.verdict is not Verdict.HOLDS
        self.neither += not gpu.wrong and result.verdict is Verdict.HOLDS

    def text(self) -> str:
        """The section on it."""
        return (
            "## The model and an H200\n\n"
            f"Of {self.seen} orders removed in both, the GPU showed {self.both} to be necessary, and so "
            f"did the model. {self.model_alone} are necessary in the model alone: the GPU may show them "
            "never, or in other programs, and not where its machine code is unchanged. "
            f"{self.neither} are necessary in neither. None is necessary on the GPU alone: writing this "
            "page fails at one that is.\n"
        )


def _section(
    pattern: Pattern, known: Mapping[tuple[str, str], OnGpu], agreement: _Agreement
) -> str:
    result = judged(pattern, pattern.test)
    if result.verdict is not Verdict.HOLDS:
        raise PageError(f"{pattern.name} does not hold as lowered: {result.shown}")
    condition = str(pattern.test.condition)
    says = "shows the fault" if pattern.shows_a_fault else "holds"
    gpu = known.get((pattern.name, "nothing"))
    shown = "shown" if pattern.shows_a_fault else "wrong"
    whole = f"; H200: {gpu} {shown}" if gpu is not None else ""
    lines = [f"**{pattern.name}**: `{condition}` {says} ({pattern.chip}{whole}).", ""]
    lines += [*(f"    {line}" for line in _program(pattern)), ""]
    if not pattern.shows_a_fault:
        lines += [_table(pattern, known, agreement), ""]
    return "\n".join(lines)


def _program(pattern: Pattern) -> Iterator[str]:
    """The columns: head and instructions, without labels at the beginning and end."""
    lines = pattern.text.rstrip().splitlines()
    start = lines.index("}") + 1
    rows = [[cell.strip() for cell in line.rstrip(" ;").split("|")] for line in lines[start:-1]]
    columns = [list(_plain(column)) for column in zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    for n in range(max(map(len, columns))):
        cells = [column[n] if n < len(column) else "" for column in columns]
        yield " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip()


def _plain(column: Sequence[str]) -> Iterator[str]:
    """A column without the labels that nothing goes to."""
    targets = {word for cell in column if not cell.endswith(":") for word in cell.split()[1:]}
    for cell in column:
        if cell and (not cell.endswith(":") or cell[:-1] in targets):
            yield cell


def _table(pattern: Pattern, known: Mapping[tuple[str, str], OnGpu], agreement: _Agreement) -> str:
    rows: list[tuple[str, ...]] = []
    for weakened in weakenings(pattern):
        try:
            result = judged(pattern, weakened.test)
        except LitmusError as problem:
            raise PageError(f"{weakened.key}: {problem}") from problem
        gpu = on_gpu(weakened, known)
        agreement.add(weakened, result, gpu)
        rows.append(
            (
                f"`{weakened.instruction}`{_which(weakened)}",
                ", ".join(f"P{n}" for n in weakened.threads),
                str(weakened.change),
                _verdict(weakened, result),
                "" if gpu is None else str(gpu),
            )
        )
    if not rows:
        return "Nothing is there that could be taken away.\n"
    return markdown_table(("order", "of", "", "then", "H200, wrong"), rows)


def _which(weakened: Weakened) -> str:
    number = weakened.number
    return f", number {number + 1}" if number else ""


def _verdict(weakened: Weakened, result: Result) -> str:
    match result.verdict:
        case Verdict.FAILS:
            return f"wrong: `{result.shown}`"
        case Verdict.HANGS:
            return f"may wait for ever: `{result.shown}`"
        case Verdict.HOLDS:
            why = next((each.why for each in REASONS if each.covers(weakened)), None)
            if why is None:
                raise PageError(f"{weakened.key} holds, and no reason is given")
            return f"holds: {why}"
