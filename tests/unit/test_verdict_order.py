"""Verdicts depend on no hash and no address: every process puts the same questions to z3. Nor on
the names, the order of blocks or the dead code of a text.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

import judged_files
import pytest
from campaigns import TURN, Share, shares
from ptx_variants import VARIANTS, reordered

from fencewright.checker.verdicts.contents import Contents, contents_of, data_in, terms_of
from fencewright.checker.verdicts.intervals import Position, Walks
from fencewright.checker.verdicts.judge import judge
from fencewright.checker.verdicts.model import Access, Kernel, VerdictKind
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.ptx.code.text import read_ptx

ROOT = Path(__file__).parents[2]
MUSEUM = sorted(
    str(path) for end in ("ptx", "s") for path in (ROOT / "tests/museum").rglob(f"*.{end}")
)

ROUNDS = """.version 8.6
.target sm_90
.address_size 64
.visible .entry rounds(.param .u64 a, .param .u32 n)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
    mov.u32 %r4, 64;
round:
    mov.u32 %r5, %r2;
own:
    xor.b32 %r6, %r5, %r4;
    mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd1, %rd2;
    mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd1, %rd3;
    ld.global.u32 %r7, [%rd2];
    setp.gt.u32 %p1, %r7, %r5;
    @%p1 st.global.u32 [%rd3], %r7;
    add.u32 %r5, %r5, %r3; setp.lt.u32 %p2, %r5, %r1;
    @%p2 bra own;
    bar.sync 0;
    shr.u32 %r4, %r4, 1; setp.ne.u32 %p3, %r4, 0;
    @%p3 bra round;
    ret;
}
"""
"""Rounds of a network that sorts: two accesses meet in several iterations of two loops."""


@pytest.fixture
def rounds(tmp_path: Path) -> str:
    path = tmp_path / "rounds.ptx"
    path.write_text(ROUNDS)
    return str(path)


def judged(paths: Iterable[str], seed: int) -> str:
    """The reports and questions of a fresh process."""
    command = [sys.executable, judged_files.__file__, *paths]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_a_kernel_is_judged_alike_in_every_process(rounds: str) -> None:
    assert judged([rounds], 1) == judged([rounds], 2)


@pytest.mark.parametrize("share", shares(8))
def test_kernels_are_judged_alike_in_every_process(share: Share) -> None:
    files = share.of(MUSEUM)
    assert judged(files, 1) == judged(files, 2 + TURN)


def test_another_order_is_seen(rounds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    positions = Walks.positions

    def turned(walks: Walks, access: Access) -> Iterable[Position]:
        return [*positions(walks, access)][::-1]

    in_order = judged_files.judged([rounds])
    monkeypatch.setattr(Walks, "positions", turned)
    assert judged_files.judged([rounds]) != in_order


# Texts of one meaning

CHAIN = """.version 8.6
.target sm_90
.address_size 64
.visible .entry chain(.param .u64 a, .param .u64 b, .param .u64 most)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [most];
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p3, %r1, 0;
    @%p3 bra end;
    mul.wide.u32 %rd4, %r1, 4; add.u64 %rd4, %rd1, %rd4;
    ld.global.u32 %r2, [%rd4];
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra end;
    mul.wide.u32 %rd5, %r2, 4; add.u64 %rd5, %rd2, %rd5;
    ld.global.u32 %r3, [%rd3];
    ld.global.u32 %r4, [%rd5];
    setp.ge.u32 %p2, %r3, %r4;
    @%p2 bra end;
    atom.global.max.u32 %r5, [%rd3], %r4;
end:
    ret;
}
"""
"""A maximum that is read without an atomic; what it is compared with is at a place from memory."""


def meanings(text: str) -> dict[str, tuple[object, ...]]:
    """The verdict of each kernel of a file: its kind, the reasons of a proof, the rules of races."""
    file = read_ptx(text, "k.ptx")
    found = dict[str, tuple[object, ...]]()
    for function in file.functions.values():
        verdict = judge(kernel_of(file, function))
        is_proof = verdict.kind is VerdictKind.RACE_FREE
        proof = ({*verdict.by}, verdict.assumptions, len(verdict.notes)) if is_proof else ()
        races = {(each.finding, each.relation) for each in verdict.conflicts}
        found[function.name] = (verdict.kind, *proof, races)
    return found


def test_a_read_may_stand_above_the_one_that_its_place_depends_on() -> None:
    pytest.importorskip("z3")
    first = meanings(CHAIN)
    assert first["chain"][0] is VerdictKind.RACE
    assert all(meanings(each(CHAIN)) == first for each in VARIANTS)


@pytest.mark.parametrize("share", shares(4))
def test_kernels_that_are_written_anew_are_judged_alike(share: Share) -> None:
    pytest.importorskip("z3")
    texts = [Path(path).read_text() for path in MUSEUM if path.endswith(".ptx")]
    for text, anew in share.of([*zip(texts, cycle(VARIANTS), strict=False)]):
        assert meanings(anew(text)) == meanings(text), (anew.__name__, text)


def test_an_order_of_the_text_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("z3")

    def above(kernel: Kernel) -> Contents:
        found = contents_of(kernel)
        numbers = {value: each.read.instruction for value, each in found.items()}
        return {
            value: each
            for value, each in found.items()
            if all(numbers[own] < numbers[value] for own in data_in(terms_of(each.read)))
        }

    monkeypatch.setattr("fencewright.checker.verdicts.judge.contents_of", above)
    assert meanings(reordered(CHAIN)) != meanings(CHAIN)
