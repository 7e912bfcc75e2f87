"""Statements of PTX: what a name says, in any order of its words, and inline texts."""

import re
import tracemalloc
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from fencewright.checker.nvidia.findings import hazards
from fencewright.checker.nvidia.surplus import barriers_of_all
from fencewright.checker.redundant import barriers
from fencewright.checker.verdicts.model import Kernel
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.lowering.code.effects import Kind, Proxy
from fencewright.lowering.ptx.code import statements
from fencewright.lowering.ptx.code.inline import (
    is_volatile_memory,
    operand_count,
    read,
    update_in,
)
from fencewright.lowering.ptx.code.statements import (
    ROWS,
    OperandRole,
    Shape,
    Statement,
    number,
    read_opcode,
    read_statement,
    rows_of,
    shape_of,
    split_operands,
)
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.ptx.instructions import ROWS as WRITTEN
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

ROOT = Path(__file__).parents[2]
GENERIC, GLOBAL = None, AddressSpace.GLOBAL
LOCAL, CLUSTER = AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER


def statement(text: str) -> Statement:
    found = read_statement(text)
    assert found is not None
    return found


def test_every_operation_is_one_row_with_its_source() -> None:
    words = [(row.words[0], frozenset(row.words)) for row in ROWS]
    assert len(words) == len(set(words))
    assert all(row.source.startswith("PTX ISA") for row in ROWS)
    assert all(row.kind is not Kind.OPAQUE for row in ROWS)


FORMS = (ROOT / "tests" / "differential" / "ptxas_matrix.txt").read_text().splitlines()[1:]


def test_every_form_of_the_assemblers_matrix_is_of_one_row() -> None:
    """A name that two rows fit equally well would be read by their order."""
    names = [line.split()[0] for line in FORMS if line and line[0].isalpha()]
    assert len(names) > 200
    assert {name: len(rows_of(name)) for name in names if len(rows_of(name)) != 1} == {}


def test_what_the_printer_knows_is_read() -> None:
    assert {name for name in WRITTEN if read_opcode(f"{name}.b32").row is None} == {
        "bar",
        "barrier",
    }


@pytest.mark.parametrize(
    ("name", "ordering", "scope"),
    [
        ("ld.global.b32", Ordering.WEAK, None),
        ("ld.weak.global.b32", Ordering.WEAK, None),
        ("ld.volatile.global.b32", Ordering.RELAXED, Scope.SYSTEM),
        ("ld.mmio.relaxed.sys.global.b32", Ordering.RELAXED, Scope.SYSTEM),
        ("st.release.cta.shared.b32", Ordering.RELEASE, Scope.WORKGROUP),
        ("atom.global.add.u32", Ordering.RELAXED, Scope.AGENT),
        ("atom.add.acq_rel.sys.u32", Ordering.ACQ_REL, Scope.SYSTEM),
        ("red.add.u32", Ordering.RELAXED, Scope.AGENT),
        ("fence.gpu", Ordering.ACQ_REL, Scope.AGENT),
        ("fence.sc.cluster", Ordering.SEQ_CST, Scope.CLUSTER),
        ("membar.gl", Ordering.SEQ_CST, Scope.AGENT),
        ("bar.sync", Ordering.ACQ_REL, Scope.WORKGROUP),
        ("barrier.cta.sync.aligned.all", Ordering.ACQ_REL, Scope.WORKGROUP),
        ("barrier.cluster.arrive", Ordering.RELEASE, Scope.CLUSTER),
        ("barrier.cluster.arrive.relaxed.aligned", Ordering.RELAXED, Scope.CLUSTER),
        ("barrier.cluster.wait", Ordering.ACQUIRE, Scope.CLUSTER),
        ("bar.warp.sync", Ordering.ACQ_REL, Scope.WAVEFRONT),
        ("mbarrier.arrive.shared.b64", Ordering.RELEASE, Scope.WORKGROUP),
        ("mbarrier.arrive.expect_tx.b64", Ordering.RELEASE, Scope.WORKGROUP),
        ("mbarrier.expect_tx.relaxed.cta.b64", Ordering.RELAXED, Scope.WORKGROUP),
        ("mbarrier.arrive.expect_tx.relaxed.cluster.b64", Ordering.RELAXED, Scope.CLUSTER),
        ("mbarrier.try_wait.parity.b64", Ordering.ACQUIRE, Scope.WORKGROUP),
        ("add.s32", None, None),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32", Ordering.WEAK, None),
    ],
)
def test_ordering_and_scope(name: str, ordering: Ordering | None, scope: Scope | None) -> None:
    opcode = read_opcode(name)
    assert (opcode.ordering, opcode.scope) == (ordering, scope)


