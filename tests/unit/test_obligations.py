"""What a source asks of its machine code: pairs by hand, and by a plain definition over paths."""

import random
from collections.abc import Iterator

import pytest

from fencewright.checker.amd.accesses import scopes_of
from fencewright.checker.source.cumulativity import passed_on
from fencewright.checker.source.obligations import (
    GFX9,
    SCOPES,
    Hierarchy,
    Obligations,
    Order,
    obligations_of,
)
from fencewright.checker.source.program import (
    SourceBlock,
    SourceFunction,
    SourceOperation,
)
from fencewright.checker.source.text import read_source
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

DATA, FLAG = "ptr addrspace(1) %d", "ptr addrspace(1) %f"
LDS = "ptr addrspace(3) %l"
STORE, LOAD = f"store i32 1, {DATA}", f"%v = load i32, {DATA}"
AGENT = 'syncscope("agent")'
RAISE = f"store atomic i32 1, {FLAG} {AGENT} monotonic, align 4"
NOTHING: set[tuple[str, int, int, str]] = set()
SEE = f"%f1 = load atomic i32, {FLAG} {AGENT} monotonic, align 4"


def pairs(
    *body: str, attributes: str = "", hierarchy: Hierarchy = GFX9
) -> set[tuple[str, int, int, str]]:
    """(order, earlier, later, scope), by the positions of all operations of ``body``."""
    text = "\n".join((f"define void @k() {attributes} {{", *body, "ret void", "}"))
    found = obligations_of(read_source(text).functions["k"], hierarchy)
    return {(order.value, a, b, scope.value) for order, a, b, scope in found.pairs()}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((STORE, RAISE), NOTHING),
        ((STORE, f"fence {AGENT} release", RAISE), {("release", 0, 2, "agent")}),
        # The narrower of the two scopes is the one at which they meet.
        ((STORE, "fence release", RAISE), {("release", 0, 2, "agent")}),
        ((STORE, 'fence syncscope("workgroup") release', RAISE), {("release", 0, 2, "workgroup")}),
        ((STORE, 'fence syncscope("wavefront") release', RAISE), NOTHING),
        ((STORE, f"fence {AGENT} acquire", RAISE), NOTHING),
        # A read before a release is owed too.
        ((LOAD, f"store atomic i32 1, {FLAG} release, align 4"), {("release", 0, 1, "system")}),
        # The release of an atomic is its own, not of what comes after it.
        ((STORE, f"store atomic i32 1, {FLAG} {AGENT} release, align 4", RAISE),
            {("release", 0, 1, "agent")}),
        # What is in LDS is seen in the work-group alone.
        ((f"store i32 1, {LDS}", f"fence {AGENT} release", RAISE), {("release", 0, 2, "workgroup")}),
        ((STORE, f"store atomic i32 1, {LDS} {AGENT} release, align 4"),
            {("release", 0, 1, "workgroup")}),
        # One address space by itself.
        ((f"store i32 1, {LDS}", STORE, 'fence syncscope("agent-one-as") release', RAISE),
            {("release", 1, 3, "agent")}),
        ((f"store i32 1, {LDS}", STORE,
            f'store atomic i32 1, {FLAG} syncscope("agent-one-as") release, align 4'),
            {("release", 1, 2, "agent")}),
        ((SEE, LOAD), NOTHING),
        ((SEE, f"fence {AGENT} acquire", LOAD), {("acquire", 0, 2, "agent")}),
        ((f"%a = load atomic i32, {FLAG} {AGENT} acquire, align 4", STORE),
            {("acquire", 0, 1, "agent")}),
        # A barrier is a write and a read for the other waves of the work-group.
        ((STORE, 'fence syncscope("workgroup") release', "call void @llvm.amdgcn.s.barrier()",
            'fence syncscope("workgroup") acquire', LOAD),
            {("release", 0, 2, "workgroup"), ("acquire", 2, 4, "workgroup")}),
        ((STORE, "call void @llvm.amdgcn.s.barrier()", LOAD), NOTHING),
        # A compare-exchange that fails acquires nothing.
        ((f"%x = cmpxchg {FLAG}, i32 0, i32 1 {AGENT} acquire monotonic, align 4", LOAD), NOTHING),
        ((f"%x = cmpxchg {FLAG}, i32 0, i32 1 {AGENT} acquire acquire, align 4", LOAD),
            {("acquire", 0, 1, "agent")}),
        # seq_cst: a write, then a read.
        ((f"store atomic i32 1, {DATA} {AGENT} seq_cst, align 4",
            f"%r = load atomic i32, {FLAG} {AGENT} seq_cst, align 4"), {("seq-cst", 0, 1, "agent")}),
        ((f"store atomic i32 1, {DATA} {AGENT} monotonic, align 4", f"fence {AGENT} seq_cst", SEE),
            {("seq-cst", 0, 2, "agent")}),
        ((f"store atomic i32 1, {DATA} {AGENT} release, align 4", SEE), NOTHING),
        ((STORE, f"fence {AGENT} seq_cst", SEE), NOTHING),
        # Private memory, and what nobody writes, is no concern of others.
        (("store i32 1, ptr addrspace(5) %s", f"fence {AGENT} release", RAISE), NOTHING),
    ],
)  # fmt: skip
def test_pairs(body: tuple[str, ...], expected: set[tuple[str, int, int, str]]) -> None:
    assert pairs(*body) == expected


