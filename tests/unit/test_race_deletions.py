"""The deletion study: what of the synchronisation of twenty right kernels is missed when it goes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from campaigns import first_of
from race_deletions import (
    AmdChange,
    Change,
    Noticed,
    amd_mutants,
    amd_noticed,
    mutants,
    noticed,
)
from test_race_amd_kernels import BEGIN, NEW, OLD, VECTOR, kernel_text, message
from test_race_pairs import ARGUMENTS, PAIRS, filled, kernel

from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.race.verdict import Judgement, judge
from fencewright.simulator.threads.launch import Module, kernel_named, parse_launch
from fencewright.tools import fence_opt

ROOT = Path(__file__).parents[2]
LOWERED = {
    "spin_lock": "<<<3>>>(i32[1], i32[128], 2)",
    "ticket_lock": "<<<3>>>(i32[1], i32[1], i32[128], 2)",
    "grid_barrier": "<<<3>>>(i32[1], i32[6], i32[768], 3)",
    "split_k_semaphore": "<<<(1, 4)>>>(i32[4], f32[4096], f32[65536], f32[1024], 1, 2)",
}
"""The kernels of examples/kernels that are executed whole, with a launch of each."""

NEEDLESS = {
    ("cp.async", "bar.sync 0"): "each lane reads what it has copied itself",
    (
        "proxy fence",
        "cp.async.bulk.wait_group 0",
    ): "nothing comes after it but the end of the block",
    ("source reused", "cp.async.bulk.wait_group 0"): "the same, and the source was waited for",
    ("last_block_right", "bar.sync 0"): "thread 0 reads what it has written itself",
}
"""Mutants that no access needs, with the reason."""


@cache
def _lowered(name: str) -> str:
    """The PTX of a kernel of ``examples/kernels``."""
    source = str(ROOT / f"examples/kernels/{name}.mlir")
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.ptx")
        assert fence_opt.main(["--mcpu", "sm_90", "-t", "asm", "-o", str(path), source]) == 0
        return path.read_text()


def right_kernels() -> Iterator[tuple[str, str, str]]:
    """The name, the text and the launch of each kernel."""
    for pair in PAIRS:
        text = kernel(filled(pair, pair.right))
        yield pair.name, text, f"k<<<{pair.sizes}>>>{ARGUMENTS}"
    for name, launch in LOWERED.items():
        yield name, _lowered(name), f"{name}{launch}"
    text = (ROOT / "examples/races/last_block.ptx").read_text()
    arrays = "(i32[256]=iota, i32[4], i32[1], i32[1])"
    yield "last_block_right", text, f"last_block_right<<<4, 64>>>{arrays}"


def printed(
    total: Counter[tuple[Change | AmdChange, Noticed]], changes: Iterable[Change | AmdChange]
) -> str:
    """A table of docs/races.md."""
    lines = [
        "| change | mutants | noticed in both orders | by a delay | not |",
        "|---|---|---|---|---|",
    ]
    for change in changes:
        numbers = [total[change, how] for how in Noticed]
        lines.append(f"| {change.value} | {sum(numbers)} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


@pytest.mark.parametrize("count", first_of([3, 20]))
def test_what_goes_is_noticed_unless_nothing_needs_it(count: int) -> None:
    total: Counter[tuple[Change | AmdChange, Noticed]] = Counter()
    silent: set[tuple[str, str]] = set()
    kernels = list(islice(right_kernels(), count))
    for name, text, launch in kernels:
        module, asked = Module(read_ptx(text, "k.ptx")), parse_launch(launch)
        assert judge(module, asked).judgement is Judgement.NO_RACE, name
        for mutant in mutants(kernel_named(module, asked.kernel).name, text):
            how = noticed(mutant, launch)
            total[mutant.change, how] += 1
            if how is Noticed.SILENT:
                silent.add((name, mutant.instruction))
    assert len(kernels) == count
    assert silent == {each for each in NEEDLESS if each[0] in {name for name, _, _ in kernels}}
    assert count < 20 or printed(total, Change) in (ROOT / "docs/races.md").read_text()


def test_each_kind_of_change_is_made() -> None:
    """One kernel with an instruction of each kind; a mutant differs in that instruction alone."""
    text = kernel(
        "fence.acq_rel.gpu; bar.sync 0; cp.async.wait_group 0; st.release.gpu.global.u32 [%rd2], 1;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128; ret;"
    )
    made = {(each.change, each.instruction): each.text for each in mutants("k", text)}
    assert {change for change, _ in made} == {*Change}
    assert (
        "st.release.cta.global.u32 [%rd2], 1;"
        in made[Change.SCOPE, "st.release.gpu.global.u32 [%rd2], 1"]
    )
    assert "st.relaxed.gpu.global.u32" in made[Change.ORDER, "st.release.gpu.global.u32 [%rd2], 1"]
    assert "mbarrier.arrive.shared::cta.b64 _, [bar];" in "".join(made.values())
    assert "bar.sync" not in made[Change.BARRIER, "bar.sync 0"]
    for each in made.values():
        read_ptx(each, "k.ptx")


# Of AMD

_EXCHANGE = """ds_write_b32 v1, v2
s_waitcnt lgkmcnt(0)
s_barrier
v_xor_b32_e32 v5, 0x100, v1
ds_read_b32 v4, v5
s_waitcnt lgkmcnt(0)
s_endpgm"""
_ARRAYS = "(i32[256], i32[256], i32[256])"
AMD_KERNELS = {
    "message": (BEGIN + message(*NEW, VECTOR, " sc1", " sc1"), "gfx942", f"k<<<2, 64>>>{_ARRAYS}"),
    "older message": (
        BEGIN + message(*OLD, VECTOR, "", " glc"),
        "gfx90a",
        f"k<<<2, 64>>>{_ARRAYS}",
    ),
    "exchange": (BEGIN + _EXCHANGE, "gfx942", f"k<<<1, 128>>>{_ARRAYS}"),
}
LAST_BLOCK = "last_block_right<<<4, 64>>>(i32[256]=iota, i32[4], i32[1], i32[1])"
NOTICED = {
    "message": {
        AmdChange.WAIT: 2, AmdChange.WRITE_BACK: 1, AmdChange.INVALIDATE: 1, AmdChange.SCOPE: 2,
    },
    "older message": {AmdChange.WAIT: 2, AmdChange.INVALIDATE: 1, AmdChange.SCOPE: 1},
    "exchange": {AmdChange.WAIT: 1, AmdChange.BARRIER: 1},
    "last_block_right": {AmdChange.WAIT: 2, AmdChange.WRITE_BACK: 1, AmdChange.INVALIDATE: 1},
}  # fmt: skip
"""The noticed deletions. The other waits are for registers, and for LDS where a work-group is one wave,
whose barriers nothing needs either."""


@pytest.mark.parametrize("count", first_of([3, 4]))
def test_what_amd_kernels_lose_is_noticed(count: int) -> None:
    kernels = [
        (name, kernel_text(body, chip), launch)
        for name, (body, chip, launch) in AMD_KERNELS.items()
    ]
    text = (ROOT / "examples/races/last_block.s").read_text()
    kernels.append(("last_block_right", text, LAST_BLOCK))
    total: Counter[tuple[Change | AmdChange, Noticed]] = Counter()
    for name, text, launch in kernels[:count]:
        found: Counter[AmdChange] = Counter()
        for mutant in amd_mutants(launch.partition("<")[0], text):
            how = amd_noticed(mutant, launch)
            total[mutant.change, how] += 1
            found[mutant.change] += how is not Noticed.SILENT
            is_needed = mutant.change not in (AmdChange.WAIT, AmdChange.BARRIER)
            assert how is not Noticed.SILENT or not is_needed, mutant.instruction
        assert {change: number for change, number in found.items() if number} == NOTICED[name]
    assert count < 4 or printed(total, AmdChange) in (ROOT / "docs/races.md").read_text()