def test_words_are_a_set() -> None:
    words = ("acquire", "gpu", "global", "v2", "b64")
    for order in permutations(words):
        opcode = read_opcode(".".join(("ld", *order)))
        assert opcode.ordering is Ordering.ACQUIRE
        assert opcode.scope is Scope.AGENT
        assert opcode.spaces == (GLOBAL,)
        assert (opcode.width, opcode.vector, opcode.modifiers) == (64, 2, frozenset())


@pytest.mark.parametrize(
    ("text", "operation", "kind"),
    [
        ("fence.proxy.async.shared::cta", "fence proxy async", Kind.FENCE),
        ("fence.proxy.tensormap::generic.acquire.gpu [a], 128", "fence proxy tensormap::generic",
            Kind.FENCE),
        ("cp.async.cg.shared.global [a], [b], 16", "cp async", Kind.COPY),
        ("cp.async.wait_group 1", "cp async wait_group", Kind.WAIT),
        ("cp.async.bulk.wait_group.read 0", "cp async bulk wait_group", Kind.WAIT),
        ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [m, {a, b}]",
            "cp async bulk prefetch tensor", Kind.CACHE),
        ("tcgen05.wait::ld.sync.aligned", "tcgen05 wait::ld", Kind.WAIT),
        ("ld.param.u64 %rd1, [p]", "ld param", Kind.COMPUTE),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {a, b}, c, d, 1, 1, 1, 0, 0",
            "wgmma mma_async", Kind.TENSOR),
        ("frobnicate.u32 a, b", "frobnicate.u32", Kind.OPAQUE),
    ],
)  # fmt: skip
def test_operations(text: str, operation: str, kind: Kind) -> None:
    found = statement(text)
    assert (found.operation, found.kind) == (operation, kind)


@pytest.mark.parametrize(
    ("text", "defines", "uses"),
    [
        ("add.s32 %r1, %r2, %r3", ["%r1"], ["%r2", "%r3"]),
        ("mov.u32 %r1, %tid.x", ["%r1"], []),
        ("mov.b64 {%r1, %r2}, %rd1", ["%r1", "%r2"], ["%rd1"]),
        ("shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1", ["%r1", "%p1"], ["%r2"]),
        ("@!%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1+8]", ["%r1", "%r2"], ["%p1", "%rd1"]),
        ("st.shared.b32 [buffer+4], %r1", [], ["buffer", "%r1"]),
        ("atom.cas.b32 %r1, [%rd1], %r2, %r3", ["%r1"], ["%rd1", "%r2", "%r3"]),
        ("mbarrier.arrive.shared.b64 _, [%r1], 4", [], ["%r1"]),
        ("mbarrier.arrive.shared::cluster.b64 [%r1]", [], ["%r1"]),
        ("@%p1 bra $L__BB0_2", [], ["%p1"]),
    ],
)
def test_registers(text: str, defines: list[str], uses: list[str]) -> None:
    found = statement(text)
    assert [*found.defines] == defines
    assert [*found.uses] == uses


_ASYNC, _THREADS = Proxy.ASYNC, Proxy.GENERIC


