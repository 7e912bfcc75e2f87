"""docs/patterns.md: synchronisation on an NVIDIA GPU, pattern by pattern, as the model judges it.

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


def patterns_page() -> str:
    """The page's text. Raises ``PageError``."""
    known = gpu_results(GPU_PAGE.read_text(encoding="utf-8"))
    sections: dict[str, list[str]] = {}
    agreement = _Agreement()
    for pattern in patterns():
        sections.setdefault(pattern.file, []).append(_section(pattern, known, agreement))
    parts = [_HEAD, _MECHANISMS, _FROM_TO, _SPACES, _TENSOR_MEMORY, "## The programs\n", _READING]
    for file, texts in sections.items():
        parts.append(f"### `{file.removesuffix('.mlir')}`\n\n{_remark(file)}\n")
        parts += texts
    parts += [agreement.text()]
    return "\n".join(parts)


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


_HEAD = """\
<!-- Written by `make docs`; change examples/patterns or tools/dev/pages/patterns_page.py, not this page. -->
# Patterns of synchronisation on NVIDIA GPUs

A program for every pair of writer and reader (thread, copy unit, tensor core), its synchronisation,
and the result without each part of it. Each program is a litmus test in
`examples/patterns`, written in `scoped`, lowered by the ordinary pipeline, and executed exhaustively in the PTX model.
The last column is an H200's result without the same order
([gpu-async.md](gpu-async.md)).
"""

_MECHANISMS = """\
## Synchronising operations

To *wait* is to block until others have reached a point. To *order memory* is to make earlier writes
visible. A mechanism may do one without the other; a fence alone does not wait.

| mechanism | PTX | waits | orders memory | scope | of | programs |
| --- | --- | --- | --- | --- | --- | --- |
| barrier of a CTA, named barrier | `bar.sync`, `barrier.cta.sync`, `.arrive` | yes; `.arrive` does not | yes, everything | `.cta` | all memory, generic proxy | `generic_in_cta`: barrier_shared, barrier_global, named_barrier |
| barrier of a cluster | `barrier.cluster.arrive`, `.wait` | yes, at the wait | yes; not with `.arrive.relaxed` | `.cluster` | all memory, generic proxy | `cluster_barrier_dsmem`; `generic_in_cluster`: cluster_barrier_global |
| mbarrier | `mbarrier.arrive`, `.try_wait` | yes, at the wait | release and acquire; not if `.relaxed` | `.cta`, `.cluster` | all memory, though the mbarrier is in shared memory | `generic_in_cta`: mbarrier_shared, mbarrier_global, mbarrier_relaxed; `cluster_remote_arrive` |
| mbarrier, bytes | `expect_tx`, and copies and reductions that complete on it | yes, at the wait | the copied data, and nothing else of the issuing thread | `.cluster` | the copy's own accesses, with a proxy fence | `tma_to_core`, `cluster_st_async`, `cluster_dsmem_bulk`; `reductions`: tma_reduce_to_peer, red_async_to_peer |
| mbarrier, bytes by hand | `mbarrier.complete_tx` | yes, at the wait | no | | | `election`: completed_by_hand, completed_too_late |
| groups of copies | `cp.async.wait_group`, `cp.async.bulk.wait_group`, `wgmma.wait_group` | for this thread's own | for this thread | one thread | the copied data; `.read`: only the sources | `cp_async_ampere`, `core_to_tma_store`, `tma_store_to_other_cta_generic`; `reductions`: tma_reduce_to_global |
| fence | `fence.release`, `.acquire`, `.acq_rel`, `.sc` | no | yes, beside a flag or a relaxed mbarrier | `.cta` to `.sys` | all memory, generic proxy | `generic_in_cta`: fence_cta, mbarrier_relaxed_fences; `generic_in_cluster`; `generic_on_gpu` |
| restricted fence | `fence.release.sync_restrict::shared::cta.cluster`, .. | no | yes | `.cluster` | shared memory | `cluster_pull_sync_restrict`, `cluster_core_to_peer_async` |
| proxy fence | `fence.proxy.async` | no | between the proxies of one thread; has no scope | one thread | the state space that it names | `core_to_tma_store`, `other_cta_generic_to_tma_load`, `core_to_wgmma_smem` |
| alias fence | `fence.proxy.alias` | no | between two addresses of one memory, of one thread | one thread | all memory | `multicast`: multicast_alias |
| election, prefetch | `elect.sync`, `prefetch` | no | no | | | `election`: elected_copy |
| tensor map fence | `fence.proxy.tensormap::generic` | no | between the generic and the tensor-map proxy | `.cta` to `.sys` | tensor maps | `tensormap_update` |
| waits of tensor memory | `tcgen05.wait::ld`, `::st` | for this thread's own | for this thread | one thread | tensor memory | `tensor_memory`, `core_tmem_to_tcgen05` |
| fences of tensor memory | `tcgen05.fence::before_thread_sync`, `::after_thread_sync` | no | around a synchronisation of threads | that of the synchronisation | tcgen05 operations | `tensor_memory`, `tcgen05_to_core` |
| commit | `tcgen05.commit` | at the mbarrier's wait | the multiplications and copies so far of this thread | `.cluster` | tensor memory and operands | `tcgen05_to_core` |
"""

