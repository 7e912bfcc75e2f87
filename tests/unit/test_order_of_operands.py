"""The order of operands of barriers and copies, which both executors of PTX take from one place."""

import pytest

from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.simulator.semantics.operands import (
    BarrierOperands,
    CopyOperands,
    barrier_operands,
    copy_operands,
)

CP = "cp.async.ca.shared.global"
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    ("name", "operands", "found"),
    [
        ("barrier.sync", (), BarrierOperands("0", "", "", "", "")),
        ("bar.sync", ("1", "64"), BarrierOperands("1", "64", "", "", "")),
        ("bar.red.popc.u32", ("%r1", "2", "%p1"), BarrierOperands("2", "", "%r1", "popc", "%p1")),
        (
            "bar.red.and.pred",
            ("%p1", "2", "64", "!%p2"),
            BarrierOperands("2", "64", "%p1", "and", "!%p2"),
        ),
    ],
)
def test_operands_of_barriers(name: str, operands: tuple[str, ...], found: BarrierOperands) -> None:
    assert barrier_operands(read_opcode(name), operands) == found


@pytest.mark.parametrize(
    ("name", "operands", "found"),
    [
        (CP, ("4",), CopyOperands("[a]", "[b]", "4")),
        (CP, ("4", "%r1"), CopyOperands("[a]", "[b]", "4", "%r1")),
        (f"{CP}.L2::cache_hint", ("4", "%rd1"), CopyOperands("[a]", "[b]", "4")),
        (f"{CP}.L2::cache_hint", ("4", "%p1", "%rd1"), CopyOperands("[a]", "[b]", "4", "%p1")),
        (BULK, ("%r1", "[m]"), CopyOperands("[a]", "[b]", "%r1", "", "[m]")),
        (
            f"{BULK}.multicast::cluster.L2::cache_hint",
            ("%r1", "[m]", "%rs1", "%rd1"),
            CopyOperands("[a]", "[b]", "%r1", "", "[m]", "%rs1"),
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint",
            ("%r1", "%rd1"),
            CopyOperands("[a]", "[b]", "%r1"),
        ),
    ],
)
def test_operands_of_copies(name: str, operands: tuple[str, ...], found: CopyOperands) -> None:
    assert copy_operands(read_opcode(name), ("[a]", "[b]", *operands)) == found