@pytest.mark.parametrize(
    ("text", "accesses"),
    [
        ("ld.shared.v4.f32 {a, b, c, d}, [x+16]", [("x+16", "r", _THREADS, LOCAL, 16)]),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [a], b, [m]",
            [("a", "rw", _THREADS, CLUSTER, 4)]),
        ("cp.async.ca.shared.global [a], [b], 4", [("a", "w", _THREADS, LOCAL, 4),
            ("b", "r", _THREADS, GLOBAL, 4)]),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b], 128, [m]",
            [("a", "w", _ASYNC, CLUSTER, 128), ("b", "r", _ASYNC, GLOBAL, 128)]),
        ("cp.async.bulk.global.shared::cta.bulk_group [a], [b], %r1",
            [("a", "w", _ASYNC, GLOBAL, None), ("b", "r", _ASYNC, LOCAL, None)]),
        ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [m, {x, y}], [s]",
            [("", "w", _ASYNC, GLOBAL, None), ("s", "r", _ASYNC, LOCAL, None)]),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], "
            "[m, {x, y}], [b]", [("s", "w", _ASYNC, CLUSTER, None), ("", "r", _ASYNC, GLOBAL, None)]),
        ("tcgen05.mma.cta_group::1.kind::f16 [t], d1, d2, i, p", [("d1", "r", _ASYNC, LOCAL, None),
            ("d2", "r", _ASYNC, LOCAL, None)]),
        ("tcgen05.mma.cta_group::1.kind::f16 [t], [a], d2, i, p", [("d2", "r", _ASYNC, LOCAL, None)]),
        ("bar.sync 0", []),
    ],
)  # fmt: skip
def test_accesses(text: str, accesses: list[tuple[object, ...]]) -> None:
    found = [
        (a.address, "r" * a.reads + "w" * a.writes, a.proxy, a.space, a.size)
        for a in statement(text).accesses
    ]
    assert found == accesses


def test_an_mbarrier_is_known() -> None:
    wait = statement("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [bar], 0")
    assert wait.operand(OperandRole.MBARRIER) == "bar"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16", 16),
        ("-8", -8),
        ("0x1F", 31),
        ("010", 8),
        ("0", 0),
        ("7U", 7),
        ("a", None),
        ("1.5", None),
    ],
)
def test_numbers(text: str, value: int | None) -> None:
    assert number(text) == value


# Inline texts, as Triton, libcu++ and CUTLASS spell them

_WAIT = "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;"


@pytest.mark.parametrize(
    ("template", "constraints", "kinds"),
    [
        ("mov.u32 $0, 0x0;\n\t@$3 atom.global.gpu.acq_rel.add.u32 $0, [ $1 + 0 ], $2;",
            "=r,l,r,b", "compute rmw"),
        ("@$2 red.global.gpu.relaxed.add.f32 [ $0 + 4 ], $1;", "l,r,b", "rmw"),
        ("ld.acquire.gpu.b32 $0,[$1];", "=r,l,~{memory}", "load"),
        ("{ .reg .pred p; selp.u32 $0, 1, 0, p; }", "=r", "compute"),
        (f"{{ .reg .pred p; wait: {_WAIT} @p bra.uni done; bra.uni wait; done: }}", "r,r", "wait"),
        (f"{{\n.reg .pred p;\nLAB:\n{_WAIT}\n@!p bra LAB;\n}}", "r,r", "wait"),
        ("fence.proxy.async.shared::cta; // after the stores", "", "fence"),
        ("mov.u32 $0, %laneid;", "=r", "compute"),
        ("", "~{memory}", ""),
        ("trap;", "", "end"),
        (f"{{ .reg .pred p, q; L: {_WAIT} @p bra D; setp.ge.u64 q, %clock64, 9; @q trap; bra L; D: }}",
            "r,r", "wait compute"),
    ],
)  # fmt: skip
def test_inline_texts(template: str, constraints: str, kinds: str) -> None:
    found = read(template, constraints)
    assert found is not None
    assert [each.kind for each in found] == kinds.split()
    assert all(each.loops is (each.kind is Kind.WAIT) for each in found)


