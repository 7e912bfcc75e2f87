"""What each operation of assembly provides: straight lines, joins, modes, and a plain definition."""

import random
import re
from collections.abc import Iterator, Sequence

import pytest
from campaigns import Share, draws

from fencewright.checker.amd.accesses import Mode, Operation
from fencewright.checker.amd.guarantees import LiftedFunction, describe, guarantees_of, pending_bits
from fencewright.checker.amd.state import code_of, solve
from fencewright.lowering.cdna.caches import Caches
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import Function, read_assembly
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import L2PerAgent, Scope

HEAD = 4
"""The line of the first instruction."""

ONE, MANY = L2PerAgent.ONE, L2PerAgent.MANY
GFX942 = Mode("gfx942", MANY, tgsplit=False)
GFX90A = Mode("gfx90a", ONE, tgsplit=False)
SPLIT = Mode("gfx942", MANY, tgsplit=True)
GFX1250 = Mode("gfx1250", MANY, tgsplit=False)


def lift(of: Function, mode: Mode) -> LiftedFunction:
    code = code_of(flow_of(of), mode)
    return guarantees_of(code, solve(code))


def function(*body: str, chip: str = "gfx942") -> Function:
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type f,@function\nf:\n'
    return read_assembly(text + "\n".join(body), "f.s").functions["f"]


def lifted(*body: str, mode: Mode = GFX942) -> LiftedFunction:
    return lift(function(*body, "s_endpgm", chip=mode.target), mode)


def said(*body: str, mode: Mode = GFX942) -> str:
    """What is said of the last instruction, with lines counted from the first one."""
    found = lifted(*body, mode=mode)
    (operation,) = found.at(HEAD + len(body) - 1)
    return re.sub(r"(?<= )\d+", lambda each: str(int(each[0]) - HEAD), describe(found, operation))


STORE = "global_store_dword v[0:1], v2, off"
LOAD = "global_load_dword v3, v[0:1], off"
FLAG = "global_store_dword v[4:5], v6, off sc1"
SEE = "global_load_dword v7, v[4:5], off sc1"
BACK, INV, WAIT = "buffer_wbl2 sc1", "buffer_inv sc1", "s_waitcnt vmcnt(0)"
LDS, LDS_READ = "ds_write_b32 v0, v1", "ds_read_b32 v8, v9"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((STORE, BACK, WAIT, FLAG), "store release agent; pending at system: line 0"),
        # A store that is done but dirty is late, and so is a write-back that nothing has waited for.
        ((STORE, WAIT, FLAG), "store release workgroup; pending at agent: line 0"),
        ((STORE, BACK, FLAG), "store release workgroup; pending at agent: line 0"),
        ((STORE, BACK, LOAD, "s_waitcnt vmcnt(1)", FLAG),
            "store release workgroup; pending at agent: line 2; pending at system: lines 0, 2"),
        # Stores that go through need their end alone.
        ((FLAG, WAIT, FLAG), "store release agent; pending at system: line 0"),
        ((FLAG, FLAG), "store release workgroup; pending at agent: line 0"),
        # LDS is served in order, but memory does not wait for it.
        ((LDS, LDS), "store release workgroup"),
        ((LDS, STORE), "store relaxed workgroup; pending at workgroup: line 0"),
        ((LDS, "s_barrier"), "barrier relaxed workgroup; pending at workgroup: line 0"),
        ((LDS, "s_waitcnt lgkmcnt(0)", "s_barrier"), "barrier release workgroup"),
        ((STORE, "s_barrier"), "barrier release workgroup; pending at agent: line 0"),
        (("global_load_lds_dword v[2:3], off", "s_barrier"),
            "barrier relaxed workgroup; pending at workgroup: line 0"),
        # A flat store may be to either.
        (("flat_store_dword v[0:1], v2", WAIT, "s_barrier"),
            "barrier relaxed workgroup; pending at workgroup: line 0"),
    ],
)  # fmt: skip
def test_what_a_release_provides(body: tuple[str, ...], expected: str) -> None:
    assert said(*body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((SEE, WAIT, INV, LOAD), "load acquire agent; may be older at system: line 3"),
        ((SEE, INV, WAIT, LOAD), "load acquire workgroup; may be older at agent: line 3"),
        ((SEE, WAIT, LOAD), "load acquire workgroup; may be older at agent: line 2"),
        # What misses the caches needs the end alone.
        ((SEE, WAIT, SEE), "load acquire agent; may be older at system: line 2"),
        ((SEE, SEE), "load acquire workgroup; may be older at agent: line 1"),
        # A read of LDS does not wait for one of memory, nor the other way round.
        ((SEE, LDS_READ), "load relaxed agent; may be older at workgroup: line 1"),
        ((LDS_READ, LOAD), "load relaxed workgroup; may be older at workgroup: line 1"),
        ((LDS_READ, LDS_READ), "load acquire workgroup"),
        # The scalar cache is invalidated by itself alone.
        (("s_load_dwordx2 s[0:1], s[4:5], 0x0", SEE, "s_waitcnt vmcnt(0) lgkmcnt(0)",
            "buffer_inv sc0 sc1", "s_load_dword s2, s[0:1], 0x0"),
            "load acquire workgroup; may be older at agent: line 4"),
        (("s_load_dwordx2 s[0:1], s[4:5], 0x0", SEE, "s_waitcnt vmcnt(0) lgkmcnt(0)",
            "s_dcache_inv", "s_load_dword s2, s[0:1], 0x0"), "load acquire agent"),
    ],
)  # fmt: skip
def test_what_an_acquire_provides(body: tuple[str, ...], expected: str) -> None:
    found = lifted(*body)
    (read,) = [each for each in found.operations[1:] if each.reads][:1]
    text = re.sub(r"(?<= )\d+", lambda each: str(int(each[0]) - HEAD), describe(found, read))
    assert text == expected


