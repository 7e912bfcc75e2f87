"""PTX held against the LLVM IR that it was made of: what it lacks, and what is no finding."""

import json
import random
import re
from itertools import product
from pathlib import Path

import pytest
from test_ptx_reader import HEAD
from test_ptx_scoped import KERNELS, NAMES, ONLY_NVIDIA, Provided, as_ptx, kernel

from fencewright.checker.nvidia.against_source import compare_ptx
from fencewright.checker.nvidia.orders import Orders
from fencewright.checker.source.obligations import PTX, Order
from fencewright.checker.source.text import read_source
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope
from fencewright.tools import fence_check
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

needs_llc = pytest.mark.skipif(find_llvm_tool("llc") is None, reason=LLVM_HINT)
RUN = "llc-22 -O2 -mcpu=sm_90 -mattr=+ptx80"

DEBUG = """
!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.cu", directory: "/")
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !3, unit: !0)
"""
D, F = "ptr addrspace(1) %d", "ptr addrspace(1) %f"


def source_of(*body: str, attributes: str = "") -> str:
    """A kernel whose every instruction has a line of its own."""
    lines = [
        f"  {each}, !dbg !DILocation(line: {n}, column: 1, scope: !4)"
        for n, each in enumerate(body, 1)
    ]
    head = f"define ptx_kernel void @k({D}, {F}) {attributes} {{"
    text = ['target triple = "nvptx64-nvidia-cuda"', head, *lines, "  ret void", "}"]
    return "\n".join(text) + DEBUG


def ptx_of(*body: str) -> str:
    """PTX whose every instruction comes from the source line of its number; after ``N:`` from N."""
    lines: list[str] = []
    for n, each in enumerate(body, 1):
        found = re.match(r"(\d+): ?(.*)", each)
        line, text = (int(found[1]), found[2]) if found else (n, each)
        lines += [f".loc 1 {line} 1", text]
    return "\n".join([
        HEAD, '.file 1 "/" "k.cu"', ".visible .entry k(.param .u64 d, .param .u64 f) {",
        ".reg .b32 r<9>; .reg .b64 d<3>; .reg .pred p<3>;",
        "ld.param.b64 d1, [d]; ld.param.b64 d2, [f];", *lines, "ret;", "}", "",
    ])  # fmt: skip


def found(source: str, code: str) -> list[tuple[str, str]]:
    """Rule and message of what is found."""
    (compared,) = compare_ptx(read_source(source), read_ptx(code), {1: "k.cu"}, {})
    return [(str(each.rule), each.message) for each in compared.findings]


STORE = f"store i32 1, {D}, align 4"
LOAD = f"%v = load i32, {D}, align 4"
ST, LD = "st.global.b32 [d1], 1;", "ld.global.b32 r1, [d1];"
POLL = f'%s = load atomic i32, {F} syncscope("device") monotonic, align 4'
FLAG = f'store atomic i32 1, {F} syncscope("device") monotonic, align 4'
ACQUIRE, RELEASE = (each.replace("monotonic", o) for each, o in ((POLL, "acquire"), (FLAG, "release")))  # fmt: skip
RMW = f'%o = atomicrmw add {F}, i32 1 syncscope("device") acq_rel, align 4'
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
FENCE = 'fence syncscope("device")'
RELAXED_LD, RELAXED_ST = "ld.relaxed.gpu.global.b32 r2, [d2];", "st.relaxed.gpu.global.b32 [d2], 1;"
ACQ_REL = "fence.acq_rel.gpu;"