@pytest.mark.parametrize(
    ("template", "constraints"),
    [
        ("frobnicate $0;", "r"),
        ("@$0 bra L; st.global.u32 [$1], 1; M:", "b,l"),
        ("bra L; st.global.u32 [$1], 1; L:", "b,l"),
        ("@%p bra L; setp.eq.u32 %p, $0, 1; st.global.u32 [$1], 1; L:", "r,l"),
        ("@$0 bra L; @$0 st.global.u32 [$1], 1; L:", "b,l"),
        ("@$0 bra L; st.global.u32 [$1], 1; L: bra L;", "b,l"),
        ("@$0 exit; st.global.u32 [$1], 1; @$0 bra L; L:", "b,l"),
        ("st.global.u32 [$2], 1;", "l"),
        ("mov.u32 $0, $$1;", "=r"),
        ("CUTE_MACRO $0;", "r"),
        (f"{{ .reg .pred p; L: {_WAIT} @!p bra L; st.shared.b32 [$0], 1; }}", "r,r"),
        (f"L: {_WAIT} @p bra L;", "r,r"),
        (f"L: {_WAIT} @!$2 bra L;", "r,r,b"),
        (f"L: {_WAIT} not.pred p, p; @!p bra L;", "r,r"),
        (f"L: {_WAIT} @p bra D; sub.u32 %n, %n, 1; @%q bra L; D:", "r,r"),
        (f"bra D; L: {_WAIT} @!p bra L; D:", "r,r"),
        (f"@$2 bra D; @$2 bra D; L: {_WAIT} @!p bra L; D:", "r,r,b"),
    ],
)
def test_what_is_not_understood(template: str, constraints: str) -> None:
    assert read(template, constraints) is None


def test_a_branch_over_a_loop_around_a_wait_is_its_predicate() -> None:
    loop = f"{{{{ @{{0}}$2 bra.uni over; .reg .pred p; L: {_WAIT} @!p bra.uni L; over: }}}}"
    for taken, guard in (("", "!$2"), ("!", "$2")):
        found = read(loop.format(taken), "r,r,b")
        assert found is not None
        assert [(each.guard, each.loops) for each in found] == [(guard, True)]


def test_a_branch_over_instructions_is_their_predicate() -> None:
    plain = "@{0}$0 st.global.u32 [$1], 1; @{0}$0 red.global.gpu.add.u32 [$1], 1; fence.sc.gpu;"
    branch = "@{0}$0 bra L; st.global.u32 [$1], 1; red.global.gpu.add.u32 [$1], 1; L: fence.sc.gpu;"
    for taken, skipped in (("", "!"), ("!", "")):
        assert read(branch.format(taken), "b,l") == read(plain.format(skipped), "b,l")


_DATA = Path(__file__).parents[1] / "data" / "inline_ptx.tsv"
PUBLIC = [line.split("\t") for line in _DATA.read_text().splitlines() if not line.startswith("#")]


def from_gcc(template: str) -> str:
    """A template of CUDA C (``%0``, ``%%r``) as LLVM's (``$0``, ``%r``)."""
    dollars = template.replace("$", "$$")
    return re.sub(r"%(%|\d+|\[\w+\])", lambda at: "%" if at[1] == "%" else f"${at[1]}", dollars)


@pytest.mark.parametrize(("project", "kinds", "text"), PUBLIC)
def test_public_texts_are_understood(project: str, kinds: str, text: str) -> None:
    operands = ",".join(["r"] * 10)
    found = read(from_gcc(text), operands)
    assert found is not None, project
    assert [each.kind for each in found] == kinds.split()
    assert read(from_gcc(f"frobnicate.gpu [%0]; {text}"), operands) is None


def test_constraints() -> None:
    assert operand_count("=r,l,0,~{memory},~{cc}") == 3
    assert is_volatile_memory("r, ~{memory}")
    assert not is_volatile_memory("r")


def test_a_word_left_out_changes_what_is_read() -> None:
    """What the reader rests on: without its word the operation is another one, or none."""
    text = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
    for word in ("bulk", "tensor", "bulk_group", "async"):
        less = re.sub(rf"\.{word}(?=\.|$)", "", text, count=1)
        before, after = read_opcode(text).row, read_opcode(less).row
        assert before != after, word


