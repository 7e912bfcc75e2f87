"""What code lacks of what its source asks: one right form for each order, broken in every way."""

from collections.abc import Sequence

import pytest

from fencewright.checker.amd.accesses import Mode
from fencewright.checker.amd.comparison.against_source import (
    AmdComparer,
    compare_assembly,
    with_lines,
)
from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.checker.source.compare import Comparison
from fencewright.checker.source.numbered import with_places
from fencewright.checker.source.obligations import obligations_of
from fencewright.checker.source.text import read_source
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.source_location import files_in
from fencewright.lowering.vocabulary import L2PerAgent, Scope

GFX942 = Mode("gfx942", L2PerAgent.MANY, tgsplit=False)
SPLIT = Mode("gfx942", L2PerAgent.MANY, tgsplit=True)
GFX90A = Mode("gfx90a", L2PerAgent.ONE, tgsplit=False)
GFX908 = Mode("gfx908", L2PerAgent.ONE, tgsplit=False)

DATA, FLAG, LDS = "ptr addrspace(1) %d", "ptr addrspace(1) %f", "ptr addrspace(3) %l"
AGENT = 'syncscope("agent")'
TAIL = """
!1 = !DIFile(filename: "k.py", directory: "/")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 1)
"""

Lines = Sequence[tuple[int, str]]


def ir(source: Lines, attributes: str = "") -> str:
    """LLVM IR of (line, text)."""
    body = [
        f"{text}, !dbg !DILocation(line: {line}, column: 1, scope: !2)" if line else text
        for line, text in source
    ]
    return "\n".join((f"define void @k() {attributes} {{", *body, "ret void", "}", TAIL))