def test_a_cluster_is_owed_where_the_chip_has_them() -> None:
    cluster = 'syncscope("cluster")'
    meets = (STORE, f"fence {cluster} release", "call void @llvm.amdgcn.s.cluster.barrier()",
        f"fence {cluster} acquire", LOAD)  # fmt: skip
    flag = f"store atomic i32 1, {FLAG} {cluster} release, align 4"
    wide = f"store atomic i32 1, {FLAG} {AGENT} release, align 4"
    clusters = Hierarchy(scopes_of(CHIPS["gfx1250"]), 32)
    assert scopes_of(CHIPS["gfx942"]) == SCOPES == GFX9.scopes
    for hierarchy, scope in ((GFX9, "agent"), (clusters, "cluster")):
        assert pairs(STORE, flag, hierarchy=hierarchy) == {("release", 0, 1, scope)}
        assert pairs(STORE, wide, hierarchy=hierarchy) == {("release", 0, 1, "agent")}
        both = {("release", 0, 2, scope), ("acquire", 2, 4, scope)}
        assert pairs(*meets, hierarchy=hierarchy) == both
        # A wave that is a work-group has others in its cluster.
        alone = '"amdgpu-flat-work-group-size"="1,32"'
        assert pairs(*meets, attributes=alone, hierarchy=hierarchy) == both
    # The barrier of a work-group is not a cluster's.
    narrow = (*meets[:2], "call void @llvm.amdgcn.s.barrier()", *meets[3:])
    at = {scope for *_, scope in pairs(*narrow, hierarchy=clusters)}
    assert at == {"workgroup"}


def test_one_wave_owes_its_work_group_nothing() -> None:
    body = (STORE, 'fence syncscope("workgroup") release', "call void @llvm.amdgcn.s.barrier()")
    assert pairs(*body)
    assert not pairs(*body, attributes='"amdgpu-flat-work-group-size"="1,64"')
    raised = (STORE, "fence release", RAISE)
    assert pairs(*raised, attributes='"amdgpu-flat-work-group-size"="1,64"') == pairs(*raised)


def test_a_fence_of_one_address_space() -> None:
    body = f"""define void @k() {{
  {STORE}
  store i32 1, {LDS}
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  {LOAD}
  %w = load i32, {LDS}
  ret void
}}
!0 = !{{!"amdgpu-synchronize-as", !"local"}}
"""
    found = obligations_of(read_source(body).functions["k"])
    assert [(each[1], each[2]) for each in found.pairs()] == [(1, 3), (3, 6)]
    # What neither writes back nor invalidates is owed nothing here.
    without = body.replace('"amdgpu-synchronize-as", !"local"', '"amdgcn-av", !"none"')
    assert not list(obligations_of(read_source(without).functions["k"]).pairs())


def test_only_a_path_without_a_fence_matters() -> None:
    fence = f"fence {AGENT} release"
    split = (STORE, "br i1 %c, label %a, label %b", "a:", fence, "br label %e", "b:")
    assert pairs(*split, fence, "br label %e", "e:", RAISE) == {("release", 0, 3, "agent")}
    assert pairs(*split, "br label %e", "e:", RAISE) == set()
    # Paths that exclude each other meet nowhere.
    apart = ("br i1 %c, label %a, label %b", "a:", STORE, "ret void", "b:", fence, RAISE)
    assert pairs(*apart) == set()