RIGHT = """
mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8.satfinite tcgen05.ld.sync.aligned.16x32bx2.x1.b32
tcgen05.mma.cta_group::2.kind::f16.collector::a::fill tcgen05.cp.cta_group::1.64x128b.warpx2::02_13
tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint
cp.async.bulk.tensor.3d.global.shared::cta.bulk_group cp.async.bulk.wait_group.read
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 cp.async.ca.shared.global.L2::128B
mbarrier.arrive.noComplete.release.cta.shared::cta.b64 mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 st.async.mmio.release.sys.global.u32
multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 multimem.red.relaxed.gpu.global.add.v4.f16x2
tensormap.replace.tile.box_dim.global.b1024.b32 fence.proxy.tensormap::generic.acquire.gpu
fence.acquire.sync_restrict::shared::cluster.cluster barrier.cta.sync.aligned barrier.cluster.arrive.relaxed
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128
ld.global.nc.L1::no_allocate.L2::128B.v4.u32 ld.global.L1::no_allocate.L2::evict_first.v8.f32 ld.f32
ld.mmio.relaxed.sys.global.b32 ld.param::func.b32 st.global.cs.v2.f32 st.bulk.weak.shared::cta
atom.global.v4.f32.add atom.global.gpu.acq_rel.max.u32 red.global.v2.bf16x2.add.noftz atom.cas.b128
tex.level.2d.v4.f32.f32 suld.b.2d.v4.b32.trap sured.b.add.2d.u32.trap createpolicy.fractional.L2::evict_first.b64
shfl.sync.bfly.b32 redux.sync.min.abs.NaN.f32 vote.sync.ballot.b32 match.any.sync.b32 setmaxnreg.inc.sync.aligned.u32
ld.volatile.local.v2.b64 st.volatile.local.u8 ld.volatile.global.L2::evict_last.v8.f32 st.volatile.L2::evict_first.v4.b64
add.sat.u8x4 sub.s8x4 add.sat.s16x2 add.sat.u32 min.relu.s8x4 max.u8x4 cvt.rna.satfinite.tf32.f32 cvt.rs.f16x2.f32
cvt.rn.satfinite.relu.e5m2x2.f16x2 cvt.rn.f16x2.e4m3x2 cvt.rp.satfinite.ue8m0x2.bf16x2 cvt.rs.satfinite.e2m1x4.f32
cvt.rn.satfinite.e4m3x2.f32 cvt.pack.sat.u8.s32.b32 cvt.rzi.ftz.s64.f32 lop3.and.b32 shf.l.wrap.b32 vmad.s32.u32.s32.shr7
""".split()
"""Names as libraries of kernels write them."""


@pytest.mark.parametrize("name", RIGHT)
def test_names_that_kernels_have_fit_a_form(name: str) -> None:
    assert read_opcode(name).problem == ""


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ld.nonsense.global.b32", "is no form of ld (.nonsense does not belong)"),
        ("ld.global.global.b32", "is no form of ld (a second .global)"),
        ("ld.relaxed.global.b32", "is no form of ld (a scope is missing)"),
        ("st.global", "is no form of st (a type is missing)"),
        (
            "fence.acq_rel.galaxy",
            "is no form of fence (.galaxy does not belong, a scope is missing)",
        ),
        (
            "fence.mbarrier_init.release.cta",
            "is no form of fence (.cta does not belong, .cluster is missing)",
        ),
        ("barrier.sync.cta", "is no form of barrier (.cta does not belong)"),
        ("cvt.f16.f32", "is no form of cvt (a rounding is missing)"),
        ("sub.sat.u32", "is no form of sub (.sat does not belong)"),
        ("ld.volatile.const.b32", "is no form of ld (.volatile does not belong)"),
        ("cvt.rn.bf16x2.f32.L2::128B", "is no form of cvt (.L2::128B does not belong)"),
        ("frobnicate.b32", "is not known"),
    ],
)
def test_what_is_wrong_with_a_name(name: str, problem: str) -> None:
    assert read_opcode(name).problem == problem


def test_what_is_no_form_may_do_anything() -> None:
    found = statement("ld.acqire.gpu.b32 r1, [d1]")
    assert (found.kind, found.ordering, found.scope, found.accesses) == (
        Kind.OPAQUE,
        None,
        None,
        (),
    )
    assert statement("fence").operation not in {row.name for row in ROWS}


