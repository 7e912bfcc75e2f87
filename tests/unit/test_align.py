"""Which operation of the source each instruction comes from, and when that is not certain."""

import pytest

from fencewright.checker.amd.comparison.accesses import accesses_of
from fencewright.checker.amd.comparison.against_source import AmdComparer
from fencewright.checker.source.align import Alignment, align
from fencewright.checker.source.text import read_source
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.code.source_location import SourceLocation

TAIL = """
!1 = !DIFile(filename: "k.py", directory: "/")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 1)
"""
HEAD = 4
"""The line of the assembly's first instruction."""

DATA, FLAG = "ptr addrspace(1) %d", "ptr addrspace(1) %f"


def aligned(
    source: list[tuple[int, str]],
    code: list[tuple[int, str]],
    attributes: str = "",
    elsewhere: tuple[int, ...] = (),
) -> Alignment:
    """Both sides as (line, text); line 0: without a place. Labels stand alone."""
    body = [
        f"{text}, !dbg !DILocation(line: {line}, column: 1, scope: !2)" if line else text
        for line, text in source
    ]
    text = "\n".join((f"define void @k() {attributes} {{", *body, "ret void", "}", TAIL))
    lines = ['\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"', "\t.type k,@function", "k:"]
    for line, instruction in code:
        lines.append(f"{f'.loc 1 {line} 1' if line else ''}")
        lines.append(instruction)
    assembly = read_assembly("\n".join((*lines, "s_endpgm")), "k.s")
    places = [SourceLocation("k.py", line, 1) for line in elsewhere]
    flow = flow_of(assembly.functions["k"])
    accesses, graph = list(accesses_of(flow)), graph_of(flow.blocks)
    asked = read_source(text).functions["k"]
    return align(asked, accesses, graph, {1: "dir/k.py"}, places, AmdComparer.WIDTH)


def found(alignment: Alignment) -> dict[int, tuple[int, ...]]:
    """By the position of an instruction."""
    return {(line - HEAD - 1) // 2: numbers for line, numbers in alignment.candidates.items()}


STORE, LOAD = "global_store_dword v0, v1, s[0:1]", "global_load_dword v2, v0, s[0:1]"
SET = f"store i32 1, {DATA}"
GET = f"%v = load i32, {DATA}"
RAISE = f'store atomic i32 1, {FLAG} syncscope("agent") monotonic, align 4'
ADD = f'%o = atomicrmw add {FLAG}, i32 1 syncscope("agent") monotonic, align 4'


def test_by_line() -> None:
    alignment = aligned(
        [(1, SET), (2, GET), (3, 'fence syncscope("agent") release'), (4, RAISE)],
        [(2, LOAD), (1, STORE), (3, "buffer_wbl2 sc1"), (4, STORE)],
    )
    assert not alignment.problem
    assert found(alignment) == {0: (1,), 1: (0,), 3: (3,)}


IN_CLAUSE = [(1, "s_clause 0x1"), (1, STORE), (0, LOAD), (3, STORE)]
"""LLVM says where the first of a clause comes from, and of the others nothing."""


def test_what_a_clause_holds_is_the_one_operation_that_is_left_there() -> None:
    read = f'%v = load atomic i32, {FLAG} syncscope("agent") seq_cst, align 4'
    alignment = aligned([(1, SET), (2, read), (3, SET)], IN_CLAUSE)
    assert not alignment.problem
    assert found(alignment) == {1: (0,), 2: (1,), 3: (2,)}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param([(1, SET), (3, SET), (4, "READ")], id="after its neighbour"),
        pytest.param([(1, SET), (2, "READ"), (2, GET), (3, SET)], id="two are left"),
        pytest.param([(1, SET), (2, RAISE), (3, SET)], id="it does something else"),
    ],
)
def test_what_a_clause_holds_is_not_guessed(source: list[tuple[int, str]]) -> None:
    read = f'%a = load atomic i32, {FLAG} syncscope("agent") seq_cst, align 4'
    alignment = aligned([(line, text.replace("READ", read)) for line, text in source], IN_CLAUSE)
    assert "is not found in the code" in alignment.problem


def test_what_is_done_must_fit() -> None:
    # What has the line of a store but loads, as of an argument or a spilled register.
    alignment = aligned(
        [(1, SET)], [(1, LOAD), (1, "scratch_store_dword off, v1, s32"), (1, STORE), (7, LOAD)]
    )
    assert found(alignment) == {2: (0,)}
    lds = aligned(
        [(1, "store i32 1, ptr addrspace(3) %l")], [(1, "ds_write_b32 v0, v1"), (1, STORE)]
    )
    assert found(lds) == {0: (0,)}
    generic = aligned([(1, "store i32 1, ptr %p")], [(1, "ds_write_b32 v0, v1"), (1, STORE)])
    assert found(generic) == {0: (0,), 1: (0,)}


def test_arguments_are_no_data() -> None:
    kernel = [(1, "s_load_dwordx2 s[0:1], s[4:5], 0x0"), (1, LOAD)]
    assert found(aligned([(1, GET)], kernel)) == {1: (0,)}
    # A uniform load of data goes through the scalar cache.
    uniform = [*kernel[:1], (2, "s_load_dword s2, s[0:1], 0x0")]
    assert found(aligned([(1, SET), (2, GET)], [*uniform, (1, STORE)])) == {1: (1,), 2: (0,)}
    table = [
        (1, "s_getpc_b64 s[0:1]"),
        (1, "s_add_u32 s0, s0, data@gotpcrel32@lo+4"),
        (1, "s_addc_u32 s1, s1, data@gotpcrel32@hi+12"),
        (1, "s_load_dwordx2 s[0:1], s[0:1], 0x0"),
        (1, "s_load_dword s2, s[0:1], 0x0"),
    ]
    assert found(aligned([(1, GET)], table)) == {4: (0,)}