def test_the_last_time_around_a_loop_counts() -> None:
    body = (
        "br label %a",
        "a:",
        STORE,
        f"fence {AGENT} release",
        "br i1 %c, label %a, label %e",
        "e:",
    )
    assert pairs(*body, RAISE) == {("release", 0, 2, "agent")}
    late = (
        "br label %a",
        "a:",
        f"fence {AGENT} release",
        STORE,
        "br i1 %c, label %a, label %e",
        "e:",
    )
    assert pairs(*late, RAISE) == set()


def test_a_compare_exchange_that_has_succeeded_has_acquired() -> None:
    exchange = f"%x = cmpxchg {FLAG}, i32 0, i32 1 {AGENT} acquire monotonic, align 4"
    took = "%t = extractvalue { i32, i1 } %x, 1"
    ends = ("in:", LOAD, "ret void", "out:", f"%w = load i32, {DATA}")
    expected = {("acquire", 0, 1, "agent")}
    assert pairs(exchange, took, "br i1 %t, label %in, label %out", *ends) == expected
    other = {("acquire", 0, 2, "agent")}
    assert pairs(exchange, took, "br i1 %t, label %out, label %in", *ends) == other
    turned = (exchange, took, "%n = xor i1 %t, true", "br i1 %n, label %out, label %in", *ends)
    assert pairs(*turned) == expected
    assert pairs(exchange, "br i1 %u, label %in, label %out", *ends) == set()
    # Where other paths join, it may have failed.
    joined = (
        exchange,
        took,
        "br i1 %t, label %in, label %out",
        "in:",
        "br label %out",
        "out:",
        LOAD,
    )
    assert pairs(*joined) == set()


# The definition

_RANK = {Scope.WORKGROUP: 0, Scope.AGENT: 1, Scope.SYSTEM: 2}


def _rank(operation: SourceOperation) -> int:
    if operation.kind is Kind.BARRIER or operation.space is AddressSpace.LOCAL:
        return 0
    return _RANK[operation.scope]


def _paths(function: SourceFunction, most: int) -> Iterator[list[SourceOperation]]:
    """The operations on every path from the beginning that enters no block more often."""

    def go(
        number: int, visits: tuple[int, ...], so_far: list[SourceOperation]
    ) -> Iterator[list[SourceOperation]]:
        block = function.blocks[number]
        path = [*so_far, *block.operations]
        yield path
        for target in block.successors:
            if visits[target] < most:
                more = tuple(n + (i == target) for i, n in enumerate(visits))
                yield from go(target, more, path)

    first = tuple(int(number == 0) for number in range(len(function.blocks)))
    yield from go(0, first, [])


def _between(order: Order, path: list[SourceOperation], a: int, b: int) -> int:
    """The highest rank at which ``path[b]`` is after ``path[a]`` by what lies between; -1: none."""
    first, last = path[a], path[b]
    fences = [each for each in path[a + 1 : b] if each.kind is Kind.FENCE]
    if order is Order.RELEASE:
        if not (last.kind is Kind.BARRIER or (last.is_atomic and last.writes)):
            return -1
        ranks = [_rank(each) for each in fences if each.ordering.releases]
        ranks += [_rank(last)] if last.ordering.releases else []
        most = _rank(last)
    elif order is Order.ACQUIRE:
        if not (first.kind is Kind.BARRIER or (first.is_atomic and first.reads)):
            return -1
        ranks = [_rank(each) for each in fences if each.ordering.acquires]
        ranks += [_rank(first)] if first.ordering.acquires else []
        most = _rank(first)
    else:
        if not (first.is_atomic and first.writes and last.is_atomic and last.reads):
            return -1
        ranks = [_rank(each) for each in fences if each.ordering is Ordering.SEQ_CST]
        both = first.ordering is last.ordering is Ordering.SEQ_CST
        most = min(_rank(first), _rank(last))
        ranks += [most] if both else []
    if order is not Order.RELEASE and first.kind is not Kind.BARRIER:
        most = min(most, 0) if first.space is AddressSpace.LOCAL else most
    for each in (first, last):
        if each.space is AddressSpace.LOCAL:
            most = min(most, 0)
    return min(most, max(ranks, default=-1))