def asm(code: Lines, chip: str = "gfx942") -> str:
    """Assembly of (line, text)."""
    lines = [f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"', "\t.type k,@function", "k:"]
    lines.append('.file 1 "/" "k.py"')
    for line, instruction in code:
        lines += [f".loc 1 {line} 1", instruction] if line else [instruction]
    return "\n".join((*lines, "s_endpgm\n"))


def check(
    source: Lines, code: Lines, mode: Mode = GFX942, attributes: str = ""
) -> Comparison[AmdComparer]:
    assembly = read_assembly(asm(code, mode.target), "k.s")
    flow = flow_of(assembly.functions["k"])
    asked = read_source(ir(source, attributes)).functions["k"]
    return AmdComparer(asked, flow, mode).compare({1: "k.py"})


def only(comparison: Comparison[AmdComparer]) -> tuple[Finding, Scope]:
    """The one finding, and the scope at which its pair is required."""
    assert comparison.comparer is not None
    ((finding, pair),) = comparison.comparer.pairs.items()
    assert comparison.findings == (finding,)
    return finding, pair.scope


def rules(comparison: Comparison[AmdComparer]) -> list[str]:
    return [each.rule.value for each in comparison.findings]


STORE = (1, "global_store_dword v0, v1, s[0:1]")
BACK, WAIT, INV = (3, "buffer_wbl2 sc1"), (3, "s_waitcnt vmcnt(0)"), (3, "buffer_inv sc1")
RAISE = (4, "global_store_dword v0, v1, s[2:3] sc1")
PRODUCER: Lines = (
    (1, f"store i32 1, {DATA}"),
    (3, f"fence {AGENT} release"),
    (4, f"store atomic i32 1, {FLAG} {AGENT} monotonic, align 4"),
)
PRODUCES: Lines = (STORE, BACK, WAIT, RAISE)

SEE = (1, "global_load_dword v2, v0, s[2:3] sc1")
READ = (4, "global_load_dword v3, v0, s[0:1]")
CONSUMER: Lines = (
    (1, f"%f1 = load atomic i32, {FLAG} {AGENT} monotonic, align 4"),
    (3, f"fence {AGENT} acquire"),
    (4, f"%v = load i32, {DATA}"),
)
CONSUMES: Lines = (SEE, WAIT, INV, READ)

DEKKER: Lines = (
    (1, f"store atomic i32 1, {DATA} {AGENT} seq_cst, align 4"),
    (4, f"%v = load atomic i32, {FLAG} {AGENT} seq_cst, align 4"),
)
MEETS: Lines = ((1, "global_store_dword v0, v1, s[0:1] sc1"), WAIT,
    (4, "global_load_dword v2, v0, s[2:3] sc1"))  # fmt: skip

BARRIER: Lines = (
    (1, f"store i32 1, {LDS}"),
    (3, 'fence syncscope("workgroup") release'),
    (4, "call void @llvm.amdgcn.s.barrier()"),
    (5, 'fence syncscope("workgroup") acquire'),
    (6, f"%v = load i32, {LDS}"),
)
MEET: Lines = ((1, "ds_write_b32 v0, v1"), (3, "s_waitcnt lgkmcnt(0)"), (4, "s_barrier"),
    (6, "ds_read_b32 v2, v0"))  # fmt: skip


@pytest.mark.parametrize(
    ("source", "code"),
    [(PRODUCER, PRODUCES), (CONSUMER, CONSUMES), (DEKKER, MEETS), (BARRIER, MEET)],
)
def test_right_forms_lack_nothing(source: Lines, code: Lines) -> None:
    comparison = check(source, code)
    assert comparison.findings == ()
    assert comparison.was_compared


@pytest.mark.parametrize(
    ("source", "code", "removed", "rule"),
    [
        (PRODUCER, PRODUCES, 1, "release"),
        (PRODUCER, PRODUCES, 2, "release"),
        (CONSUMER, CONSUMES, 1, "acquire"),
        (CONSUMER, CONSUMES, 2, "acquire"),
        (DEKKER, MEETS, 1, "seq-cst"),
        (BARRIER, MEET, 1, "release"),
    ],
)
def test_every_synchronising_instruction_is_needed(
    source: Lines, code: Lines, removed: int, rule: str
) -> None:
    broken = [each for position, each in enumerate(code) if position != removed]
    assert rules(check(source, broken)) == [rule]


@pytest.mark.parametrize(
    ("source", "code", "expected"),
    [
        (PRODUCER, PRODUCES, ["coherence"]),
        (CONSUMER, CONSUMES, ["coherence"]),
        (DEKKER, MEETS, ["coherence", "coherence", "seq-cst"]),
    ],
)
def test_scope_bits_are_needed(source: Lines, code: Lines, expected: list[str]) -> None:
    without = [
        (line, text.removesuffix(" sc1") if text.startswith("global") else text)
        for line, text in code
    ]
    assert sorted(rules(check(source, without))) == expected


def test_a_message_names_both_sides_and_what_is_missing() -> None:
    (found,) = check(PRODUCER, (STORE, WAIT, BACK, RAISE)).findings
    assert (found.rule, found.line, found.source_line) == (Rule.RELEASE, 12, 4)
    assert found.message == (
        "the store of source line 2 (code line 6: global_store_dword v0, v1, s[0:1]) may not be "
        "complete at agent when the relaxed agent store of source line 4 (code line 12: "
        "global_store_dword v0, v1, s[2:3] sc1) issues: s_waitcnt vmcnt(0) after the write-back of "
        "line 10 is missing, which the release agent fence of source line 3 requires"
    )
    (dirty,) = check(PRODUCER, (STORE, WAIT, RAISE)).findings
    assert ": buffer_wbl2 sc1 and s_waitcnt vmcnt(0) are missing" in dirty.message
    (old,) = check(CONSUMER, (SEE, WAIT, READ)).findings
    assert ": buffer_inv sc1 is missing between them" in old.message
    (early,) = check(CONSUMER, (SEE, INV, WAIT, READ)).findings
    assert ": buffer_inv sc1 is missing between them" in early.message


def test_a_scalar_load_is_stale_whatever_is_invalidated() -> None:
    code = [
        (0, "s_load_dwordx4 s[0:3], s[4:5], 0x0"),
        *CONSUMES[:-1],
        (4, "s_load_dword s6, s[0:1], 0x0"),
    ]
    (found,) = check(CONSUMER, code).findings
    assert found.rule is Rule.SCALAR_STALE
    assert "the scalar cache is not invalidated" in found.message
    # Of a global that is addressed beside the code, too.
    beside = [
        *CONSUMES[:-1],
        (4, "s_getpc_b64 s[0:1]"),
        (4, "s_add_u32 s0, s0, data@rel32@lo+4"),
        (4, "s_addc_u32 s1, s1, data@rel32@hi+12"),
        (4, "s_load_dword s6, s[0:1], 0x0"),
    ]
    assert rules(check(CONSUMER, beside)) == ["scalar-stale"]
    assert rules(check(CONSUMER, [*beside[:-1], (4, "s_dcache_inv"), (4, "s_waitcnt lgkmcnt(0)"),
        beside[-1]])) == []  # fmt: skip


def test_what_the_source_does_not_order_is_no_finding() -> None:
    weak = [each for each in PRODUCER if not each[1].startswith("fence")]
    assert rules(check(weak, (STORE, RAISE))) == []
    # Paths of the code that the source does not have: both branches meet in a block of the code.
    source: Lines = (
        (0, "br i1 %c, label %a, label %b"),
        (0, "a:"),
        (1, f"store i32 1, {DATA}"),
        (0, "ret void"),
        (0, "b:"),
        (3, f"fence {AGENT} release"),
        (4, f"store atomic i32 1, {FLAG} {AGENT} monotonic, align 4"),
    )
    flow = [
        (0, "s_cbranch_scc1 .L1"),
        STORE,
        (0, ".L1:"),
        (0, "s_cbranch_scc0 .L2"),
        RAISE,
        (0, ".L2:"),
    ]
    assert rules(check(source, flow)) == []
    straight = [*source[2:3], *source[5:]]
    assert rules(check(straight, flow)) == ["release"]


def test_a_path_that_contradicts_itself_is_none() -> None:
    """As StructurizeCFG joins two branches: one of the write-backs is executed, whichever."""
    arms = (
        STORE,
        (2, "s_mov_b64 s[4:5], -1"),
        (2, "s_cbranch_scc1 .L1"),
        BACK,
        WAIT,
        (2, "s_mov_b64 s[4:5], 0"),
        (0, ".L1:"),
        (2, "s_andn2_b64 vcc, exec, s[4:5]"),
        (2, "s_cbranch_vccnz .L2"),
        BACK,
        WAIT,
        (0, ".L2:"),
        RAISE,
    )
    assert rules(check(PRODUCER, arms)) == []
    for position in (3, 4, 9, 10):
        broken = [each for place, each in enumerate(arms) if place != position]
        assert rules(check(PRODUCER, broken)) == ["release"], position
    unknown = [each for each in arms if each[1] != "s_mov_b64 s[4:5], -1"]
    assert rules(check(PRODUCER, unknown)) == ["release"]


def test_an_acquire_asks_for_what_is_read_not_for_what_is_written() -> None:
    source: Lines = (
        (1, f"%o = atomicrmw add {FLAG}, i32 1 acquire, align 4"),
        (4, f"store i32 1, {DATA}"),
    )
    code: Lines = (
        (1, "global_atomic_add v2, v0, v1, s[2:3] glc"),
        (1, "s_waitcnt vmcnt(0)"),
        (1, "buffer_invl2"),
        (1, "buffer_wbinvl1_vol"),
        (4, "global_store_dword v0, v1, s[0:1]"),
    )
    assert rules(check(source, code, GFX90A)) == []
    assert rules(check(source, [code[0], *code[2:]], GFX90A)) == ["acquire"]


def test_scopes_and_modes() -> None:
    wide = [(line, text.replace(AGENT, "")) for line, text in PRODUCER]
    system = [STORE, (3, "buffer_wbl2 sc0 sc1"), WAIT, (4, f"{RAISE[1]}".replace("sc1", "sc0 sc1"))]
    assert rules(check(wide, system)) == []
    assert sorted(rules(check(wide, PRODUCES))) == ["coherence", "release"]
    group = [(line, text.replace("agent", "workgroup")) for line, text in CONSUMER]
    assert rules(check(group, (SEE, WAIT, READ))) == []
    assert rules(check(group, (SEE, WAIT, READ), SPLIT)) == ["acquire"]
    # What a chip has no instruction for cannot be asked of its code.
    old = [STORE, WAIT, (4, "global_store_dword v0, v1, s[2:3]")]
    assert rules(check(wide, old, GFX908)) == []
    assert rules(check(wide, [old[0], old[2]], GFX908)) == ["release"]
    assert rules(check(wide, old, GFX90A)) == ["release"]


def test_an_access_is_not_accused_by_its_own_operation() -> None:
    source: Lines = (
        (1, f"%o = atomicrmw fmax {DATA}, float 1.0 {AGENT} acq_rel, align 4"),
        (2, f"%v = load i32, {FLAG}"),
    )
    loop: Lines = (
        (1, "global_load_dword v2, v0, s[0:1]"),
        (1, "s_waitcnt vmcnt(0)"),
        (0, ".L1:"),
        (1, "buffer_wbl2 sc1"),
        (1, "s_waitcnt vmcnt(0)"),
        (1, "global_atomic_cmpswap v2, v0, v[2:3], s[0:1] sc0"),
        (1, "s_waitcnt vmcnt(0)"),
        (1, "buffer_inv sc1"),
        (1, "s_cbranch_vccnz .L1"),
        (2, "global_load_dword v3, v0, s[2:3]"),
    )
    assert rules(check(source, loop)) == []


@pytest.mark.parametrize(
    ("source", "code", "attributes", "said"),
    [
        (PRODUCER, (STORE, BACK, WAIT), "", "is not found in the code"),
        (
            PRODUCER,
            PRODUCES,
            '"target-cpu"="gfx803"',
            "its source is for gfx803, the code for gfx942",
        ),
        (PRODUCER, (*PRODUCES, (4, "x_frobnicate v0")), "", "'x_frobnicate' is not known"),
        ([*PRODUCER, (5, 'fence syncscope("galaxy") release')], PRODUCES, "", "galaxy"),
    ],
)
def test_what_cannot_be_judged_is_said(
    source: Lines, code: Lines, attributes: str, said: str
) -> None:
    comparison = check(source, code, attributes=attributes)
    assert not comparison.was_compared
    (found,) = comparison.findings
    assert found.rule is Rule.NOT_COMPARED
    assert said in found.message


def test_functions_of_one_side_alone() -> None:
    source, code = read_source(ir(PRODUCER)), read_assembly(asm(PRODUCES), "k.s")
    (right,) = compare_assembly(source, code, files_in(asm(PRODUCES)), {})
    assert right.was_compared
    other = read_source(ir(PRODUCER).replace("@k(", "@other("))
    said = [each.findings[0].message for each in compare_assembly(other, code, {}, {})]
    assert said == [
        "k is not compared with its source: it is not in the source",
        "other is not compared with its source: it is not in the code",
    ]


def test_lines_come_from_a_numbered_copy() -> None:
    plain = asm([(0, text) for _, text in PRODUCES])
    lined, problems = with_lines(read_assembly(plain, "k.s"), read_assembly(asm(PRODUCES), "n.s"))
    assert problems == {}
    assert [each.source.line for each in lined.functions["k"].instructions if each.source] == [
        1, 3, 3, 4, 4]  # fmt: skip
    other = asm((STORE, WAIT, RAISE))
    _, problems = with_lines(read_assembly(plain, "k.s"), read_assembly(other, "n.s"))
    assert "other code" in problems["k"]
    user = read_source("; first\n" + ir([(0, text) for _, text in PRODUCER]))
    both = with_places(user, read_source(ir(PRODUCER))).functions["k"].operations
    assert [(each.line, each.place and each.place.line) for each in both] == [
        (3, 1),
        (4, 3),
        (5, 4),
    ]
    # Where opt has changed what it was given, the lines of the file say nothing.
    other_source = with_places(user, read_source(ir(PRODUCER[1:])))
    assert [each.line for each in other_source.functions["k"].operations] == [0, 0]


def test_a_numbered_copy_keeps_the_paths_of_a_compare_exchange() -> None:
    """What holds only where it has succeeded is required with lines as without."""
    text = f"""define void @k() {{
%x = cmpxchg {FLAG}, i32 0, i32 1 {AGENT} acquire monotonic, align 4
%s = extractvalue {{ i32, i1 }} %x, 1
br i1 %s, label %yes, label %no
yes:
%v = load i32, {DATA}
ret void
no:
ret void
}}"""
    asked = read_source(text)
    (copy,) = with_places(asked, asked).functions.values()
    assert [each.exchanged for each in copy.blocks] == [((1, 0),), (), ()]
    assert obligations_of(copy).required == obligations_of(asked.functions["k"]).required != {}


COUNT = f"%a = atomicrmw add {FLAG}, i32 1 {AGENT} acquire, align 4"


@pytest.mark.parametrize(
    ("later", "code", "returns", "expected"),
    [
        (f"store atomic i32 1, {DATA} {AGENT} monotonic, align 4", "global_store_dword v0, v1, s[0:1] sc1", "", ["acquire"]),
        (f"store i32 1, {DATA}", "global_store_dword v0, v1, s[0:1]", "", []),
        (f"store i32 1, {DATA}", "global_store_dword v0, v1, s[0:1]", " sc0", ["acquire"]),
    ],
)  # fmt: skip
def test_what_an_atomic_saw_is_told_by_its_result_or_by_atomics_alone(
    later: str, code: str, returns: str, expected: list[str]
) -> None:
    count = f"global_atomic_add {'v5, ' if returns else ''}v0, v2, s[2:3]{returns}"
    found = check([(1, COUNT), (4, later)], [(1, count), (1, "buffer_inv sc1"), (4, code)])
    assert rules(found) == expected


NEW_STORE = (1, "global_store_b32 v0, v1, s[0:1]")
NEW_RELEASE = [
    NEW_STORE,
    (3, "s_wait_storecnt 0x0"),
    (3, "global_wb scope:SCOPE_DEV"),
    (3, "s_wait_storecnt 0x0"),
    (4, "global_store_b32 v0, v2, s[2:3] scope:SCOPE_DEV"),
]
NEW_ACQUIRE = [
    (1, "global_load_b32 v2, v0, s[2:3] scope:SCOPE_DEV"),
    (3, "s_wait_loadcnt 0x0"),
    (3, "global_inv scope:SCOPE_DEV"),
    (3, "s_wait_loadcnt 0x0"),
    (4, "global_load_b32 v3, v0, s[0:1]"),
]
NEW_BARRIER = [
    (1, "ds_store_b32 v0, v1"),
    (2, "global_load_async_to_lds_b32 v4, v5, s[0:1]"),
    (3, "s_wait_dscnt 0x0"),
    (3, "s_wait_asynccnt 0x0"),
    (4, "s_barrier_signal -1"),
    (4, "s_barrier_wait -1"),
    (6, "ds_load_b32 v2, v3"),
]
RELEASES = [
    (1, f"store i32 1, {DATA}"),
    (4, f"store atomic i32 1, {FLAG} {AGENT} release, align 4"),
]
ACQUIRES = [
    (1, f"%a = load atomic i32, {FLAG} {AGENT} acquire, align 4"),
    (4, f"%b = load i32, {DATA}"),
]
BARRIERS = [
    (1, f"store i32 1, {LDS}"),
    (2, f"call void @llvm.amdgcn.global.load.async.to.lds.b32({DATA}, {LDS}, i32 0, i32 0)"),
    (3, 'fence syncscope("workgroup") release'),
    (4, "call void @llvm.amdgcn.s.barrier()"),
    (5, 'fence syncscope("workgroup") acquire'),
    (6, f"%c = load i32, {LDS}"),
]
GFX1250 = Mode("gfx1250", L2PerAgent.MANY, tgsplit=False)


@pytest.mark.parametrize(
    ("source", "code", "needed"),
    [(RELEASES, NEW_RELEASE, 3), (ACQUIRES, NEW_ACQUIRE, 3), (BARRIERS, NEW_BARRIER, 2)],
)
def test_every_instruction_of_gfx1250_is_needed(source: Lines, code: Lines, needed: int) -> None:
    assert rules(check(source, code, GFX1250)) == []
    missed = 0
    for place, (_, text) in enumerate(code):
        if text.startswith(("s_wait_", "global_wb", "global_inv")):
            less = [*code[:place], *code[place + 1 :]]
            assert rules(check(source, less, GFX1250)), text
            missed += 1
    assert missed == needed


def test_scopes_of_gfx1250_are_needed() -> None:
    for code, source, rule in (
        (NEW_RELEASE, RELEASES, "coherence"),
        (NEW_ACQUIRE, ACQUIRES, "coherence"),
    ):
        less = [
            (line, text.removesuffix(" scope:SCOPE_DEV") if "_b32" in text else text)
            for line, text in code
        ]
        assert rule in rules(check(source, less, GFX1250))


def in_cluster(lines: Lines) -> Lines:
    """The same at the scope of a cluster."""
    texts = (
        text.replace('"agent"', '"cluster"').replace("SCOPE_DEV", "SCOPE_SE") for _, text in lines
    )
    return [(line, text) for (line, _), text in zip(lines, texts, strict=True)]


IN_CLUSTER = (in_cluster(RELEASES), in_cluster(NEW_RELEASE))
SEEN_IN_CLUSTER = (in_cluster(ACQUIRES), in_cluster(NEW_ACQUIRE[:3] + NEW_ACQUIRE[4:]))
BARRIER_OF_CLUSTER = [
    (1, f"store i32 1, {DATA}"),
    (3, 'fence syncscope("cluster") release'),
    (4, "call void @llvm.amdgcn.s.cluster.barrier()"),
    (5, 'fence syncscope("cluster") acquire'),
    (6, f"%c = load i32, {FLAG}"),
]
MEET_IN_CLUSTER = [
    NEW_STORE,
    (3, "s_wait_storecnt 0x0"),
    (3, "global_wb scope:SCOPE_SE"),
    (3, "s_wait_storecnt 0x0"),
    (4, "s_barrier_signal_isfirst -1"),
    (4, "s_barrier_wait -1"),
    (4, "s_cbranch_scc0 .LBB0_2"),
    (4, "s_barrier_signal -3"),
    (0, ".LBB0_2:"),
    (4, "s_barrier_wait -3"),
    (5, "global_inv scope:SCOPE_SE"),
    (6, "global_load_b32 v3, v0, s[2:3]"),
]
MET_IN_CLUSTER = (BARRIER_OF_CLUSTER, MEET_IN_CLUSTER)


def without(code: Lines, *places: int) -> Lines:
    return [each for place, each in enumerate(code) if place not in places]


@pytest.mark.parametrize(
    ("form", "less"),
    [
        (IN_CLUSTER, (1, 2, 3)),
        (MET_IN_CLUSTER, (1, 2, 3)),
        (MET_IN_CLUSTER, (10,)),
        (SEEN_IN_CLUSTER, (1,)),
        (SEEN_IN_CLUSTER, (2,)),
    ],
)
def test_what_a_cluster_is_owed(form: tuple[Lines, Lines], less: Sequence[int]) -> None:
    source, code = form
    assert check(source, code, GFX1250).findings == ()
    found, scope = only(check(source, without(code, *less), GFX1250))
    assert (scope, found.lesser) == (Scope.CLUSTER, None)


@pytest.mark.parametrize("source", [IN_CLUSTER, MET_IN_CLUSTER])
def test_what_the_documents_leave_open_is_a_note(source: tuple[Lines, Lines]) -> None:
    """LLVM 24 has no write-back to the cluster, which only one reading of the manual asks for."""
    asked, code = source
    for less, lacks in (
        ((2, 3), "global_wb scope:SCOPE_SE and s_wait_storecnt 0x0 are"),
        ((3,), "s_wait_storecnt 0x0 after the write-back"),
        ((1,), "s_wait_storecnt 0x0 before the write-back"),
    ):
        found, scope = only(check(asked, without(code, *less), GFX1250))
        assert (found.rule, found.lesser, scope) == (Rule.RELEASE, Level.NOTE, Scope.CLUSTER)
        assert lacks in found.message
        assert "should a cache of the work-group report stores done" in found.message
    # What lacks the wait as well is wrong whatever is open.
    (found,) = check(asked, without(code, 1, 2, 3), GFX1250).findings
    assert found.lesser is None
    assert "s_wait_storecnt 0x0 is missing" in found.message
    # Elsewhere stores are written back for an error, and on other chips a cluster's scope is the agent's.
    wider = [(line, text.replace('"cluster"', '"agent"')) for line, text in IN_CLUSTER[0]]
    assert "release" in rules(check(wider, IN_CLUSTER[1], GFX1250))
    assert rules(check(IN_CLUSTER[0], (STORE, WAIT, RAISE))) == ["release"]


def test_one_note_of_a_function_is_enough() -> None:
    source, code = IN_CLUSTER
    twice = [*source, (7, source[0][1]), (8, source[1][1])]
    short = without(code, 2, 3)
    again = [(7 if line < 4 else 8, text) for line, text in short]
    assert rules(check(twice, [*short, *again], GFX1250)) == ["release"]


@pytest.mark.parametrize("source", [IN_CLUSTER, SEEN_IN_CLUSTER])
def test_an_atomic_of_a_cluster_says_so(source: tuple[Lines, Lines]) -> None:
    asked, code = source
    for scope in ("", " scope:SCOPE_DEV"):
        other = [
            (line, text.removesuffix(" scope:SCOPE_SE") + scope if "_b32" in text else text)
            for line, text in code
        ]
        assert ("coherence" in rules(check(asked, other, GFX1250))) is (scope == "")


def test_a_wave_that_is_its_work_group_meets_a_cluster_too() -> None:
    alone = without(MEET_IN_CLUSTER, 4, 5, 6, 8)
    size = '"amdgpu-flat-work-group-size"="1,32"'
    assert check(BARRIER_OF_CLUSTER, alone, GFX1250, size).findings == ()
    missing = without(alone, 1, 2, 3)
    assert rules(check(BARRIER_OF_CLUSTER, missing, GFX1250, size)) == ["release"]
    # It has to be there, unlike the barrier of a work-group of one wave.
    gone = [each for each in alone if "barrier" not in each[1]]
    assert rules(check(BARRIER_OF_CLUSTER, gone, GFX1250, size)) == ["barrier-lost"]


def test_a_barrier_that_the_code_does_not_have() -> None:
    store = (1, f"store i32 1, {LDS}")
    barrier = (2, "call void @llvm.amdgcn.s.barrier()")
    load = (3, f"%v = load i32, {LDS}")
    code = [(1, "ds_write_b32 v0, v1"), (3, "ds_read_b32 v2, v0")]
    assert rules(check((store, barrier, load), code)) == ["barrier-lost"]
    whole = [code[0], (2, "s_waitcnt lgkmcnt(0)"), (2, "s_barrier"), code[1]]
    assert rules(check((store, barrier, load), whole)) == []


def test_a_barrier_that_need_not_be_in_the_code() -> None:
    """Of one wave, and on a path that the compiler may have found that nobody takes."""
    barrier = (2, "call void @llvm.amdgcn.s.barrier()")
    code = [(1, "ds_write_b32 v0, v1"), (3, "ds_read_b32 v2, v0")]
    source = ((1, f"store i32 1, {LDS}"), barrier, (3, f"%v = load i32, {LDS}"))
    one = '"amdgpu-flat-work-group-size"="1,64"'
    assert rules(check(source, code, attributes=one)) == []
    some = (
        (1, f"store i32 1, {LDS}"), (0, "br i1 %c, label %a, label %b"), (0, "a:"), barrier,
        (0, "br label %b"), (0, "b:"), (3, f"%v = load i32, {LDS}"),
    )  # fmt: skip
    assert rules(check(some, code)) == ["not-compared"]


def test_fences_order_atomics_of_buffers() -> None:
    """As Triton has them: an intrinsic that the memory model of LLVM IR does not call an atomic."""
    add = "call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.add.i32(i32 1, ptr addrspace(8) %r, i32 0, i32 0, i32 0)"
    source = (
        (1, f"store i32 1, {DATA}"), (3, f"fence {AGENT} release"), (2, f"%o = {add}"),
        (4, f"fence {AGENT} acquire"), (5, f"%v = load i32, {DATA}"),
    )  # fmt: skip
    atomic = (2, "buffer_atomic_add v2, off, s[8:11], 0 sc0")
    load = (5, "global_load_dword v3, v0, s[0:1]")
    right = [STORE, BACK, WAIT, atomic, (4, "s_waitcnt vmcnt(0)"), (4, "buffer_inv sc1"), load]
    assert rules(check(source, right)) == []
    assert rules(check(source, [each for each in right if each != BACK])) == ["release"]
    assert rules(check(source, [*right[:-2], load])) == ["acquire"]