_FROM_TO = """\
## From whom to whom

| from \\ to | CUDA cores | copy unit (TMA) | tensor core |
| --- | --- | --- | --- |
| CUDA cores, one CTA | `generic_in_cta`, `mbarrier_core_to_core_sm80` | `core_to_tma_store`, `zeroed_tile`, `reductions` | smem: `core_smem_to_tcgen05`, `tcgen05_cp_to_mma`, `core_to_wgmma_smem`; tensor memory: `core_tmem_to_tcgen05`, `tmem_war_core_to_tcgen05` |
| CUDA cores, one cluster | `generic_in_cluster`, `cluster_init`, `cluster_barrier_dsmem`, `cluster_remote_arrive`, `cluster_pull_sync_restrict`, `cluster_st_async`, `reductions`: red_async_to_peer | `cluster_dsmem_bulk`, `cluster_core_to_peer_async`, `reductions`: tma_reduce_to_peer | as in one CTA, with the copy that brings it there |
| CUDA cores, one GPU | `generic_on_gpu` | `other_cta_generic_to_tma_load`, `tensormap_update` | as in one CTA, after a copy |
| CUDA cores, several GPUs | `examples/litmus/message_passing_across_gpus.mlir`; `multicast` | as on one GPU, at `.sys` | as in one CTA, after a copy |
| copy unit (TMA) | `tma_to_core`, `election`, `tma_store_to_other_cta_generic`, `cp_async_ampere` | `tma_to_tma`: one proxy, the mbarrier or the group | `tma_to_tcgen05`, `tma_to_wgmma` |
| tensor core | `tcgen05_to_core`, `core_to_wgmma_smem` (registers) | through CUDA cores: `tcgen05_to_core`, then `core_to_tma_store` | `tcgen05_cp_to_mma`, `tensor_memory`: mma_then_mma |

- **CUDA core to CUDA core.** A release and an acquire at a scope that includes both.
- **CUDA core to TMA or tensor core.** The writer's `fence.proxy.async` before it releases, or, from another CTA,
  the reader's after it acquires.
- **TMA to CUDA core, TMA to tensor core.** The mbarrier: its completion carries a proxy fence.
- **Tensor core to CUDA core.** `tcgen05.commit` to an mbarrier, which may be waited for relaxed;
  `tcgen05.fence::after_thread_sync`. The value can be used at once; `tcgen05.wait::ld` protects tensor memory from later writes.
"""

_SPACES = """\
## Between CUDA cores, by memory and scope

| memory \\ scope | CTA | cluster | GPU |
| --- | --- | --- | --- |
| shared | `bar.sync` (barrier_shared), named barrier (named_barrier), mbarrier (mbarrier_shared), `fence.cta` (fence_cta) | `barrier.cluster` (cluster_barrier_dsmem), mbarrier (cluster_remote_arrive), `st.async` (cluster_st_async), `fence.cluster` (fence_cluster_shared), `fence.gpu` (fence_gpu_shared), restricted fences (cluster_pull_sync_restrict) | not reachable |
| global | `bar.sync` (barrier_global), mbarrier (mbarrier_global), relaxed mbarrier with fences (mbarrier_relaxed_fences), `fence.cta` (fence_cta_global) | `barrier.cluster` (cluster_barrier_global), mbarrier (mbarrier_cluster_global), relaxed mbarrier with fences (mbarrier_cluster_fences), `fence.cluster` (fence_cluster_global), `fence.gpu` (fence_gpu_in_cluster) | `fence.gpu` (fence_gpu), release and acquire (release_acquire_gpu) |

An mbarrier that releases and acquires orders global memory too, without further fences. At CTA scope
it orders nothing for a peer (mbarrier_cluster_too_narrow), and relaxed it orders nothing
(mbarrier_relaxed): the reader may see stale data after its wait.
"""

_TENSOR_MEMORY = """\
## Tensor memory

Tensor memory is not a memory shared by the generic proxy and the tensor core, and
`tcgen05.wait` is not a fence between the two:

- Only `tcgen05` instructions access it. `fence`, `fence.proxy.async` and the orderings of mbarriers do not affect
  it; synchronisation around it may be relaxed.
- `tcgen05.ld` and `tcgen05.st` are asynchronous. `tcgen05.wait::ld` and `::st` wait for the thread's
  own, and order nothing for other threads: this suffices for own_store_then_load of `tensor_memory`,
  not for store_then_load. PTX keeps the order of a register dependency on `tcgen05.ld` without a wait, but
  tensor memory may be read later, so the wait is needed before others may overwrite it
  (`tmem_war_core_to_tcgen05`). Source: PTX ISA 9.7.16.6.4.5, which is newer than `tcgen05.ld` itself.
- Between threads, any synchronisation with `tcgen05.fence::before_thread_sync` before it and
  `::after_thread_sync` after it orders tensor memory. Neither is a machine instruction: they stop the compiler from
  moving tcgen05 operations across.
- `tcgen05.mma` and `.cp` read shared memory in the async proxy: data written by CUDA cores need `fence.proxy.async`.
  They complete when their `tcgen05.commit` arrives, which includes the fence before the synchronisation.
- One thread's `mma` after `mma` on one accumulator, and `mma` after `cp`, execute in issue order:
  mma_then_mma, `tcgen05_cp_to_mma`.
- An mbarrier is not in the async proxy: arrivals and waits of threads are in the generic proxy;
  copies and commits complete on it.
"""

_READING = """\
`P0`, `P1`, .. are threads, each in its own warp; a location represents a tile. *relaxed*: without its
ordering; *sources only*: `.read`. A barrier is removed from all of its threads.
"""
