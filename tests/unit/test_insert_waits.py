"""insert-waits against an interpreter that explores every path and every order of completion.

The interpreter knows what the manual says about the counters and nothing of the pass: a
state is where control is and which operations are outstanding.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import pytest
from campaigns import Share, draws
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from wait_kernels import kernel_with
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.counters.scoreboard import (
    CounterEvent,
    CounterEventKind,
    CounterState,
    Scoreboard,
    Token,
)
from fencewright.mlir_dialects.attributes import count_attr
from fencewright.mlir_dialects.cdna import (
    PHASES,
    SGPR_PAIR,
    VGPR,
    VGPR_PAIR,
    AluOp,
    BranchOp,
    CacheOp,
    CondBranchOp,
    ConstOp,
    EndOp,
    KernelOp,
    LoadOp,
    StoreOp,
    WaitOp,
)
from fencewright.passes.cdna import dataflow as cdna_dataflow
from fencewright.passes.cdna.waits import insert_waits
from fencewright.passes.cdna.waits.insert_waits import HELD_REGISTERS

# Programs.

KIND_OF = {
    "global_load_dword": "vector",
    "global_store_dword": "vector",
    "buffer_wbl2": "vector",
    "ds_read_b32": "lds",
    "flat_load_dword": "flat",
    "s_load_dword": "scalar",
    "buffer_inv": "may count",
}
COUNTERS_OF = {
    "vector": ("vmcnt",),
    "lds": ("lgkmcnt",),
    "flat": ("vmcnt", "lgkmcnt"),
    "scalar": ("lgkmcnt",),
    "may count": ("vmcnt",),
}
LOADS = ("global_load_dword", "ds_read_b32", "flat_load_dword", "s_load_dword")
MARKS = {"vmcnt": 100, "lgkmcnt": 101}
OTHERS = ("global_store_dword", "buffer_wbl2", "buffer_inv")


@dataclass(frozen=True)
class Use:
    """A use of the n-th load so far (modulo their number)."""

    load: int


Line = str | Use
"""An opcode, ``vmcnt`` or ``lgkmcnt`` for an ordering wait for 0, or a use."""


class Builder:
    """Blocks of a kernel for tests; the addresses are entry arguments.

    ``marked`` puts a mark after every ordering wait, which stays where the wait goes.
    """

    def __init__(self, marked: bool = False) -> None:
        self.marked = marked
        self.entry = Block(arg_types=[VGPR_PAIR.at(0), VGPR.at(2), SGPR_PAIR.at(0)])
        self.pair, self.single, self.scalar = self.entry.args

    def op(
        self,
        kind: type[Operation],
        opcode: str,
        operands: Sequence[SSAValue] = (),
        *types: Attribute,
    ) -> Operation:
        properties: dict[str, Attribute] = {"opcode": StringAttr(opcode)}
        return kind.create(operands=operands, result_types=types, properties=properties)

    def lines(self, lines: Sequence[Line], loads: list[SSAValue]) -> Iterator[Operation]:
        """The operations of some lines; a use without a load is left out."""
        for line in lines:
            if isinstance(line, Use):
                for value in loads[line.load % max(len(loads), 1) :][:1]:
                    yield self.op(AluOp, "v_add_u32_e32", [value, self.single], VGPR)
            elif line in MARKS:
                properties = {line: count_attr(0), "phase": PHASES["release"]}
                yield WaitOp.create(properties=properties)
                if self.marked:
                    yield ConstOp.create(
                        properties={"value": count_attr(MARKS[line])}, result_types=[VGPR]
                    )
            else:
                yield self.memory(line, loads)

    def memory(self, line: str, loads: list[SSAValue]) -> Operation:
        """A counted operation."""
        if line == "global_store_dword":
            return self.op(StoreOp, line, [self.pair, self.single])
        if line in ("buffer_wbl2", "buffer_inv"):
            return self.op(CacheOp, line)
        address = {"ds_read_b32": self.single, "s_load_dword": self.scalar}.get(line, self.pair)
        load = self.op(LoadOp, line, [address], VGPR)
        loads.append(load.results[0])
        return load

    def end(self) -> Operation:
        return self.op(EndOp, "s_endpgm")


def straight(lines: Sequence[Line], marked: bool = False) -> KernelOp:
    """A kernel of one block."""
    builder = Builder(marked)
    builder.entry.add_ops([*builder.lines(lines, []), builder.end()])
    return kernel_with([builder.entry])


def graph(first: Sequence[Line], blocks: Sequence[tuple[Sequence[Line], int, int]]) -> KernelOp:
    """A kernel of a first block and others, each going to one or two of the others, or the end.

    A block uses what the first block or it itself loaded.
    """
    builder = Builder(marked=True)
    common: list[SSAValue] = []
    builder.entry.add_ops(list(builder.lines(first, common)))
    made = [builder.entry, *(Block() for _ in blocks), Block([builder.end()])]
    builder.entry.add_op(BranchOp.create(successors=[made[1]]))
    for block, (lines, left, right) in zip(made[1:-1], blocks, strict=True):
        block.add_ops(list(builder.lines(lines, list(common))))
        targets = [made[1 + each % (len(blocks) + 1)] for each in (left, right)]
        block.add_op(CondBranchOp.build(operands=[builder.scalar, [], []], successors=targets))
    return kernel_with(made)


# The interpreter.

Pending = tuple[tuple[int, str, str, bool], ...]
"""Outstanding, by issue: number, counter, kind, and whether it delivers the value of that number."""


@dataclass(frozen=True)
class Where:
    """Which operation comes next."""

    block: int
    op: int


class Machine:
    """Explores a kernel; numbers its values."""

    def __init__(self, kernel: KernelOp, fuel: int = 40, most: int = 20000):
        self.blocks = list(kernel.body.blocks)
        self.ops = [list(block.ops) for block in self.blocks]
        self.fuel = fuel
        self.most = most

    def completions(self, pending: Pending) -> Iterator[Pending]:
        """Every state after one completion: in order only within one ordered kind alone."""
        for counter in ("vmcnt", "lgkmcnt"):
            mine = [each for each in pending if each[1] == counter]
            strict = [each for each in mine if each[2] != "may count"]
            kinds = {each[2] for each in strict}
            ordered = kinds in ({"vector"}, {"lds"})
            candidates = strict[:1] if ordered else strict
            for done in [*candidates, *(each for each in mine if each[2] == "may count")]:
                rest = list(pending)
                rest.remove(done)
                yield tuple(rest)

    def first_violation(self) -> str | None:
        """A use of a value, or a second write of one, that may still be in flight."""
        numbers: dict[SSAValue, int] = {}
        start: tuple[Where, Pending] = (Where(0, 0), ())
        seen, level = {start}, {start}
        for _ in range(self.fuel):
            following: set[tuple[Where, Pending]] = set()
            for where, pending in level:
                todo, closed = [pending], {pending}
                while todo:
                    for later in self.completions(todo.pop()):
                        if later not in closed:
                            closed.add(later)
                            todo.append(later)
                for state in closed:
                    violation = self.check(where, state, numbers)
                    if violation is not None:
                        return violation
                    following.update(self.step(where, state, numbers))
            level = following - seen
            seen |= level
            if not level or len(seen) > self.most:
                break
        return None

    def check(self, where: Where, pending: Pending, numbers: dict[SSAValue, int]) -> str | None:
        op = self.ops[where.block][where.op]
        for value in op.operands:
            if any(delivers and number == numbers.get(value) for number, _, _, delivers in pending):
                return f"{op.name} number {where.op} of block {where.block} uses what is not there"
        if isinstance(op, ConstOp):
            counter = next(c for c, mark in MARKS.items() if mark == op.value.value.data)
            if any(c == counter and kind != "may count" for _, c, kind, _ in pending):
                return f"{counter} is not zero where everything was to be waited for"
        for value in op.results:
            kinds = {k for n, _, k, delivers in pending if delivers and n == numbers.get(value)}
            if kinds & {"flat", "scalar"}:
                return f"{op.name} number {where.op} may be overtaken by its older self"
        return None

    def step(
        self, where: Where, pending: Pending, numbers: dict[SSAValue, int]
    ) -> Iterator[tuple[Where, Pending]]:
        op = self.ops[where.block][where.op]
        after = Where(where.block, where.op + 1)
        if isinstance(op, WaitOp):
            for counter, count in (("vmcnt", op.counts.vmcnt), ("lgkmcnt", op.counts.lgkmcnt)):
                if count is not None and sum(each[1] == counter for each in pending) > count:
                    return
            yield after, pending
        elif isinstance(op, BranchOp | CondBranchOp):
            for successor in op.successors:
                yield Where(self.blocks.index(successor), 0), pending
        elif isinstance(op, LoadOp | StoreOp | CacheOp):
            number = -1
            if op.results:
                number = numbers.setdefault(op.results[0], len(numbers))
            kind = KIND_OF[op.opcode.data]
            added = tuple((number, c, kind, bool(op.results)) for c in COUNTERS_OF[kind])
            yield after, (*pending, *added)
            if kind == "may count":
                yield after, pending
        elif not isinstance(op, EndOp):
            yield after, pending


def waits(kernel: KernelOp) -> list[WaitOp]:
    return [op for op in kernel.walk() if isinstance(op, WaitOp)]


def run(kernel: KernelOp) -> KernelOp:
    insert_waits.insert_waits(kernel)
    kernel.verify()
    return kernel


lines = st.one_of(
    st.sampled_from(LOADS),
    st.sampled_from(LOADS + OTHERS),
    st.builds(Use, st.integers(0, 5)),
    st.builds(Use, st.integers(0, 5)),
    st.sampled_from(("vmcnt", "lgkmcnt")),
)
straights = st.lists(lines, min_size=1, max_size=8)
graphs = st.tuples(
    st.lists(lines, max_size=3),
    st.lists(
        st.tuples(st.lists(lines, max_size=4), st.integers(0, 3), st.integers(0, 3)),
        min_size=1,
        max_size=3,
    ),
)
Graph = tuple[list[Line], list[tuple[list[Line], int, int]]]


@settings(max_examples=150, deadline=None)
@given(straights)
def test_sufficient_on_straight_lines(program: list[Line]) -> None:
    assert Machine(run(straight(program, marked=True))).first_violation() is None


@pytest.mark.parametrize("share", draws(5))
def test_sufficient_on_graphs(share: Share) -> None:
    @seed(share.number)
    @settings(max_examples=100 // share.count, deadline=None, database=None)
    @given(graphs)
    def check(program: Graph) -> None:
        assert Machine(run(graph(*program)), fuel=20, most=3000).first_violation() is None

    check()


@settings(max_examples=100, deadline=None)
@given(straights)
def test_data_waits_are_minimal_on_straight_lines(program: list[Line]) -> None:
    kernel = run(straight(program))
    for wait in waits(kernel):
        if wait.phase is not None:
            continue
        for name in ("vmcnt", "lgkmcnt"):
            count = cast("int | None", getattr(wait.counts, name))
            if count is None:
                continue
            wait.properties[name] = count_attr(count + 1)
            assert Machine(kernel).first_violation() is not None
            wait.properties[name] = count_attr(count)


@settings(max_examples=100, deadline=None)
@given(graphs)
def test_running_it_again_changes_nothing(program: Graph) -> None:
    kernel = run(graph(*program))
    before = str(kernel)
    assert str(run(kernel)) == before


# Single facts.

G, S, F, D = "global_load_dword", "s_load_dword", "flat_load_dword", "ds_read_b32"


def texts(kernel: KernelOp) -> list[str]:
    return [str(wait.counts) for wait in waits(kernel)]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param([G, G, G, Use(0), Use(1), Use(2)], ["vmcnt(2)", "vmcnt(1)", "vmcnt(0)"], id="in order"),
        pytest.param([G, "global_store_dword", Use(0)], ["vmcnt(1)"], id="stores count"),
        pytest.param([G, "buffer_inv", Use(0)], ["vmcnt(0)"], id="invalidates may not count"),
        pytest.param([G, "buffer_wbl2", Use(0)], ["vmcnt(1)"], id="write-backs count"),
        pytest.param([D, D, Use(0)], ["lgkmcnt(1)"], id="LDS in order"),
        pytest.param([S, S, Use(0)], ["lgkmcnt(0)"], id="scalar loads out of order"),
        pytest.param([D, S, Use(0)], ["lgkmcnt(0)"], id="mixed kinds"),
        pytest.param([G, F, Use(0)], ["vmcnt(0)"], id="flat pending"),
        pytest.param([F, G, Use(0)], ["vmcnt(0) lgkmcnt(0)"], id="flat in both"),
        pytest.param(["buffer_wbl2", "vmcnt"], ["vmcnt(0)"], id="write-back alone"),
        pytest.param(["vmcnt", "lgkmcnt"], [], id="nothing outstanding at entry"),
        pytest.param([G, D, "vmcnt", "lgkmcnt", Use(0), Use(1)], ["vmcnt(0) lgkmcnt(0)"], id="merged"),
        pytest.param([G, "vmcnt", G, "vmcnt"], ["vmcnt(0)", "vmcnt(0)"], id="each needed"),
        pytest.param([G, "vmcnt", "buffer_inv", "vmcnt"], ["vmcnt(0)", "vmcnt(0)"], id="a release covers an invalidate"),
    ],
)  # fmt: skip
def test_waits(program: list[Line], expected: list[str]) -> None:
    assert texts(run(straight(program))) == expected


def test_counts_stay_within_the_fields() -> None:
    kernel = run(straight([G, *["global_store_dword"] * 100, Use(0)]))
    assert texts(kernel) == ["vmcnt(62)"]
    kernel = run(straight([*[D] * 40, Use(0)]))
    assert all(wait.counts.lgkmcnt == 14 for wait in waits(kernel))


def test_an_ordering_wait_keeps_its_phase() -> None:
    kernel = run(straight([G, Use(0), G, "vmcnt", Use(1)]))
    assert [wait.phase for wait in waits(kernel)] == [None, PHASES["release"]]


def test_a_loop_counts_the_fewest_younger_operations() -> None:
    """On entry the load is followed by two stores; going round, by one more each time."""
    stores = ["global_store_dword"]
    kernel = run(graph([G, *stores * 2], [([Use(0), *stores], 0, 1)]))
    assert texts(kernel) == ["vmcnt(2)"]
    kernel = run(graph([], [([Use(0)], 0, 1), ([G, *stores], 0, 2)]))
    assert texts(kernel) == []


def test_results_that_nobody_reads_hold_a_bounded_number_of_registers() -> None:
    kernel = run(straight([G] * (4 * HELD_REGISTERS)))
    outstanding = most = 0
    for op in kernel.walk():
        if isinstance(op, LoadOp):
            outstanding += 1
        elif isinstance(op, WaitOp) and op.counts.vmcnt is not None:
            outstanding = min(outstanding, op.counts.vmcnt)
        most = max(most, outstanding)
    assert most == HELD_REGISTERS
    assert len(waits(kernel)) <= 4 * HELD_REGISTERS // (HELD_REGISTERS // 2)


def test_results_read_on_another_path_only_do_not_pile_up() -> None:
    """Each block's loads are read in one of its successors, the other goes on."""
    builder = Builder()
    blocks, exits = [builder.entry], list[Block]()
    for _ in range(40):
        here = blocks[-1]
        loads: list[SSAValue] = []
        here.add_ops(list(builder.lines([G] * 16, loads)))
        reader = Block([*builder.lines([Use(n) for n in range(16)], loads), builder.end()])
        blocks.append(Block())
        exits.append(reader)
        here.add_op(
            CondBranchOp.build(operands=[builder.scalar, [], []], successors=[reader, blocks[-1]])
        )
    blocks[-1].add_op(builder.end())
    run(kernel_with([*blocks, *exits]))
    outstanding = 0
    for block in blocks:
        for op in block.ops:
            if isinstance(op, WaitOp) and op.counts.vmcnt is not None:
                outstanding = min(outstanding, op.counts.vmcnt)
            outstanding += isinstance(op, LoadOp)
        assert outstanding <= insert_waits.ENTERING_REGISTERS + 16