@pytest.mark.parametrize(
    ("source", "right", "wrong", "rules"),
    [
        ((STORE, RELEASE), (ST, "st.release.gpu.global.b32 [d2], 1;"), (ST, RELAXED_ST),
            ["release"]),
        ((STORE, RELEASE), (ST, "2:" + ACQ_REL, "2:" + RELAXED_ST),
            (ST, "2:fence.acq_rel.cta;", "2:" + RELAXED_ST), ["release"]),
        ((STORE, RELEASE), (ST, "2:" + ACQ_REL, "2:" + RELAXED_ST),
            (ST, "2:@p1 fence.acq_rel.gpu;", "2:" + RELAXED_ST), ["release"]),
        ((STORE, f"{FENCE} release", FLAG), (ST, ACQ_REL, RELAXED_ST), (ACQ_REL, "1:" + ST,
            "3:" + RELAXED_ST), ["release"]),
        ((ACQUIRE, LOAD), ("ld.acquire.gpu.global.b32 r2, [d2];", LD), (RELAXED_LD, LD),
            ["acquire"]),
        ((POLL, f"{FENCE} acquire", LOAD), (RELAXED_LD, ACQ_REL, LD), (RELAXED_LD, "3:" + LD),
            ["acquire"]),
        ((STORE, RMW, LOAD), (ST, "atom.acq_rel.gpu.global.add.u32 r2, [d2], 1;", LD),
            (ST, "atom.global.add.u32 r2, [d2], 1;", LD), ["release", "acquire"]),
        # Coherence: the scope that the instruction has by itself.
        ((FLAG,), (RELAXED_ST,), ("st.relaxed.cta.global.b32 [d2], 1;",), ["coherence"]),
        ((POLL,), (RELAXED_LD,), ("ld.global.b32 r2, [d2];",), ["coherence"]),
        ((POLL,), ("ld.volatile.global.b32 r2, [d2];",), ("ld.weak.global.b32 r2, [d2];",),
            ["coherence"]),
        # Sequential consistency takes a fence.sc.
        ((FLAG, f"{FENCE} seq_cst", POLL), (RELAXED_ST, "fence.sc.gpu;", RELAXED_LD),
            (RELAXED_ST, ACQ_REL, RELAXED_LD), ["seq-cst"]),
        # A cluster is not the whole GPU.
        ((STORE, RELEASE.replace("device", "cluster")),
            (ST, "st.release.cluster.global.b32 [d2], 1;"), (ST, "st.release.cta.global.b32 [d2], 1;"),
            ["coherence", "release"]),
        # What stands before a barrier stays before it.
        ((STORE, BARRIER), (ST, "bar.sync 0;"), ("2:bar.sync 0;", "1:" + ST), ["release"]),
        ((BARRIER, LOAD), ("bar.sync 0;", LD), ("2:" + LD, "1:bar.sync 0;"), ["acquire"]),
        ((BARRIER,), ("bar.sync 0;",), ("ld.param.b64 d1, [d];",), ["barrier-lost"]),
    ],
)  # fmt: skip
def test_what_is_owed(
    source: tuple[str, ...], right: tuple[str, ...], wrong: tuple[str, ...], rules: list[str]
) -> None:
    assert found(source_of(*source), ptx_of(*right)) == []
    assert [rule for rule, _ in found(source_of(*source), ptx_of(*wrong))] == rules


def test_what_one_fence_would_provide_is_said_once() -> None:
    ((_, message),) = found(source_of(STORE, STORE, STORE, RELEASE), ptx_of(ST, ST, ST, RELAXED_ST))
    assert message == (
        "the store of source line 3 (code line 7: st.global.b32 [d1], 1) may not be visible at agent "
        "when the release agent store of source line 6 (code line 13: st.relaxed.gpu.global.b32 "
        "[d2], 1) is: .release.gpu on the write, or fence.acq_rel.gpu between them, is missing; so for "
        "2 more accesses"
    ).replace("line 7", "line 10").replace("line 13", "line 16")


def test_a_warp_is_no_single_thread() -> None:
    """Where a wave of AMD's is one, PTX orders nothing between the threads of a warp."""
    weak = source_of(STORE, RELEASE.replace("device", "block"), attributes='"nvvm.reqntid"="32"')
    one = weak.replace('"32"', '"1"')
    code = ptx_of(ST, "st.relaxed.cta.global.b32 [d2], 1;")
    assert [rule for rule, _ in found(weak, code)] == ["release"]
    assert found(one, code) == []


def test_a_chip_without_clusters_needs_no_scope_for_them() -> None:
    asked = source_of(FLAG.replace("device", "cluster"))
    code = ptx_of("st.relaxed.cta.global.b32 [d2], 1;")
    assert [rule for rule, _ in found(asked, code)] == ["coherence"]
    assert found(asked, re.sub(r"sm_\w+", "sm_80", code)) == []


def test_inline_ptx_is_its_instructions() -> None:
    text = source_of(
        'call void asm sideeffect "@$0 atom.global.gpu.acq_rel.add.u32 $1, [$2], 1;\\0A\\09bar.sync 0;'
        '", "b,r,l"(i1 true, i32 1, i64 0)',
        'call void asm sideeffect "fence.acq_rel.sys; st.shared.b32 [$0], 1;", "r"(i32 0)',
        'call void asm sideeffect "frobnicate;", ""()',
        "call void @llvm.nvvm.membar.gl()",
    )
    operations = read_source(text).functions["k"].operations
    assert [(each.kind, each.ordering, each.scope, each.space) for each in operations] == [
        (Kind.RMW, Ordering.ACQ_REL, Scope.AGENT, AddressSpace.GLOBAL),
        (Kind.BARRIER, Ordering.ACQ_REL, Scope.WORKGROUP, None),
        (Kind.FENCE, Ordering.ACQ_REL, Scope.SYSTEM, None),
        (Kind.STORE, Ordering.WEAK, Scope.SYSTEM, AddressSpace.LOCAL),
        (Kind.OPAQUE, Ordering.WEAK, Scope.SYSTEM, None),
        (Kind.FENCE, Ordering.SEQ_CST, Scope.AGENT, None),
    ]
    assert [each.number for each in operations] == [*range(6)]