def test_a_loop_of_a_compare_exchange_is_one_atomic() -> None:
    alignment = aligned(
        [(1, ADD)], [(1, LOAD), (1, "global_atomic_cmpswap v0, v1, v[2:3], s[0:1] sc0")]
    )
    assert found(alignment) == {0: (0,), 1: (0,)}
    assert alignment.problem == ""


def test_several_on_one_line() -> None:
    add = "global_atomic_add v0, v1, s[0:1]"
    # As many on both sides: in their order.
    assert found(aligned([(1, ADD), (1, ADD)], [(1, add), (1, add)])) == {0: (0,), 1: (1,)}
    # Plain ones may be any of those.
    assert found(aligned([(1, SET), (1, SET)], [(1, STORE)])) == {0: (0, 1)}
    assert "cannot be told apart" in aligned([(1, ADD), (1, ADD)], [(1, add)]).problem
    # One operation, copied by the compiler.
    assert found(aligned([(1, ADD)], [(1, add), (1, add)])) == {0: (0,), 1: (0,)}


def test_what_orders_others_is_never_guessed() -> None:
    add = "global_atomic_add v0, v1, s[0:1]"
    assert aligned([(1, SET), (2, ADD)], [(1, STORE)]).problem == (
        "the relaxed agent atomicrmw of source line 3 is not found in the code"
    )
    assert "comes from no operation" in aligned([(1, SET)], [(1, STORE), (1, add)]).problem
    assert "comes from no operation" in aligned([(1, SET)], [(1, STORE), (3, "s_barrier")]).problem
    inlined = aligned([(1, SET)], [(1, STORE), (5, LOAD)], elsewhere=(5,))
    assert "inlined here" in inlined.problem
    unreachable = [
        (1, SET),
        (0, "br label %e"),
        (0, "dead:"),
        (2, ADD),
        (0, "br label %e"),
        (0, "e:"),
    ]
    assert aligned(unreachable, [(1, STORE)]).problem == ""


def test_a_barrier_of_one_wave_may_go() -> None:
    source = [(1, SET), (2, "call void @llvm.amdgcn.s.barrier()")]
    assert "barrier of source line 3" in aligned(source, [(1, STORE)]).problem
    one_wave = '"amdgpu-flat-work-group-size"="64,64"'
    assert aligned(source, [(1, STORE)], one_wave).problem == ""


def test_by_order() -> None:
    source = [(0, SET), (0, GET), (0, RAISE), (0, GET)]
    alignment = aligned(source, [(0, STORE), (0, LOAD), (0, STORE), (0, LOAD)])
    assert not alignment.problem
    assert found(alignment) == {0: (0,), 1: (1,), 2: (2,), 3: (3,)}
    # Between two atomics, plain accesses of a kind are not told apart.
    plain = aligned([(0, SET), (0, SET), (0, RAISE)], [(0, STORE), (0, STORE), (0, STORE)])
    assert found(plain) == {0: (0, 1), 1: (0, 1), 2: (2,)}


def test_by_order_of_a_block_that_the_compiler_divided() -> None:
    """One lane adds for all of them; arguments are loaded where they are used."""
    add = "global_atomic_add v0, v1, s[0:1]"
    one_lane = [
        (0, STORE), (0, "s_and_saveexec_b64 s[8:9], vcc"), (0, "s_cbranch_execz .LBB0_2"),
        (0, add), (0, ".LBB0_2:"), (0, "s_load_dword s4, s[4:5], 0x18"),
    ]  # fmt: skip
    source = [(0, SET), (0, ADD)]
    assert found(aligned(source, one_lane)) == {0: (0,), 3: (1,)}
    parts = [(0, SET), (0, "br i1 %c, label %a, label %b"), (0, "a:"), (0, ADD),
        (0, "br label %b"), (0, "b:")]  # fmt: skip
    assert found(aligned(parts, one_lane)) == {0: (0,), 3: (1,)}
    # One part of a block, and both, are blocks of the source.
    either = [*parts, (0, SET), (0, ADD)]
    assert "other accesses" in aligned(either, [*one_lane, (0, STORE), (0, add)]).problem
    # The second is reached past the first, too.
    past = [(0, "s_cbranch_scc1 .LBB0_1"), (0, STORE), (0, ".LBB0_1:"), (0, add)]
    assert "other accesses" in aligned(source, past).problem


def test_order_is_refused_where_it_is_not_certain() -> None:
    assert "other accesses" in aligned([(0, SET), (0, RAISE)], [(0, STORE)]).problem
    assert "other accesses" in aligned([(0, GET), (0, RAISE)], [(0, STORE), (0, LOAD)]).problem
    assert "generic" in aligned([(0, "store i32 1, ptr %p")], [(0, STORE)]).problem
    branch = [(0, "br i1 %c, label %a, label %b"), (0, "a:"), (0, RAISE), (0, "br label %b"),
        (0, "b:"), (0, RAISE)]  # fmt: skip
    code = [(0, "s_cbranch_scc1 .LBB0_2"), (0, STORE), (0, ".LBB0_2:"), (0, STORE)]
    assert "two blocks" in aligned(branch, code).problem