def test_of_two_rows_that_a_name_has_the_words_of_it_is_the_one_that_it_fits() -> None:
    row = read_opcode("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group").row
    assert row is not None
    assert row.name == "cp reduce async bulk tensor"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("atom.acq_rel.gpu.global.cas.b64", "cas None"),
        ("atom.global.min.s32", "min min"),
        ("red.global.gpu.max.u32", "max umax"),
        ("atom.global.add.noftz.bf16x2", "add fadd"),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32", "inc uinc_wrap"),
        ("setp.lo.and.u32", " None lo and"),
        ("set.eq.ftz.u32.f32", " None eq"),
        ("cvt.rzi.ftz.s32.f32", " None   rzi"),
        ("and.b32", " None"),
        ("ld.global.cg.L2::cache_hint.L2::128B.b32", " None    cg L2::128B L2::cache_hint"),
    ],
)
def test_fields_of_an_opcode(name: str, fields: str) -> None:
    opcode = read_opcode(name)
    found = [opcode.update, str(opcode.rmw), opcode.comparison, opcode.boolean, opcode.rounding]
    found += [opcode.cache, *sorted(opcode.hints)]
    assert not opcode.problem
    assert " ".join(found).rstrip() == fields


@pytest.mark.parametrize(
    ("name", "unread"),
    [
        ("ld.nonsense.global.b32", {"nonsense"}),
        ("ld.acquire.release.gpu.b32", {"release"}),
        ("multimem.st.mmio.u32", {"mmio"}),
        ("ld.volatile.global.L2::128B.b32", set[str]()),
        ("nothing.of.this", {"nothing", "of", "this"}),
    ],
)
def test_words_that_no_form_takes(name: str, unread: set[str]) -> None:
    assert read_opcode(name).unread == unread


def test_effects() -> None:
    update = statement("@%p atom.acquire.gpu.global.add.u32 %r1, [%rd1+4], %r2")
    effects = update.effects
    assert (effects.kind, effects.ordering, effects.scope) == ("rmw", "acquire", "agent")
    assert effects.rmw == "add"
    assert effects.accesses == update.accesses
    assert effects.accesses[0].size == 4
    assert effects.defines == ("%r1",)
    assert set(effects.uses) == {"%p", "%rd1", "%r2"}
    opaque = statement("ld.nonsense.acquire.gpu.b32 %r1, [%rd1]").effects
    assert (opaque.kind, opaque.ordering, opaque.rmw) == ("opaque", None, None)
    assert opaque.unread == {"nonsense"}


def test_a_name_with_other_words() -> None:
    opcode = read_opcode("atom.acq_rel.gpu.global.add.u32")
    assert opcode.renamed({"acq_rel": "acquire"}) == "atom.acquire.gpu.global.add.u32"


def test_the_beginnings_of_a_name_are_its_words_from_all_to_one() -> None:
    assert [*read_opcode("ld.relaxed.gpu").beginnings] == ["ld.relaxed.gpu", "ld.relaxed", "ld"]


@pytest.mark.parametrize(
    ("text", "words", "name"),
    [
        ("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [a], 8",
            ("mbarrier", "arrive", "expect_tx"), "mbarrier.arrive.expect_tx"),
        ("barrier.cta.red.popc.u32 %r1, 0, %p", ("barrier", "red"), "barrier.red"),
        ("nothing.of.this", ("nothing", "of", "this"), "nothing.of.this"),
    ],
)  # fmt: skip
def test_an_operation_by_its_words(text: str, words: tuple[str, ...], name: str) -> None:
    assert statement(text).operation_words == words
    assert statement(text).operation_name == name


def test_the_update_in_a_call_of_inline_ptx() -> None:
    text = (
        'call i32 asm sideeffect "@$1 atom.global.gpu.acq_rel.add.u32 $0, [$2], $3;", "=r,b,l,r"()'
    )
    assert update_in(text).update == "add"
    assert update_in(text).name == "atom.global.gpu.acq_rel.add.u32"