def test_modes() -> None:
    # With one L2, what has reached it has reached the agent.
    one = Mode("gfx942", ONE, tgsplit=False)
    assert said(STORE, WAIT, FLAG, mode=one) == "store release agent; pending at system: line 0"
    assert said(STORE, FLAG, mode=one) == "store release workgroup; pending at agent: line 0"
    # Waves of a work-group on several CUs share the L2 alone.
    store = "store relaxed workgroup; pending at workgroup: line 0"
    assert said(STORE, FLAG.replace("sc1", "sc0"), mode=SPLIT) == store
    assert (
        said(STORE, WAIT, STORE, mode=SPLIT) == "store release workgroup; pending at agent: line 0"
    )
    assert said(LOAD, mode=SPLIT) == "load weak"
    assert said("global_load_dword v3, v[0:1], off sc0", mode=SPLIT) == "load acquire workgroup"
    # Stores of gfx90a say no scope.
    assert said(STORE, WAIT, STORE, mode=GFX90A) == "store release agent; pending at system: line 0"
    system = (STORE, "buffer_wbl2", WAIT, STORE)
    assert said(*system, mode=GFX90A) == "store release system"


def test_clusters_are_a_scope_of_gfx1250() -> None:
    store, load = "global_store_b32 v[0:1], v2, off", "global_load_b32 v3, v[0:1], off"
    flag = "global_store_b32 v[4:5], v6, off scope:SCOPE_SE"
    stored, back = "s_wait_storecnt 0x0", "global_wb scope:SCOPE_SE"
    late = "; pending at agent: line 0"
    assert GFX942.scopes == (Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM)
    assert GFX1250.scopes == (Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT, Scope.SYSTEM)
    assert said(store, stored, flag, mode=GFX1250) == f"store release cluster{late}"
    assert said(store, flag, mode=GFX1250) == "store relaxed cluster; pending at workgroup: line 0"
    assert said(store, stored, store, mode=GFX1250) == f"store release workgroup{late}"
    wide = flag.replace("SE", "DEV")
    assert said(store, stored, wide, mode=GFX1250) == f"store release cluster{late}"
    signal = "s_barrier_signal -3"
    assert said(store, stored, signal, mode=GFX1250) == f"barrier release cluster{late}"
    assert (
        said(store, stored, "s_barrier_signal -1", mode=GFX1250)
        == f"barrier release workgroup{late}"
    )
    # As the documents can be read at their hardest, only a write-back takes it there.
    for body, hardest in (((stored,), True), ((stored, back), True), ((stored, back, stored), False),
            ((back, stored), True)):  # fmt: skip
        found = lifted(store, *body, flag, mode=GFX1250)
        first, *_, last = found.operations[1:]
        place = found.places[last.number]
        assert not found.is_pending(first, last, Scope.CLUSTER) or body == ()
        bits = pending_bits(found.code, place, last, Scope.CLUSTER, hardest=True)
        assert bool(bits & first.bit) is hardest, body
    see, loaded = load.replace("[0:1], off", "[4:5], off scope:SCOPE_SE"), "s_wait_loadcnt 0x0"
    for between, acquired in (
        ((loaded, "global_inv scope:SCOPE_SE"), Scope.CLUSTER),
        ((loaded,), Scope.WORKGROUP),
        ((loaded, "global_inv scope:SCOPE_DEV"), Scope.WORKGROUP),
        ((loaded, "global_inv scope:SCOPE_DEV", loaded), Scope.CLUSTER),
    ):
        found = lifted(see, *between, load, mode=GFX1250)
        assert found.acquires(found.operations[1]) is acquired, between


