"""PTX as MLIR on ``scoped``: how each form is written, what is refused, and the way to gfx942 and back."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from test_cdna_scoped import accesses as cdna_accesses
from test_cdna_scoped import lowered
from test_cdna_scoped import missing as cdna_missing
from test_ptx_reader import HEAD

from fencewright.checker.amd.check import check
from fencewright.checker.lifting.amd import to_scoped
from fencewright.checker.lifting.nvidia import ptx_to_scoped
from fencewright.checker.lifting.writer import UnliftableError
from fencewright.checker.nvidia.guarantees import SCOPES, acquires_at, releases_at
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.ptx.code.statements import ACCESSES, CONTROL, SILENT
from fencewright.lowering.ptx.code.text import PtxFunction, PtxInstruction, read_ptx
from fencewright.lowering.vocabulary import AddressSpace, Scope
from fencewright.tools import fence_check, fence_opt, fence_sim

KERNELS = Path(__file__).parents[2] / "examples/kernels"
NAMES = sorted(each.stem for each in KERNELS.glob("*.mlir"))
ONLY_NVIDIA = "mbarrier_pipeline"
"""The kernel whose mbarriers and copies no AMD chip has."""

DECLARED = (
    ".reg .b16 h<3>; .reg .b32 r<9>; .reg .f32 f<3>; .reg .b64 d<9>; .reg .b128 q<2>;\n"
    ".reg .pred p<4>; .shared .align 8 .b64 bar; .shared .align 16 .b8 sm[64];\n"
    "ld.param.u64 d1, [a]; ld.param.u64 d2, [b]; setp.eq.u32 p0, r8, 7;\n"
)


def text_of(body: str, threads: str = "") -> str:
    params = ".param .u64 a, .param .u64 b"
    module = read_ptx(
        f"{HEAD}.entry k({params}) {threads} {{\n{DECLARED}{body}\nret;\n}}\n", "k.ptx"
    )
    return ptx_to_scoped(module, module.functions["k"])


def lines(body: str, threads: str = "") -> list[str]:
    """What stands between the first block and the return, without types and constants."""
    text = text_of(body, threads).splitlines()
    first = next(n for n, line in enumerate(text) if line.startswith("^b0"))
    kept = [re.sub(r" : .*", "", line).strip() for line in text[first + 1 : -2]]
    return [each.replace("scoped.", "") for each in kept]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("st.global.b32 [d1], r1;", ["store weak %x8, %p0"]),
        ("ld.acquire.gpu.global.u32 r1, [d1];", ["%v8 = load acquire agent %p0"]),
        ("st.release.cta.shared.b64 [sm], d3;", ["store release workgroup %x8, %p0"]),
        ("st.relaxed.sys.global.b32 [d1], 7;", ["store relaxed system %k7_i32, %p0"]),
        ("ld.volatile.global.u32 r1, [d1];", ["%v8 = load relaxed system %p0 {volatile}"]),
        ("ld.global.nc.v4.b32 {r1, r2, r3, r4}, [d1];", ["%v8 = load weak %p0 {invariant}"]),
        # The elements of a strong vector are atomic one by one.
        ("ld.relaxed.gpu.global.v2.b32 {r1, r2}, [d1];",
            ["%v8_0 = load relaxed agent %p0", "%v8_1 = load relaxed agent %p1"]),
        ("atom.acq_rel.sys.global.add.u32 r1, [d1], r2;",
            ["%v8 = atomic_rmw add acq_rel system %p0, %x8"]),
        ("atom.global.max.s32 r1, [d1], r2;", ["%v8 = atomic_rmw max relaxed agent %p0, %x8"]),
        ("atom.global.max.u32 r1, [d1], r2;", ["%v8 = atomic_rmw umax relaxed agent %p0, %x8"]),
        ("red.release.gpu.global.add.f32 [d1], f1;",
            ["%v8 = atomic_rmw fadd release agent %p0, %x8"]),
        ("atom.acquire.gpu.global.cas.b32 r1, [d1], 0, 1;",
            ["%v8, %ok8 = cmpxchg acquire acquire agent %p0, %zero, %k1_i32"]),
        ("atom.release.gpu.global.cas.b32 r1, [d1], r2, r3;",
            ["%v8, %ok8 = cmpxchg release relaxed agent %p0, %c8, %x8"]),
        ("fence.acq_rel.gpu;", ["fence acq_rel agent"]),
        ("fence.sc.sys;", ["fence seq_cst system"]),
        ("membar.gl;", ["fence seq_cst agent"]),
        ("bar.sync 0;", ["barrier workgroup"]),
        ("bar.sync 1, 64;", ["named_barrier sync 1 threads 64"]),
        ("barrier.arrive 1, 64;", ["named_barrier arrive 1 threads 64"]),
        ("bar.warp.sync -1;", ["barrier wavefront"]),
        ("barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
            ["cluster_arrive relaxed", "cluster_wait"]),
        # Proxy fences are inserted where they are owed; memory of the thread is nobody else's.
        ("fence.proxy.async; ld.local.b32 r1, [d1]; ld.const.b32 r1, [d1];", []),
        ("mbarrier.init.shared::cta.b64 [bar], 1;", ["mbarrier_init %p0 count 1"]),
        ("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], 64;",
            ["mbarrier_arrive release workgroup %p0 expect_tx 64"]),
        ("cp.async.ca.shared.global [sm], [d1], 4; cp.async.commit_group; cp.async.wait_all;",
            ["async_copy %p0, %p1 size 4", "async_commit_group", "async_wait_group 0"]),
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sm], [d1], 64, [bar];",
            ["bulk_copy %p0, %p1 size 64 mbarrier %p2"]),
        # What is stored is what was loaded, where the block says so.
        ("ld.global.b32 r1, [d1]; st.global.b32 [d2], r1;",
            ["%v8_1 = load weak %p0", "store weak %v8_1, %p1"]),
    ],
)  # fmt: skip
def test_how_it_is_written(body: str, expected: list[str]) -> None:
    assert lines(body) == expected


@pytest.mark.parametrize(
    ("jump", "expected"),
    [
        ("setp.ne.s32 p1, r1, 0;", "arith.cmpi ne, %v9, %zero"),
        ("setp.lt.u32 p1, r1, r2;", "arith.cmpi ult, %v9, %c11_1"),
        ("setp.lt.s32 p1, r2, r1;", "arith.cmpi slt, %c11_0, %v9"),
        ("setp.hs.u32 p1, r1, 5;", "arith.cmpi uge, %v9, %k5_i32"),
        ("and.b32 r3, r1, 1; setp.eq.s32 p1, r3, 1;", "arith.cmpi ne, %v9, %b11"),
        ("setp.eq.s32 p1, r4, 1;", "arith.cmpi ne, %b11, %zero"),
    ],
)
def test_what_a_loop_waits_for(jump: str, expected: str) -> None:
    text = lines(f"L:\nld.relaxed.gpu.global.b32 r1, [d1];\n{jump}\n@p1 bra L;")
    assert f"%t11 = {expected}" in text
    assert "cf.cond_br %t11, ^b1, ^b2" in text
    negated = lines(f"L:\nld.relaxed.gpu.global.b32 r1, [d1];\n{jump}\n@!p1 bra L;")
    assert "cf.cond_br %t11, ^b2, ^b1" in negated


def test_an_atomic_is_waited_for_by_one_thread_alone() -> None:
    """Of several threads each has its own answer, which no wave can branch on as a whole."""
    body = "L:\natom.acquire.gpu.global.exch.b32 r1, [d1], 1;\nsetp.ne.s32 p1, r1, 0;\n@p1 bra L;"
    assert "%t11 = arith.cmpi ne, %v9, %zero" in lines(body, ".reqntid 1")
    assert "%t11 = arith.cmpi ne, %b11, %zero" in lines(body, ".reqntid 32")


def test_a_question_whose_answer_nobody_takes() -> None:
    text = text_of("mbarrier.try_wait.parity.shared::cta.b64 _, [bar], 0;")
    assert "try_wait" in text or "test" in text


def test_a_guarded_access_is_branched_around() -> None:
    assert lines("@!p0 st.global.b32 [d1], r1;") == [
        "%t8 = arith.cmpi ne, %b7_3, %zero",
        "cf.cond_br %t8, ^b0_then8, ^b0_if8",
        "^b0_if8:",
        "store weak %x8, %p0",
        "cf.br ^b0_then8",
        "^b0_then8:",
    ]


def test_branches_on_one_predicate_agree_unless_a_loop_computes_it_anew() -> None:
    once = text_of("@p0 st.global.b32 [d1], r1;\n@p0 st.global.b32 [d2], r1;")
    assert once.count("arith.cmpi ne, %b7_3, %zero") == 2
    anew = "L:\nsetp.eq.u32 p1, r3, r4;\n@p1 bra M;\nst.global.b32 [d1], r1;\nM:\n@p1 bra L;"
    assert {"%b10", "%b13"} <= set(re.findall(r"%b\d+", text_of(anew)))


def test_an_address_is_the_same_where_what_it_is_computed_from_is() -> None:
    def pointers(body: str) -> list[str]:
        return re.findall(r"%x\w+, (%p\d)", "\n".join(lines(body)))

    st = "st.global.b32"
    assert pointers(f"{st} [d1], r1; {st} [d1], r1;") == ["%p0", "%p0"]
    assert pointers(f"{st} [d1], r1; {st} [d1+4], r1;") == ["%p0", "%p1"]
    assert pointers(f"add.s64 d3, d1, 4; {st} [d3], r1; {st} [d1+4], r1;") == ["%p0", "%p0"]
    assert pointers(f"{st} [d1], r1; {st} [d2], r1;") == ["%p0", "%p1"]
    # A register that is written again is another address.
    again = f"mov.u64 d3, d1; {st} [d3], r1; add.s64 d3, d3, d4; {st} [d3], r1; {st} [d3], r1;"
    assert pointers(again) == ["%p0", "%p1", "%p1"]


def test_the_size_of_a_work_group_goes_with_the_kernel() -> None:
    assert "gpu.known_block_size = array<i32: 128, 2, 1>" in text_of("", ".reqntid 128, 2")
    assert "known_block_size" not in text_of("", ".maxntid 128")
    assert lines("bar.sync 0, 64;", ".reqntid 64") == ["barrier workgroup"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("frobnicate.b32 r1, [d1];", "frobnicate.b32: 'scoped' has no operation for it"),
        ("{ .param .b64 x; call.uni f, (x); }", "call.uni: f, which it calls, is not in the file"),
        ("call.uni (r1), %rd1, (r1), proto;", "call.uni: which function it calls is not known"),
        ("fence.acquire.sync_restrict::shared::cluster.cluster;", "'scoped' has no operation"),
        ("fence.proxy.alias;", "fence.proxy.alias: 'scoped' has no operation for it"),
        ("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned: 'scoped' has no operation"),
        ("griddepcontrol.wait;", "griddepcontrol.wait: 'scoped' has no operation for it"),
        ("atom.global.add.noftz.f16x2 r1, [d1], r2;", "each element is atomic by itself"),
        ("bar.sync r1, 64;", "which barrier, or of how many threads, is not known"),
        ("cp.async.ca.shared.global [sm], [d1], r1;", "a number that only the run knows"),
    ],
)
def test_what_cannot_be_said(body: str, why: str) -> None:
    with pytest.raises(UnliftableError, match=re.escape(why)) as problem:
        text_of(body)
    assert problem.value.line == 8


def test_a_called_function_cannot_be_said() -> None:
    module = read_ptx(f"{HEAD}.func f() {{ ret; }}\n", "k.ptx")
    with pytest.raises(UnliftableError, match="what its caller did is not known"):
        ptx_to_scoped(module, module.functions["f"])


def test_the_command_prints_what_can_be_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(f"{HEAD}.entry good() {{ bar.sync 0; ret; }}\n.entry bad() {{ x.y; ret; }}\n")
    assert fence_check.main(["--to", "scoped", str(path)]) == 3
    out, err = capsys.readouterr()
    assert re.findall(r"@\w+", out) == ["@good"]
    assert err == f"{path}:5:1: error: bad cannot be said in 'scoped': x.y: " + (
        "'scoped' has no operation for it\n"
    )


# To gfx942 and back

Pair = tuple[str, int, int, Scope]


class Provided:
    """What a function of PTX provides, by paths between its accesses: the definition, slow and plain."""

    def __init__(self, function: PtxFunction):
        self.function = function
        self.accesses = [each for each in function.instructions if self._is_access(each)]
        self.place = {each.number: n for n, each in enumerate(self.accesses)}
        self.after = self._edges()

    @staticmethod
    def _is_access(each: PtxInstruction) -> bool:
        if each.statement.operation.startswith(("bar ", "barrier ")):
            return True
        spaces = each.statement.opcode.spaces
        return each.statement.kind in ACCESSES and AddressSpace.CONSTANT not in spaces

    def _edges(self) -> dict[int, list[PtxInstruction]]:
        first = {
            block.number: block.instructions[0]
            for block in self.function.blocks
            if block.instructions
        }
        after: dict[int, list[PtxInstruction]] = {}
        for block in self.function.blocks:
            for each, following in zip(block.instructions, block.instructions[1:], strict=False):
                after[each.number] = [following]
            if block.instructions:
                after[block.instructions[-1].number] = [first[n] for n in block.successors]
        return after

    def past(self, each: PtxInstruction, scope: Scope, releases: bool) -> Iterator[PtxInstruction]:
        """The accesses that paths come to from one past no fence of a scope."""
        seen, waiting = set[int](), list(self.after[each.number])
        while waiting:
            other = waiting.pop()
            if other.number in seen:
                continue
            seen.add(other.number)
            at = (releases_at if releases else acquires_at)(other.statement)
            if at is not None and at.includes(scope):
                continue
            if other.number in self.place:
                yield other
            waiting += self.after[other.number]

    def missing(self) -> Iterator[Pair]:
        """What is late, and what may be older, at the scopes of strong accesses; by their order."""
        for each in self.accesses:
            for scope in SCOPES:
                for other in self.past(each, scope, releases=True):
                    if self._is_open(other, scope, releases=True):
                        yield "late", self.place[each.number], self.place[other.number], scope
                if self._is_open(each, scope, releases=False):
                    for other in self.past(each, scope, releases=False):
                        # An atomic read again is coherent: polling need not acquire each time.
                        if other is not each:
                            place = self.place[each.number], self.place[other.number]
                            yield "older", *place, scope

    @staticmethod
    def _is_open(each: PtxInstruction, scope: Scope, releases: bool) -> bool:
        """Whether a strong write of a scope does not release itself, or a strong read acquire."""
        statement = each.statement
        if statement.kind not in ACCESSES or not statement.is_strong:
            return False
        assert statement.scope is not None
        assert statement.ordering is not None
        touches = any(a.writes if releases else a.reads for a in statement.accesses)
        ordered = statement.ordering.releases if releases else statement.ordering.acquires
        return touches and statement.scope.includes(scope) and not ordered


def kernel(text: str) -> PtxFunction:
    (function,) = read_ptx(text).functions.values()
    return function


def as_ptx(name: str, tmp_path: Path) -> str:
    return lowered((KERNELS / f"{name}.mlir").read_text(), tmp_path, "sm_90", "ptx")


def lifted(text: str) -> str:
    module = read_ptx(text)
    kernels = [each for each in module.functions.values() if each.is_entry]
    return "\n".join(ptx_to_scoped(module, each) for each in kernels)


def operations(text: str) -> list[str]:
    """All that others could notice; an addition whose result is not looked at is a reduction."""
    names = [each.statement.opcode.name for each in kernel(text).instructions
             if each.statement.kind not in SILENT | CONTROL]  # fmt: skip
    return [re.sub(r"^(atom|red)\.", "atom|red.", each) for each in names]


@pytest.mark.parametrize("name", NAMES)
def test_lifted_ptx_is_lowered_to_the_same_synchronisation(name: str, tmp_path: Path) -> None:
    before = as_ptx(name, tmp_path)
    assert operations(lowered(lifted(before), tmp_path, "sm_90", "ptx")) == operations(before)


def to_gfx942_and_back(text: str, tmp_path: Path) -> tuple[str, str]:
    """Assembly of gfx942 for a lifted kernel, and the PTX of that assembly lifted."""
    assembly = lowered(text, tmp_path, "gfx942", "asm")
    read = read_assembly(assembly)
    (function,) = read.functions.values()
    return assembly, lowered(to_scoped(check(read, function)), tmp_path, "sm_90", "ptx")


@pytest.mark.parametrize("name", [each for each in NAMES if each != ONLY_NVIDIA])
def test_what_is_provided_survives_the_way_to_the_other_vendor_and_back(
    name: str, tmp_path: Path
) -> None:
    ptx = as_ptx(name, tmp_path)
    before = Provided(kernel(ptx))
    text = lifted(ptx)
    assembly, back = to_gfx942_and_back(text, tmp_path)
    after = Provided(kernel(back))
    assert len(after.accesses) == len(before.accesses)
    assert set(after.missing()) <= set(before.missing())
    # In between, the machine code lacks no more than the PTX does.
    read = read_assembly(assembly)
    machine = check(read, next(iter(read.functions.values())))
    assert len(cdna_accesses(machine)) == len(before.accesses)
    strong = {n for n, each in enumerate(before.accesses) if each.statement.is_strong}
    lacking = {
        (what, a, b, scope)
        for what, a, b, scope in cdna_missing(machine)
        if scope is Scope.AGENT and (b if what == "late" else a) in strong and a != b
    }
    assert lacking <= set(before.missing())


ORDERS = re.compile(r"  scoped\.fence \w+ agent\n|(?<=[a-z] )(?:acquire|release)(?= agent %)")


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (ONLY_NVIDIA, "look_back_scan")])
def test_an_order_that_is_lost_on_the_way_is_noticed(name: str, tmp_path: Path) -> None:
    ptx = as_ptx(name, tmp_path)
    before = set(Provided(kernel(ptx)).missing())
    text = lifted(ptx)
    found = list(ORDERS.finditer(text))
    assert len(found) == 2
    for each in found:
        weaker = "" if "fence" in each[0] else "relaxed"
        _, back = to_gfx942_and_back(text[: each.start()] + weaker + text[each.end() :], tmp_path)
        assert set(Provided(kernel(back)).missing()) - before, each[0]


def test_what_the_other_vendor_lacks_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(lifted(as_ptx(ONLY_NVIDIA, tmp_path)))
    assert fence_opt.main(["--mcpu", "gfx942", "-t", "asm", str(path)]) != 0
    assert "'scoped.mbarrier_init' is not supported on the CDNA path" in capsys.readouterr().err


# Executed

MESSAGE_PASSING = (
    ".entry p0(.param .b64 x, .param .b64 y) .reqntid 1 {\n"
    ".reg .b64 d<3>; ld.param.b64 d1, [x]; ld.param.b64 d2, [y];\n"
    "st.global.b32 [d1], 42; fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [d2], 1; ret;\n}\n"
    ".entry p1(.param .b64 x, .param .b64 y, .param .b64 out) .reqntid 1 {\n"
    ".reg .b64 d<4>; .reg .b32 r<3>; .reg .pred p;\n"
    "ld.param.b64 d1, [x]; ld.param.b64 d2, [y]; ld.param.b64 d3, [out];\n"
    "L: ld.relaxed.gpu.global.b32 r1, [d2]; setp.eq.s32 p, r1, 0; @p bra L;\n"
    "fence.acq_rel.gpu; ld.global.b32 r2, [d1]; st.global.b32 [d3], r2; ret;\n}\n",
    ("@x, @y", '@y, @x, "r0"'),
    "forall (P1:r0 = 42)",
)  # fmt: skip
PASSING_BY_CALLS = (
    ".func raise(.param .b64 a, .param .b32 v) {\n"
    ".reg .b64 d<2>; .reg .b32 r<2>; ld.param.b64 d1, [a]; ld.param.b32 r1, [v];\n"
    "fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [d1], r1; ret;\n}\n"
    ".func (.param .b32 result) look(.param .b64 a) {\n"
    ".reg .b64 d<2>; .reg .b32 r<2>; ld.param.b64 d1, [a];\n"
    "ld.relaxed.gpu.global.b32 r1, [d1]; st.param.b32 [result], r1; ret;\n}\n"
    ".entry p0(.param .b64 x, .param .b64 y) .reqntid 1 {\n"
    ".reg .b64 d<3>; ld.param.b64 d1, [x]; ld.param.b64 d2, [y]; st.global.b32 [d1], 42;\n"
    "{ .param .b64 a; .param .b32 b; st.param.b64 [a], d2; st.param.b32 [b], 1;\n"
    "call.uni raise, (a, b); }\nret;\n}\n"
    ".entry p1(.param .b64 x, .param .b64 y, .param .b64 out) .reqntid 1 {\n"
    ".reg .b64 d<4>; .reg .b32 r<3>; .reg .pred p;\n"
    "ld.param.b64 d1, [x]; ld.param.b64 d2, [y]; ld.param.b64 d3, [out];\n"
    "L: { .param .b64 a; .param .b32 b; st.param.b64 [a], d2; call.uni (b), look, (a);\n"
    "ld.param.b32 r1, [b]; }\nsetp.eq.s32 p, r1, 0; @p bra L;\n"
    "fence.acq_rel.gpu; ld.global.b32 r2, [d1]; st.global.b32 [d3], r2; ret;\n}\n",
    ("@x, @y", '@y, @x, "r0"'),
    "forall (P1:r0 = 42)",
)  # fmt: skip
LOCK = (
    "".join(
        f".entry p{n}(.param .b64 x, .param .b64 y, .param .b64 z) .reqntid 1 {{\n"
        ".reg .b64 d<4>; .reg .b32 r<3>; .reg .pred p;\n"
        "ld.param.b64 d1, [x]; ld.param.b64 d2, [y]; ld.param.b64 d3, [z];\n"
        "L: atom.acquire.gpu.global.cas.b32 r1, [d1], 0, 1; setp.ne.s32 p, r1, 0; @p bra L;\n"
        f"ld.global.b32 r2, [d2]; st.global.b32 [d2], {n + 1}; st.global.b32 [d3], r2;\n"
        "st.release.gpu.global.b32 [d1], 0; ret;\n}\n"
        for n in range(2)
    ),
    ('@y, @x, "r0"', '@y, @x, "r0"'),
    "exists (P0:r0 = 0 and P1:r0 = 0)",
)
STORE_BUFFERING = (
    "".join(
        f".entry p{n}(.param .b64 x, .param .b64 y, .param .b64 out) .reqntid 1 {{\n"
        ".reg .b64 d<4>; .reg .b32 r;\n"
        "ld.param.b64 d1, [x]; ld.param.b64 d2, [y]; ld.param.b64 d3, [out];\n"
        "st.relaxed.gpu.global.b32 [d1], 1; fence.sc.gpu; ld.relaxed.gpu.global.b32 r, [d2];\n"
        "st.global.b32 [d3], r; ret;\n}\n"
        for n in range(2)
    ),
    ('@x, @y, "r0"', '@y, @x, "r0"'),
    "exists (P0:r0 = 0 and P1:r0 = 0)",
)


def litmus(bindings: Sequence[str], condition: str) -> str:
    threads = [
        f"  litmus.thread @P{n} at <workgroup = {n}, xcd = {n}> runs @p{n}({each})"
        for n, each in enumerate(bindings)
    ]
    locations = [f"  litmus.location @{each} = 0 : i32" for each in "xy"]
    head = ["litmus.test @t {", *locations, *threads, f'  litmus.condition "{condition}"', "}"]
    return "\n".join(head)


def outcomes(text: str, chip: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    path = tmp_path / "t.mlir"
    path.write_text(text)
    fence_sim.main(["run", str(path), "--mcpu", chip])
    out, err = capsys.readouterr()
    assert "error" not in err, err
    return {line[3:] for line in out.splitlines() if line.startswith((":>", "*>"))}


@pytest.mark.parametrize(
    ("ptx", "bindings", "condition", "weakened"),
    [
        (*MESSAGE_PASSING, ("scoped.fence acq_rel agent", "")),
        (*PASSING_BY_CALLS, ("scoped.fence acq_rel agent", "")),
        (*LOCK, ("scoped.store release", "scoped.store relaxed")),
        (*STORE_BUFFERING, ("scoped.fence seq_cst agent", "")),
    ],
    ids=["message passing", "by calls", "lock", "store buffering"],
)
def test_lifted_threads_do_the_same_on_both_machines(
    ptx: str,
    bindings: tuple[str, ...],
    condition: str,
    weakened: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = lifted(HEAD + ptx)
    test = litmus(bindings, condition)
    nvidia, amd = (outcomes(f"{text}\n{test}\n", c, tmp_path, capsys) for c in ("sm_90", "gfx942"))
    assert nvidia == amd
    assert nvidia
    weaker = f"{text.replace(*weakened)}\n{test}\n"
    for chip in ("sm_90", "gfx942"):
        assert outcomes(weaker, chip, tmp_path, capsys) > nvidia, chip