# Broken on purpose.


def _without_fixpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    def join(self: Scoreboard, other: Scoreboard) -> bool:
        return False

    monkeypatch.setattr(Scoreboard, "join", join)


def _off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    right = CounterState.need

    def need(self: CounterState, *tokens: Token) -> int | None:
        count = right(self, *tokens)
        return None if count is None else count + 1

    monkeypatch.setattr(CounterState, "need", need)


def _flat_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = (
        CounterEvent(Counter.VMCNT, CounterEventKind.VECTOR),
        CounterEvent(Counter.LGKMCNT, CounterEventKind.LDS),
    )
    monkeypatch.setattr(cdna_dataflow, "EVENTS", {**cdna_dataflow.EVENTS, F: flat})


def _write_back_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What LLVM 22 does (llvm-project#178316)."""
    monkeypatch.setattr(cdna_dataflow, "EVENTS", {**cdna_dataflow.EVENTS, "buffer_wbl2": ()})


def _scalar_loads_reissued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insert_waits, "ORDERED", dict.fromkeys(CounterEventKind, True))


SHORT: Graph = ([G, Use(0)], [([], 1, 1)])
FLAT_FIRST: Graph = ([F, G, Use(0)], [([], 1, 1)])
UNRELEASED: Graph = (["buffer_wbl2", "vmcnt"], [([], 1, 1)])
RELOAD: Graph = ([], [([S], 0, 1)])
ORDERED_LOOP: Graph = ([], [(["vmcnt", "global_store_dword"], 0, 1)])
MERGE: Graph = (
    [G],
    [([], 1, 2), ([], 3, 3), (["global_store_dword"] * 2, 3, 3), ([Use(0)], 4, 4)],
)


@pytest.mark.parametrize(
    ("break_it", "program"),
    [
        pytest.param(_without_fixpoint, MERGE, id="no join"),
        pytest.param(_without_fixpoint, RELOAD, id="no second round, data"),
        pytest.param(_without_fixpoint, ORDERED_LOOP, id="no second round, ordering"),
        pytest.param(
            _write_back_not_counted,
            UNRELEASED,
            id="write-back not counted",
        ),
        pytest.param(_off_by_one, SHORT, id="off by one"),
        pytest.param(_flat_in_order, FLAT_FIRST, id="flat in order"),
        pytest.param(_scalar_loads_reissued, RELOAD, id="older self"),
    ],
)
def test_a_broken_pass_is_caught(
    break_it: Callable[[pytest.MonkeyPatch], None],
    program: Graph,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Machine(run(graph(*program))).first_violation() is None
    break_it(monkeypatch)
    assert Machine(run(graph(*program))).first_violation() is not None