def test_calls_and_callers() -> None:
    call = "s_swappc_b64 s[30:31], s[4:5]"
    assert said(call, FLAG) == "store release workgroup; pending at agent: line 0"
    assert said(call, BACK, WAIT, FLAG) == "store release agent; pending at system: line 0"
    called = lift(function(FLAG, "s_setpc_b64 s[30:31]"), GFX942)
    (flag,) = called.at(HEAD)
    assert [each.kind for each in called.pending(flag, Scope.AGENT)] == [Kind.OPAQUE]


# A plain definition, of one path.

Event = tuple[int, str]
"""An instruction: its place in the text, and the text."""


def counter_of(text: str) -> str | None:
    if text.startswith("ds_"):
        return "lgkmcnt"
    return "vmcnt" if text.startswith(("global_", "buffer_wbl2")) else None


def is_complete(path: Sequence[Event], earlier: int, now: int) -> bool:
    """Whether the instruction at ``earlier`` of a path has surely completed at ``now``."""
    counter = counter_of(path[earlier][1])
    assert counter is not None
    for place in range(earlier + 1, now):
        found = re.search(rf"{counter}\((\d+)\)", path[place][1])
        between = [text for _, text in path[earlier + 1 : place] if counter_of(text) == counter]
        if found and len(between) >= int(found[1]):
            return True
    return False


REACH = {"": 0, "sc0": 0, "sc1": 1, "sc0 sc1": 2}
MISSES = {"": 0, "sc0": 0, "sc1": int(Caches.L1 | Caches.AGENT), "sc0 sc1": int(Caches.ALL)}


def bits_of(text: str) -> str:
    return " ".join(word for word in ("sc0", "sc1") if word in text.split())


def is_late(path: Sequence[Event], earlier: int, now: int, rank: int) -> bool:
    text, other = path[earlier][1], path[now][1]
    if not is_complete(path, earlier, now):
        in_order = text.startswith("ds_") and other.startswith("ds_")
        within = rank == 0 and text.startswith("global_")
        if not in_order and not within:
            return True
    if not text.startswith("global_store") or REACH[bits_of(text)] >= rank:
        return False
    return not any(
        path[back][1].startswith("buffer_wbl2")
        and REACH[bits_of(path[back][1])] >= rank
        and is_complete(path, back, now)
        for back in range(earlier + 1, now)
    )


NEEDED = (0, int(Caches.L1 | Caches.AGENT), int(Caches.ALL))


def may_be_older(path: Sequence[Event], read: int, later: int, rank: int) -> bool:
    text, other = path[read][1], path[later][1]
    pipes = (text[:2] == "ds", other[:2] == "ds")
    if not is_complete(path, read, later) and not (pipes[0] == pipes[1] and (pipes[0] or not rank)):
        return True
    caches = 0 if pipes[1] else NEEDED[rank] & ~MISSES[bits_of(other)]
    for cache in (1, 2, 4):
        if cache & caches and not any(
            path[place][1].startswith("buffer_inv")
            and cache & MISSES[bits_of(path[place][1])]
            and is_complete(path, read, place)
            for place in range(read + 1, later)
        ):
            return True
    return False


def is_access(text: str) -> bool:
    return text.startswith(("global_", "ds_"))


def is_read(text: str) -> bool:
    return text.startswith(("global_load", "ds_read"))


def relation(paths: Sequence[Sequence[Event]]) -> set[tuple[str, int, int, Scope]]:
    found: set[tuple[str, int, int, Scope]] = set()
    for path in paths:
        for now, (place, text) in enumerate(path):
            for earlier in range(now if is_access(text) else 0):
                before, its = path[earlier]
                for rank, scope in enumerate(GFX942.scopes):
                    if is_access(its) and is_late(path, earlier, now, rank):
                        found.add(("late", before, place, scope))
                    reads = is_read(its) and is_read(text)
                    if reads and may_be_older(path, earlier, now, rank):
                        found.add(("older", before, place, scope))
    return found


def lifted_relation(found: LiftedFunction) -> Iterator[tuple[str, int, int, Scope]]:
    for operation in found.operations[1:]:
        for scope in GFX942.scopes:
            if operation.is_access:
                for each in found.pending(operation, scope):
                    yield "late", each.line, operation.line, scope
            if operation.reads:
                for each in found.older(operation, scope):
                    yield "older", operation.line, each.line, scope


CHOICES = (
    *(f"global_store_dword v[0:1], v2, off{bits}" for bits in ("", " sc1", " sc0 sc1")),
    *(f"global_load_dword v3, v[0:1], off{bits}" for bits in ("", " sc1", " sc0 sc1")),
    LDS, LDS_READ, BACK, "buffer_wbl2 sc0 sc1", INV, "buffer_inv sc0 sc1",
    WAIT, "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(2)", "s_waitcnt lgkmcnt(0)",
    "s_waitcnt lgkmcnt(1)", "s_waitcnt vmcnt(0) lgkmcnt(0)",
)  # fmt: skip