_LONG = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k()
{{
    .reg .b32 %r<4>;
    .shared .align 4 .b8 s[4096];
    mov.u32 %r1, s;
{}
    ret;
}}
"""


def test_analyses_read_no_operand_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[str] = []

    def counted(name: str, brackets: str) -> Shape:
        counts.append(name)
        return shape_of(name, brackets)

    monkeypatch.setattr(statements, "shape_of", counted)
    file = read_ptx(_LONG.format("    st.shared.u32 [%r1+16], %r1; bar.sync 0;\n" * 40), "k.ptx")
    read = len(counts)
    assert read > 0
    list(hazards(file, file.functions["k"]))
    assert len(counts) == read


def test_barriers_remember_what_is_between_them_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of accesses are as wide as the distance of two barriers, wherever these are."""
    widths: list[int] = []
    numbers = barriers._Numbers  # pyright: ignore[reportPrivateUsage]  # its size is the claim
    joined = numbers.__or__

    def measured(one: Any, other: Any) -> Any:
        both = joined(one, other)
        widths.append(both.mask.bit_length())
        return both

    monkeypatch.setattr(numbers, "__or__", measured)
    part = "    st.shared.u32 [%r1+4], %r1;\nL{0}:\n    st.shared.u32 [%r1+8], %r1;\nM{0}: bar.sync 0;\n"
    file = read_ptx(_LONG.format("".join(map(part.format, range(200)))), "k.ptx")
    function = file.functions["k"]
    barriers.idle_barriers(kernel_of(file, function), barriers_of_all(function))
    assert len(widths) >= 200
    assert max(widths) == 2


def test_barriers_of_a_line_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    line_of = Kernel.line_of

    def counted(kernel: Kernel, instruction: int) -> int:
        asked.append(instruction)
        return line_of(kernel, instruction)

    monkeypatch.setattr(Kernel, "line_of", counted)
    file = read_ptx(
        _LONG.format("    st.shared.u32 [%r1+4], %r1;\n    bar.sync 0;\n" * 200), "k.ptx"
    )
    function = file.functions["k"]
    barriers.idle_barriers(kernel_of(file, function), barriers_of_all(function))
    assert 400 <= len(asked) < 3_000


def test_instructions_are_small() -> None:
    lines = "".join(f"  add.s32 %r{n}, %r{n + 1}, {n};\n" for n in range(10, 2_000))
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
    text = f"{head}  .reg .b32 %r<2010>;\n{lines}  ret;\n}}\n"
    read_ptx(text)
    tracemalloc.start()
    kept = read_ptx(text.replace("%r", "%q"))
    each = tracemalloc.get_traced_memory()[0] / len(kept.functions["k"].instructions)
    tracemalloc.stop()
    assert each < 1_050


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("%r1, [%rd1+4],  %r2", ("%r1", "[%rd1+4]", "%r2")),
        ("{%f1, %f2}, [a, {%r1,  %r2}]", ("{%f1, %f2}", "[a, {%r1, %r2}]")),
        ("(%r1), f, (%r2, [a])", ("(%r1)", "f", "(%r2, [a])")),
        ("[[%r1], 4],  %r2", ("[[%r1], 4]", "%r2")),
        ("[%r1, %r2", ("[%r1, %r2",)),
        ("%r1, ", ("%r1", "")),
    ],
)
def test_commas_in_brackets_are_part_of_an_operand(text: str, operands: tuple[str, ...]) -> None:
    assert split_operands(text) == operands


def test_brackets_tell_forms_of_one_name_apart() -> None:
    own = statement("mbarrier.arrive.shared.b64 %rd1, [%r1]")
    remote = statement("mbarrier.arrive.shared::cluster.b64 [%r1]")
    again = statement("mbarrier.arrive.shared.b64 _, [%r1]")
    assert (own.defines, remote.defines, again.defines) == (("%rd1",), (), ())
    assert [each.operand(OperandRole.MBARRIER) for each in (own, remote, again)] == ["%r1"] * 3


@pytest.mark.parametrize("text", ["", "[]", "[ ]", "[%r1", "%r1]", "(%r1]", "[(%r1)", "][", "{[}]"])
def test_an_operand_whose_brackets_are_open_is_none(text: str) -> None:
    assert read_statement(f"ld.global.u32 %r1, {text}") is None
    assert read_statement("ld.global.u32 %r1, [{%r1, (%r2)}]") is not None