def test_lines_that_llvm_counts_within_an_inline_text_are_not_taken() -> None:
    text = ptx_of(ST).replace(
        ".loc 1 1 1\n", ".loc 1 1 1\n// begin inline asm\n.loc 1 7 1\n"
    ).replace("ret;", "// end inline asm\nbar.sync 0;\n.loc 1 9 1\nbar.sync 0;\nret;")  # fmt: skip
    *_, store, near, far, _ = kernel(text).instructions
    assert [each.source.line for each in (store, near, far) if each.source] == [1, 1, 9]


# What is ordered, by definition

ORDERS = (Order.RELEASE, Order.ACQUIRE)


def definition(provided: Provided, order: Order, scope: Scope) -> set[tuple[int, int]]:
    """The pairs of accesses that a path leads through past nothing that orders them."""
    pairs: set[tuple[int, int]] = set()
    for each in provided.accesses:
        own = each.statement
        strong = own.is_strong and own.scope is not None and own.scope.includes(scope)
        assert own.ordering is not None
        if order is Order.ACQUIRE and strong and own.ordering.acquires:
            continue
        for other in provided.past(each, scope, order is Order.RELEASE):
            its = other.statement
            ordered = its.scope is not None and its.scope.includes(scope)
            assert its.ordering is not None
            if not (order is Order.RELEASE and ordered and its.ordering.releases):
                pairs.add((each.number, other.number))
    return pairs


@pytest.mark.parametrize("name", [each for each in NAMES if each != ONLY_NVIDIA])
def test_orders_are_those_of_the_paths(name: str, tmp_path: Path) -> None:
    function = kernel(as_ptx(name, tmp_path))
    orders, provided = Orders(function), Provided(function)
    assert [each.number for each in provided.accesses] == [each.number for each in orders.points]
    found = 0
    for order, scope in product(ORDERS, (Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM)):
        expected = definition(provided, order, scope)
        for a, b in product(orders.points, repeat=2):
            is_open = orders.is_open(order, a, b, scope)
            assert is_open == ((a.number, b.number) in expected), (order, scope, str(a), str(b))
            found += is_open
    assert found


# The compiler run here


