"""Instructions of the PTX model from decoded names and operands."""

from dataclasses import replace

import pytest

from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Condition, SourceText, parse_condition
from fencewright.simulator.core.program import Location, Placement, Thread
from fencewright.simulator.ptx import instructions as ptx
from fencewright.simulator.ptx.builder import Given, ModelError, build, complete, hint


def condition(text: str) -> Condition:
    return parse_condition(SourceText(text, "c"), 0)


ANY = condition("exists true")


def made(name: str, *operands: Given) -> ptx.PtxInstruction:
    return build(read_opcode(name), operands)


@pytest.mark.parametrize(
    ("name", "operands", "instruction"),
    [
        ("ld.global.relaxed.gpu.b32", ("r0", "x"),
         ptx.Ld("r0", "x", Ordering.RELAXED, Scope.AGENT)),
        ("ld.mmio.relaxed.sys.global.u32", ("r0", "x"),
         ptx.Ld("r0", "x", Ordering.RELAXED, Scope.SYSTEM)),
        ("ld.global.nc.L2::128B.u32", ("r0", "x"), ptx.Ld("r0", "x", proxy=ptx.PtxProxy.TEXTURE)),
        ("sust.weak", ("x", 1), ptx.St("x", 1, proxy=ptx.PtxProxy.SURFACE)),
        ("atom.global.gpu.min.u32", ("r0", "x", 1), ptx.Atom("r0", "x", RmwKind.UMIN, 1)),
        ("atom.global.gpu.min.s32", ("r0", "x", 1), ptx.Atom("r0", "x", RmwKind.MIN, 1)),
        ("red.acq_rel.gpu.sub", ("x", 1),
         ptx.Atom(None, "x", RmwKind.SUB, 1, ordering=Ordering.ACQ_REL)),
        ("multimem.red.add.u32", (("x", "y"), 1),
         ptx.Multimem(("x", "y"), 1, RmwKind.ADD, None, Ordering.RELAXED, Scope.SYSTEM)),
        ("multimem.st.relaxed.cluster.u32", (("x",), 1),
         ptx.Multimem(("x",), 1, None, None, Ordering.RELAXED, Scope.CLUSTER)),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u32",
         ("x", 1, "b"), ptx.AsyncCopy("x", None, 1, "b", bytes=4, operation=RmwKind.UMIN)),
        ("mbarrier.arrive.shared::cta.b64", ("_", "b"), ptx.MbarrierArrive("b")),
        ("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
         (ptx.TensorMap("m", (("x", "y"),)), ("s", "t")),
         ptx.AsyncCopy("x", "s", more=(("y", "t"),), written_map=ptx.TensorMap("m", (("x", "y"),)))),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", ("r0", "x", "y", 1, 1, 1, 0, 0),
         ptx.WgmmaProduct("r0", "x", "y")),
        ("fence.proxy.texture", (), ptx.ProxyFence(ptx.PtxProxy.TEXTURE)),
    ],
)  # fmt: skip
def test_instructions(
    name: str, operands: tuple[Given, ...], instruction: ptx.PtxInstruction
) -> None:
    assert made(name, *operands) == instruction


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("multimem.st.mmio.u32", (("x",), 1)),
        ("multimem.st.volatile.u32", (("x",), 1)),
        ("multimem.ld_reduce.mmio.add.u32", ("r0", ("x",))),
        ("multimem.red.mmio.add.u32", (("x",), 1)),
        ("ld.mmio", ("r0", "x")),
        ("ld.mmio.relaxed.gpu.u32", ("r0", "x")),
        ("st.mmio.u32", ("x", 1)),
        ("atom.mmio.add.u32", ("r0", "x", 1)),
        ("fence.volatile.sc.gpu", ()),
        ("tensormap.mmio.replace", ("m", 1)),
    ],
)
def test_no_form_has_it(name: str, operands: tuple[Given, ...]) -> None:
    with pytest.raises(ModelError, match=r"is no form of \w+ \(\.(mmio|volatile) does not belong"):
        made(name, *operands)


@pytest.mark.parametrize(
    ("name", "operands", "message", "operand"),
    [
        ("ld.acquire.b32", ("r0", "x"), "ld.acquire.b32 needs a scope", None),
        ("ld.weak", ("x", "x"), "expected a register like r0, found 'x'", 0),
        ("st.weak", ("r0", 1), "expected a location, found 'r0'", 0),
        ("st.weak", ("x", ("y", "z")), "expected a number, found '{y, z}'", 1),
        ("mbarrier.init", ("b", "r0"), "expected a number, found 'r0'", 1),
        ("mbarrier.arrive", ("r0", "b", 0), "an mbarrier expects 1 to 2^20 - 1 arrivals", 2),
        ("mbarrier.try_wait.parity", ("_", "b", 0), "expected a number, found 'b'", 1),
        ("cp.async.bulk", (ptx.TensorMap("m", (("x",),)), "y", "b"),
         "only a tensor copy has a tensor map", 0),
        ("cp.async.kind::f16", ("x", "y"), "unknown qualifier '.kind::f16' in cp.async.kind::f16",
         None),
        ("fence.sc.sc.gpu", (), "fence.sc.sc.gpu has two orderings", None),
        ("fence.fence.gpu", (), "unknown qualifier '.fence' in fence.fence.gpu", None),
        ("bar.sync.sync", (1,), "unknown qualifier '.sync' in bar.sync.sync", None),
        ("fence.proxy.async.constant", (),
         "unknown qualifier '.constant' in fence.proxy.async.constant", None),
        ("mbarrier.pending_count", ("r0", "r1"), ".pending_count is not modelled", None),
        ("cp.bulk", ("x", "y"), "expected cp.async, cp.async.bulk or cp.reduce.async.bulk", None),
        ("multimem.cp.async.bulk", ("x", "y", 4), "write a copy to each peer", None),
        ("frob.b32", (), "unknown instruction 'frob.b32'", None),
    ],
)  # fmt: skip
def test_refusals(
    name: str, operands: tuple[Given, ...], message: str, operand: int | None
) -> None:
    with pytest.raises(ModelError) as raised:
        made(name, *operands)
    assert message in raised.value.message
    assert raised.value.operand == operand


def test_hints_keep_their_text() -> None:
    assert hint(read_opcode("prefetch.global.L2"), "prefetch.global.L2 [x]") == ptx.Hint(
        "prefetch.global.L2 [x]"
    )
    assert hint(read_opcode("ld.weak"), "ld.weak r0, x") is None
    with pytest.raises(ModelError, match="unknown qualifier"):
        hint(read_opcode("prefetch.global.py"), "prefetch.global.py [x]")


def test_programs_name_what_they_have() -> None:
    code = (ptx.TensorProduct("t", "t", "b"), ptx.St("x", 1))
    program = ptx.PtxProgram(
        (Location("x", 0),), (Thread(Placement(0), code),), tensor=frozenset({"t"})
    )
    completed = complete(program, ANY)
    assert completed.threads[0].instructions == (replace(code[0], a_is_tensor=True), code[1])
    with pytest.raises(ModelError, match="x is declared twice"):
        complete(replace(program, mbarriers={"x": 0}), ANY)
    with pytest.raises(ModelError, match="the condition names y, which nothing in the test acc"):
        complete(program, condition("exists (y == 1)"))
    with pytest.raises(ModelError, match="the condition names P0:r0, which nothing in the test s"):
        complete(program, condition("exists (P0:r0 == 1)"))
