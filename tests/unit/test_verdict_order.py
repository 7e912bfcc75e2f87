"""Verdicts depend on no hash and no address: every process puts the same questions to z3."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import judged_files
import pytest
from campaigns import Share, shares

from fencewright.checker.verdicts.intervals import Position, Walks
from fencewright.checker.verdicts.model import Access

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


@pytest.mark.parametrize("share", shares(16))
def test_kernels_are_judged_alike_in_every_process(share: Share) -> None:
    first, *others = (judged(share.of(MUSEUM), seed) for seed in (1, 2, 3))
    assert others == [first, first]


def test_another_order_is_seen(rounds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    positions = Walks.positions

    def turned(walks: Walks, access: Access) -> Iterable[Position]:
        return [*positions(walks, access)][::-1]

    in_order = judged_files.judged([rounds])
    monkeypatch.setattr(Walks, "positions", turned)
    assert judged_files.judged([rounds]) != in_order