def _passed_on(path: list[SourceOperation], a: int, b: int) -> int:
    """The highest rank of an acquire of ``path[a]`` after which ``path[b]`` releases; -1: none."""
    first, last = path[a], path[b]
    is_write = last.is_atomic and last.writes
    if not (first.is_atomic and first.reads and (is_write or last.kind is Kind.BARRIER)):
        return -1
    releases = [n for n in range(a + 1, b) if path[n].kind is Kind.FENCE]
    releases = [n for n in releases if path[n].ordering.releases]
    if is_write and last.ordering.releases:
        releases.append(b)
    acquires = [a] if first.ordering.acquires else []
    acquires += [n for n in range(a + 1, b) if path[n].kind is Kind.FENCE]
    ranks = [
        min(_rank(first), _rank(path[n]))
        for n in acquires
        if path[n].ordering.acquires and any(n <= each != a for each in releases)
    ]
    # What the work-group itself has written it need not be handed.
    return max((rank for rank in ranks if rank > 0), default=-1)


def by_definition(function: SourceFunction) -> set[tuple[Order, int, int, Scope]]:
    """A pair is owed at the least rank of all paths between the two."""
    least: dict[tuple[Order, int, int], int] = {}
    for path in _paths(function, 3):
        if not path:
            continue
        b = len(path)
        for b in range(1, len(path)):
            last = path[b]
            seen: set[int] = set()
            for a in range(b - 1, -1, -1):
                first = path[a]
                fits = first.is_access or first.kind is Kind.BARRIER
                if not fits or first.number in seen:
                    continue
                seen.add(first.number)
                for order in Order:
                    if first.number == last.number or not _is_pair(order, first, last):
                        continue
                    key = (order, first.number, last.number)
                    between = order is not Order.PASSED_ON
                    rank = _between(order, path, a, b) if between else _passed_on(path, a, b)
                    least[key] = min(rank, least.get(key, rank))
    return {(*key, SCOPES[rank]) for key, rank in least.items() if rank >= 0}


def _is_pair(order: Order, first: SourceOperation, last: SourceOperation) -> bool:
    match order:
        case Order.RELEASE:
            return first.is_access
        case Order.PASSED_ON:
            return first.is_access and first.space is not AddressSpace.LOCAL
        case _:
            return last.is_access


def _random_function(random_: random.Random) -> SourceFunction:
    number = 0
    blocks: list[SourceBlock] = []
    count = random_.randint(1, 4)
    for _ in range(count):
        operations: list[SourceOperation] = []
        for _ in range(random_.randint(0, 3)):
            operations.append(_random_operation(random_, number))
            number += 1
        successors = random_.sample(range(count), random_.randint(0, min(2, count)))
        blocks.append(SourceBlock(tuple(operations), tuple(successors)))
    return SourceFunction("f", 1, tuple(blocks))


def _random_operation(random_: random.Random, number: int) -> SourceOperation:
    kind = random_.choice(
        [Kind.LOAD, Kind.STORE, Kind.RMW, Kind.FENCE, Kind.FENCE,
            Kind.BARRIER]
    )  # fmt: skip
    space = random_.choice([AddressSpace.GLOBAL, AddressSpace.GLOBAL, AddressSpace.LOCAL])
    ordering = random_.choice([Ordering.WEAK, Ordering.RELAXED, Ordering.SEQ_CST])
    if kind is Kind.BARRIER:
        return SourceOperation(number, kind, 1, "")
    if kind is Kind.FENCE:
        ordering = random_.choice([Ordering.ACQUIRE, Ordering.RELEASE, Ordering.SEQ_CST])
        return SourceOperation(number, kind, 1, "", ordering=ordering, scope=random_.choice(SCOPES))
    if kind is Kind.RMW:
        ordering = random_.choice([Ordering.RELAXED, Ordering.ACQ_REL, Ordering.SEQ_CST])
    scope = random_.choice(SCOPES)
    return SourceOperation(number, kind, 1, "", ordering=ordering, scope=scope, space=space)


def _found(obligations: Obligations) -> set[tuple[Order, int, int, Scope]]:
    return set(obligations.pairs())


def test_the_dataflow_finds_what_the_paths_say() -> None:
    random_ = random.Random(15)
    owed = passed = 0
    for _ in range(150):
        function = _random_function(random_)
        expected = by_definition(function)
        handed_on = Obligations(passed_on(function, GFX9))
        assert _found(obligations_of(function)) | _found(handed_on) == expected, function
        owed += len(expected)
        passed += sum(order is Order.PASSED_ON for order, *_ in expected)
    assert owed > 200
    assert passed > 15