@pytest.mark.parametrize("share", draws(4))
def test_the_dataflow_agrees_with_the_plain_definition_on_all_paths(share: Share) -> None:
    chooser = random.Random(7)
    programs = [
        [chooser.choices(CHOICES, k=chooser.randint(1, 5)) for _ in range(3)] for _ in range(80)
    ]
    compared = 0
    for first, middle, last in share.of(programs):
        body = [".LBB0_1:", *first, "s_cbranch_scc0 .LBB0_2", *middle, ".LBB0_2:", *last]
        body.append("s_cbranch_scc1 .LBB0_1")
        events = list(enumerate(body, HEAD))
        skip = len(first) + 1
        once = (events[1:skip] + events[skip + len(middle) + 2 :], events[1:])
        paths = [[*a, *b, *c] for a in once for b in once for c in once]
        wanted = relation(paths)
        assert set(lifted_relation(lifted(*body))) == wanted, body
        compared += len(wanted)
    assert compared > 500


SPLIT_ENTRY = ("s_wait_loadcnt_dscnt 0x0", "s_wait_kmcnt 0x0")
SPLIT_STORE = "global_store_b32 v[0:1], v2, off"


def test_functions_of_gfx1250_leave_stores_to_their_callers() -> None:
    """LLVM waits for what writes registers where a function begins and returns, and no more."""

    def late(*body: str) -> str:
        return ", ".join(str(each.line) for each in found_at_end(*body))

    def found_at_end(*body: str) -> Sequence[Operation]:
        of = lift(function(*SPLIT_ENTRY, *body, "s_set_pc_i64 s[30:31]", chip="gfx1250"), GFX1250)
        (operation,) = of.at(HEAD + len(SPLIT_ENTRY) + len(body) - 1)
        return of.pending(operation, Scope.WORKGROUP)

    call = "s_swap_pc_i64 s[30:31], s[0:1]"
    assert late(SPLIT_STORE) == "0"
    assert late("s_wait_storecnt 0x0", SPLIT_STORE) == ""
    assert late("s_wait_storecnt 0x0", SPLIT_STORE, call, SPLIT_STORE) == "7, 8"
    # What is called may have stored nothing: one more store says nothing of those before.
    assert (
        late("s_wait_storecnt 0x0", SPLIT_STORE, call, "s_wait_storecnt 0x1", SPLIT_STORE) == "7, 8"
    )
    assert late("s_wait_storecnt 0x0", SPLIT_STORE, call, "s_wait_storecnt 0x0", SPLIT_STORE) == ""
    # A wait for some counters leaves what the others have in flight.
    assert late("s_wait_kmcnt 0x0", SPLIT_STORE) == "0"


FLAT, PAST_LDS = "flat_load_dword v0, v[0:1]", "s_waitcnt lgkmcnt(0)"


@pytest.mark.parametrize(
    ("body", "late"),
    [
        ((FLAT,), "0"),
        # In LDS it would be done, and of memory the L1 keeps the order.
        ((FLAT, PAST_LDS), ""),
        ((FLAT, PAST_LDS, FLAT), "2"),
        ((PAST_LDS, FLAT), "1"),
        ((FLAT, "s_cbranch_scc0 L", PAST_LDS, "L:"), "0"),
        ((FLAT, PAST_LDS, "s_cbranch_scc0 L", "s_nop 0", "L:"), ""),
        ((FLAT, "s_cbranch_scc0 L", PAST_LDS, "s_branch M", "L:", PAST_LDS, "M:"), ""),
        (("s_cbranch_scc0 L", FLAT, PAST_LDS, "L:"), ""),
    ],
)
def test_a_flat_access_that_is_not_in_lds_is_in_order(body: tuple[str, ...], late: str) -> None:
    """LLVM waits for no more before a barrier; in tgsplit mode, and beyond the work-group, it does."""
    text = said(*body, "s_barrier")
    found = re.search(r"pending at workgroup: lines? ([\d, ]+)", text)
    assert (found[1] if found else "") == late
    assert "pending at" in said(*body, "s_barrier", mode=SPLIT)


@pytest.mark.parametrize("mode", [GFX942, SPLIT, GFX1250])
def test_sets_that_are_equal_are_one_object(mode: Mode) -> None:
    """Each has a bit for every operation, so that a long function would have them many times."""
    found = lifted(*[LOAD, STORE] * 20, mode=mode)
    for place in found.places.values():
        sets = (*place.undone, *place.stale)
        assert len({*map(id, sets)}) == len({*sets})