@needs_llc
def test_llvm_22_loses_the_order_of_additions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All else that is atomic has what the source asks: each operation, ordering and scope."""
    operations = [
        *(f"%o = load atomic i32, {F}@ {o}, align 4" for o in ("monotonic", "acquire", "seq_cst")),
        *(f"store atomic i32 7, {F}@ {o}, align 4" for o in ("monotonic", "release", "seq_cst")),
        *(f"%o = atomicrmw {kind} {F}, i32 1@ {o}, align 4"
          for kind in ("add", "nand") for o in ("monotonic", "acquire", "release", "acq_rel")),
        *(f"%o = cmpxchg {F}, {width} 0, {width} 1@ {o} monotonic, align 4"
          for width in ("i8", "i32") for o in ("monotonic", "acq_rel", "seq_cst")),
        *(f"fence@ {o}" for o in ("acquire", "release", "acq_rel", "seq_cst")),
    ]  # fmt: skip
    scopes = ("", *(f' syncscope("{each}")' for each in ("device", "cluster", "block")))
    asked = [each.replace("@", scope) for each in operations for scope in scopes]
    text = ['target triple = "nvptx64-nvidia-cuda"']
    for n, operation in enumerate(asked):
        text += [
            f"define ptx_kernel void @k{n}({D}, {F}, ptr addrspace(1) %g) {{",
            f"  store i32 1, {D}",
            "  %a = load atomic i32, ptr addrspace(1) %g monotonic, align 4",
            f"  {operation}",
            "  store atomic i32 9, ptr addrspace(1) %g monotonic, align 4",
            f"  %w = load i32, {D}\n  store i32 %w, ptr addrspace(1) %g\n  ret void\n}}",
        ]
    path = tmp_path / "k.ll"
    path.write_text("\n".join(text).replace("%d", "%data").replace("%f", "%flag"))
    assert fence_check.main(["--run", RUN, "--format", "json", str(path)]) == 1
    (report,) = json.loads(capsys.readouterr().out)["files"]
    assert report["source"]["compared"] == len(asked)
    bad = {asked[int(each["name"][1:])] for each in report["functions"] if each["errors"]}
    additions = [each for each in asked if "atomicrmw add" in each]
    # An addition without .sem and .scope is relaxed, and one of the GPU.
    right = {each for each in additions if "monotonic" in each and "syncscope" in each}
    assert bad == {*additions} - right


@needs_llc
def test_code_that_is_not_for_nvidia_is_not_compared_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.ll").write_text(source_of(STORE).replace("nvptx64-nvidia-cuda", "amdgcn"))
    (tmp_path / "k.ptx").write_text(ptx_of(ST))
    assert fence_check.main(["--source", f"{tmp_path}/k.ll", f"{tmp_path}/k.ptx"]) == 2
    err = capsys.readouterr().err
    assert err == f"{tmp_path}/k.ll: error: the source is not for PTX, its target triple says\n"


# Triton


@pytest.fixture(scope="module")
def triton_kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    triton = pytest.importorskip("triton", reason="needs triton 3.9 (make oracles)")
    if not triton.__version__.startswith("3.9."):
        pytest.skip("needs triton 3.9 (make oracles)")
    folder = tmp_path_factory.mktemp("triton")
    script = KERNELS.parents[1] / "tests/data/triton/atomic_kernels.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(folder / "cache"))
        from test_llvm_ir_nvptx import load_script

        kernels = load_script(script)
        for name, source in kernels.SOURCES.items():
            made = triton.compile(source, target=kernels.TARGETS["sm_90"])
            for kind in ("llir", "ptx"):
                (folder / f"{name}.{kind}").write_text(made.asm[kind])
    return folder


def test_tritons_kernels_have_what_their_source_asks(
    triton_kernels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted(triton_kernels.glob("*.ptx"))
    assert len(files) == 2
    for path in files:
        assert fence_check.main(["--source", str(path.with_suffix(".llir")), str(path)]) == 0
        assert "1 of 1 functions compared" in capsys.readouterr().out


WEAKER = {
    "acq_rel": "relaxed",
    "acquire": "relaxed",
    "release": "relaxed",
    "sys": "cta",
    "gpu": "cta",
}


def test_an_order_that_is_taken_from_them_is_found(
    triton_kernels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = 0
    for path in sorted(triton_kernels.glob("*.ptx")):
        text = path.read_text()
        words = "|".join(WEAKER)
        for each in re.finditer(
            rf"(?<=\.)({words})(?=[.\w]*\.b32 |[.\w]*\.u32 |[.\w]*\.s32 )", text
        ):
            mutant = tmp_path / path.name
            mutant.write_text(text[: each.start()] + WEAKER[each[0]] + text[each.end() :])
            source = str(path.with_suffix(".llir"))
            assert fence_check.main(["--source", source, str(mutant)]) == 1, each[0]
            taken += 1
    assert taken >= 6
    capsys.readouterr()


def test_folders_hold_ptx_against_its_llir(
    triton_kernels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    for each in triton_kernels.glob("*.*"):
        (folder / each.name).write_text(each.read_text())
    assert fence_check.main([str(folder)]) == 0
    assert "2 of 2 functions compared with their source" in capsys.readouterr().out


def test_random_functions_have_one_reading() -> None:
    """Random accesses and fences between branches: the dataflow is the definition."""
    random_ = random.Random(7)
    pieces = [
        "ld.relaxed.gpu.global.b32 r1, [d1];", "st.relaxed.sys.global.b32 [d1], r1;",
        "ld.acquire.cluster.global.b32 r1, [d1];", "st.release.gpu.global.b32 [d1], r1;",
        "atom.acq_rel.gpu.global.add.u32 r1, [d1], 1;", "ld.global.b32 r1, [d2];",
        "st.global.b32 [d2], r1;", "fence.acq_rel.gpu;", "fence.acq_rel.cluster;", "fence.sc.sys;",
        "fence.acquire.gpu;", "fence.release.sys;",
    ]  # fmt: skip
    seen = 0
    for _ in range(60):
        body: list[str] = []
        for n in range(4):
            body += [f"L{n}:", *random_.choices(pieces, k=random_.randrange(1, 4))]
            body.append(f"@p1 bra L{random_.randrange(5)};")
        function = kernel(ptx_of(*(f"1: {each}" for each in [*body, "L4:", pieces[0]])))
        orders, provided = Orders(function), Provided(function)
        for order, scope in product(ORDERS, PTX.scopes[1:]):
            expected = definition(provided, order, scope)
            pairs = {
                (a.number, b.number)
                for a, b in product(orders.points, repeat=2)
                if orders.is_open(order, a, b, scope)
            }
            assert pairs == expected
            seen += len(pairs)
    assert seen > 1000
