"""Assembly as MLIR on ``scoped``: how each form is written, what is refused, and the way back."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencewright.checker.amd.accesses import Operation
from fencewright.checker.amd.check import Checked, check
from fencewright.checker.lifting.amd import to_scoped
from fencewright.checker.lifting.writer import UnliftableError
from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import Scope
from fencewright.tools import fence_opt
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "examples/kernels-cdna"


def checked(*body: str, chip: str = "gfx942", last: str = "s_endpgm") -> Checked:
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type f,@function\nf:\n'
    assembly = read_assembly(text + "\n".join([*body, last]), "f.s")
    return check(assembly, assembly.functions["f"])


def lines(*body: str, chip: str = "gfx942") -> list[str]:
    """What stands between the entry and the return, without types."""
    text = to_scoped(checked(*body, chip=chip)).splitlines()
    return [line.strip().partition(" :")[0].replace("scoped.", "") for line in text[4:-2]]


STORE = "global_store_dword v[0:1], v2, off"
FLAG = "global_store_dword v[4:5], v6, off sc1"
SEE = "global_load_dword v7, v[4:5], off sc1"
LOAD = "global_load_dword v3, v[0:1], off"
BACK, INV, WAIT = "buffer_wbl2 sc1", "buffer_inv sc1", "s_waitcnt vmcnt(0)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((STORE, BACK, WAIT, FLAG),
            ["store weak %x4, %p0", "fence release agent", "store relaxed agent %x7, %p1"]),
        ((STORE, BACK, FLAG), ["store weak %x4, %p0", "store relaxed agent %x6, %p1"]),
        # Stores that go through need no write-back: the order is on the access.
        ((FLAG, WAIT, FLAG), ["store relaxed agent %x4, %p0", "store release agent %x6, %p0"]),
        ((FLAG, FLAG), ["store relaxed agent %x4, %p0", "store relaxed agent %x5, %p0"]),
        ((SEE, WAIT, INV, LOAD),
            ["%v4 = load relaxed agent %p0", "fence acquire agent", "%v7 = load weak %p1"]),
        ((SEE, WAIT, SEE), ["%v4 = load acquire agent %p0", "%v6 = load relaxed agent %p0"]),
        # A store that is done before a load: what sequential consistency asks for.
        ((FLAG, WAIT, "global_load_dword v7, v[8:9], off sc1"),
            ["store relaxed agent %x4, %p0", "fence seq_cst agent", "%v6 = load relaxed agent %p1"]),
        ((STORE, "buffer_wbl2 sc0 sc1", WAIT), ["store weak %x4, %p0", "fence release system"]),
        (("buffer_inv sc0 sc1",), ["fence acquire system"]),
        (("buffer_inv sc0",), []),
        (("s_barrier",), ["barrier workgroup"]),
        (("ds_write_b32 v0, v1", "s_barrier"), ["store weak %x4, %p0", "barrier relaxed workgroup"]),
        (("global_atomic_add_x2 v[0:1], v[2:3], off sc1",),
            ["%v4 = atomic_rmw add relaxed system %p0, %x4"]),
        (("global_atomic_cmpswap v2, v1, v[0:1], s[0:1] sc0",),
            ["%v4, %ok4 = cmpxchg relaxed relaxed agent %p0, %c4, %x4"]),
        (("ds_max_rtn_u32 v0, v1, v2",), ["%v4 = atomic_rmw umax relaxed workgroup %p0, %x4"]),
        (("ds_min_rtn_f32 v0, v1, v2",), ["%v4 = atomic_rmw fmin relaxed workgroup %p0, %x4"]),
    ],
)  # fmt: skip
def test_how_it_is_written(body: tuple[str, ...], expected: list[str]) -> None:
    assert lines(*body) == expected


def test_the_scopes_of_gfx1250() -> None:
    back = ("s_wait_storecnt 0x0", "global_wb scope:SCOPE_SYS", "s_wait_storecnt 0x0")
    flag = "global_store_b32 v[4:5], v6, off scope:SCOPE_SYS"
    see = ("global_load_b32 v7, v[4:5], off scope:SCOPE_DEV", "s_wait_loadcnt 0x0")
    body = ("global_store_b32 v[0:1], v2, off", *back, flag, *see, "global_inv scope:SCOPE_DEV",
            "s_wait_loadcnt 0x0", "global_load_b32 v3, v[0:1], off")  # fmt: skip
    assert lines(*body, chip="gfx1250") == [
        "store weak %x4, %p0", "fence release system", "store relaxed system %x8, %p1",
        "%v9 = load relaxed agent %p1", "fence acquire agent", "%v13 = load weak %p0",
    ]  # fmt: skip


STORE_1250, LOAD_1250 = "global_store_b32 v[0:1], v2, off", "global_load_b32 v3, v[0:1], off"
MEETING = ("s_barrier_signal_isfirst -1", "s_barrier_wait -1", "s_cbranch_scc0 .LBB0_2",
    "s_barrier_signal -3", ".LBB0_2:", "s_barrier_wait -3")  # fmt: skip


def test_the_scope_of_a_cluster() -> None:
    stored, back = "s_wait_storecnt 0x0", "global_wb scope:SCOPE_SE"
    flag = "global_store_b32 v[4:5], v6, off scope:SCOPE_SE"
    see = "global_load_b32 v7, v[4:5], off scope:SCOPE_SE"
    acquire = (see, "s_wait_loadcnt 0x0", "global_inv scope:SCOPE_SE", LOAD_1250)
    assert lines(STORE_1250, stored, back, stored, flag, *acquire, chip="gfx1250") == [
        "store weak %x4, %p0", "fence release cluster", "store relaxed cluster %x8, %p1",
        "%v9 = load relaxed cluster %p1", "fence acquire cluster", "%v12 = load weak %p0",
    ]  # fmt: skip
    # LLVM 24 has no write-back; its store then is the release.
    assert lines(STORE_1250, stored, flag, chip="gfx1250")[1] == "store release cluster %x6, %p1"
    assert lines(STORE_1250, flag, chip="gfx1250")[1] == "store relaxed cluster %x5, %p1"


def test_the_barrier_of_a_cluster_is_where_all_wait() -> None:
    body = (STORE_1250, "s_wait_storecnt 0x0", *MEETING, "global_inv scope:SCOPE_SE", LOAD_1250)
    found = lines(*body, chip="gfx1250")
    assert [each for each in found if not re.match(r"%t|cf\.|\^", each)] == [
        "store weak %x4, %p0", "barrier workgroup", "fence release cluster",
        "barrier relaxed cluster", "fence acquire cluster", "%v13 = load weak %p0",
    ]  # fmt: skip
    # What may not be done where the waves meet is not released.
    assert "fence release cluster" not in lines(STORE_1250, *MEETING, chip="gfx1250")
    with pytest.raises(UnliftableError, match="where it is signalled is not known"):
        lines("s_barrier_wait -3", chip="gfx1250")


def test_two_instructions_that_invalidate_for_the_system() -> None:
    both = ("buffer_invl2", "buffer_wbinvl1_vol")
    assert lines(*both, chip="gfx90a") == ["fence acquire system"]
    assert lines(both[1], chip="gfx90a") == ["fence acquire agent"]


def test_an_address_is_the_same_where_its_registers_are() -> None:
    other = "v_mov_b32_e32 v0, 7"
    assert lines(STORE, STORE) == ["store weak %x4, %p0", "store weak %x5, %p0"]
    assert lines(STORE, other, STORE) == ["store weak %x4, %p0", "store weak %x6, %p1"]
    assert lines(STORE, f"{STORE} offset:4") == ["store weak %x4, %p0", "store weak %x5, %p1"]


@pytest.mark.parametrize(
    ("body", "line", "why"),
    [
        ("s_swappc_b64 s[30:31], s[4:5]", 4, "what it does is not seen"),
        ("v_frobnicate v0", 4, "what it does is not seen"),
        ("global_load_lds_dword v[2:3], off", 4, "'scoped' has no operation for global_load_lds"),
        ("ds_read2_b32 v[0:1], v2 offset1:1", 4, "'scoped' has no operation for ds_read2_b32"),
        ("global_atomic_pk_add_f16 v[0:1], v2, off", 4, "'scoped' has no operation for global_at"),
        ("s_dcache_inv", 4, "'scoped' does not know the scalar cache"),
    ],
)
def test_what_cannot_be_said(body: str, line: int, why: str) -> None:
    with pytest.raises(UnliftableError, match=why) as problem:
        to_scoped(checked(body))
    assert problem.value.line == line


def test_where_the_code_goes_on_must_be_known() -> None:
    with pytest.raises(UnliftableError, match="where the code goes on is not known"):
        to_scoped(checked(STORE, last="s_setpc_b64 s[4:5]"))
    with pytest.raises(UnliftableError, match="what its caller did is not known"):
        to_scoped(checked(STORE, last="s_setpc_b64 s[30:31]"))


# There and back

Pair = tuple[str, int, int, Scope]


def accesses(found: Checked) -> list[Operation]:
    return [
        each for each in found.lifted.operations[1:] if each.is_access or each.kind is Kind.BARRIER
    ]


def missing(found: Checked) -> Iterator[Pair]:
    """What is late, and what may be older, for accesses that may be atomics; by their order."""
    lifted = found.lifted
    place = {each.number: number for number, each in enumerate(accesses(found))}
    for each in accesses(found):
        if each.scope is Scope.WORKGROUP and not each.in_lds:
            continue
        for scope in (scope for scope in lifted.mode.scopes if each.scope.includes(scope)):
            for late in lifted.pending(each, scope) if each.writes else ():
                yield "late", place[late.number], place[each.number], scope
            for later in lifted.older(each, scope) if each.reads else ():
                yield "older", place[each.number], place[later.number], scope


def compiled(*options: str) -> Assembly:
    llc = find_llvm_tool("llc")
    assert llc is not None
    command = [llc, "-O2", *options, str(KERNELS / "kernels.ll"), "-o", "-"]
    return read_assembly(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def lowered(text: str, path: Path, chip: str, target: str) -> str:
    (path / "k.mlir").write_text(text)
    out = path / "k.out"
    options = ["--mcpu", chip, "-O2", "-t", target, "-o", str(out)]
    assert fence_opt.main([*options, str(path / "k.mlir")]) == 0
    return out.read_text()


@pytest.mark.skipif(find_llvm_tool("llc") is None, reason=LLVM_HINT)
def test_what_is_provided_survives_the_way_there_and_back(tmp_path: Path) -> None:
    """The eighteen kernels as LLVM compiles them, lifted, and lowered for the same chip again."""
    assembly = compiled("-mcpu=gfx942")
    before = {name: check(assembly, each) for name, each in assembly.functions.items()}
    text = "\n".join(to_scoped(each) for each in before.values())
    again = read_assembly(lowered(text, tmp_path, "gfx942", "asm"))
    compared = 0
    for name, each in before.items():
        after = check(again, again.functions[name])
        assert [a.line for a in accesses(each)], name
        assert len(accesses(after)) == len(accesses(each)), name
        assert set(missing(after)) <= set(missing(each)), name
        compared += len(accesses(each))
    assert compared > 50
    # A fence that is left out is missed.
    weaker = text.replace("  scoped.fence release agent\n", "")
    again = read_assembly(lowered(weaker, tmp_path, "gfx942", "asm"))
    worse = [
        name
        for name, each in before.items()
        if set(missing(check(again, again.functions[name]))) - set(missing(each))
    ]
    assert {"mp_producer", "spin_lock", "look_back", "two_release_fences"} <= set(worse)
    # And the other vendor's code has it too.
    ptx = lowered(text, tmp_path, "sm_90", "ptx")
    assert ptx.count(".entry") == len(before)
    assert "fence.release.gpu" in ptx or "fence.acq_rel.gpu" in ptx


def test_a_kernel_with_preloaded_arguments_begins_at_one_of_two_places() -> None:
    written = lines(
        "s_load_dwordx2 s[8:9], s[4:5], 0x0",
        "s_waitcnt lgkmcnt(0)",
        "s_branch L",
        "v_mov_b32_e32 v0, 0",
        "L:",
        "global_store_dword v0, v1, s[8:9]",
    )
    assert written == [
        "%tentry = arith.cmpi ne, %bentry, %zero",
        "cf.cond_br %tentry, ^b1, ^b2",
        "^b1:",
        "cf.br ^b3",
        "^b2:",
        "cf.br ^b3",
        "^b3:",
        "store weak %x9, %p0",
    ]
