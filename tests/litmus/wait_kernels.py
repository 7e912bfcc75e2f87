"""Kernels through the passes on waits, judged by every order of completion.

The programs of litmus tests have few kinds of accesses at once, and few paths. Here accesses of
every kind and waits of every kind stand in any order on blocks in any graph. An interpreter, which
knows what the manual says about the counters and nothing of the passes, says whether each ordering
wait still covers what it did, and whether each result is there where it is used.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects.attributes import count_attr
from fencewright.mlir_dialects.cdna import (
    INVARIANT,
    PHASES,
    SGPR_PAIR,
    VGPR,
    VGPR_PAIR,
    AluOp,
    BarrierOp,
    BranchOp,
    CacheOp,
    CondBranchOp,
    EndOp,
    KernelOp,
    LoadOp,
    StoreOp,
    WaitOp,
)
from fencewright.passes.cdna.waits.insert_waits import InsertWaitsPass
from fencewright.passes.cdna.waits.loosen_waits import LoosenWaitsPass
from fencewright.passes.cdna.waits.sink_waits import SinkWaitsPass

VMCNT, LGKMCNT = "vmcnt", "lgkmcnt"
VECTOR, LDS, FLAT, SCALAR, MAY_COUNT = "vector", "lds", "flat", "scalar", "may count"
COUNTERS = {
    VECTOR: (VMCNT,),
    LDS: (LGKMCNT,),
    FLAT: (VMCNT, LGKMCNT),
    SCALAR: (LGKMCNT,),
    MAY_COUNT: (VMCNT,),
}
"""What an operation of each kind counts on (MI300 ISA 4.4, 10.2.2)."""


@dataclass(frozen=True)
class Row:
    """An operation: how it is written, its ``kind``, and what ordering waits have to do with it.

    ``acquired``, ``released``: whether the wait of an acquire, or of a release, covers it;
    ``signals``: whether others may know by it, not through LDS, that earlier operations are done.
    """

    op: type[Operation]
    opcode: str
    kind: str | None
    acquired: bool = False
    released: bool = True
    signals: bool = False
    invariant: bool = False
    modifiers: tuple[str, ...] = ()


ROWS: dict[str, Row] = {
    "store": Row(StoreOp, "global_store_dword", VECTOR),
    "load": Row(LoadOp, "global_load_dword", VECTOR),
    "flag up": Row(StoreOp, "global_store_dword", VECTOR, acquired=True, signals=True),
    "flag": Row(LoadOp, "global_load_dword", VECTOR, acquired=True, signals=True),
    "load invariant": Row(LoadOp, "global_load_dword", VECTOR, released=False, invariant=True),
    "private": Row(StoreOp, "scratch_store_dword", VECTOR, released=False),
    "volatile private": Row(
        StoreOp,
        "scratch_store_dword",
        VECTOR,
        acquired=True,
        released=False,
        modifiers=("sc0", "sc1"),
    ),
    "LDS store": Row(StoreOp, "ds_write_b32", LDS),
    "LDS load": Row(LoadOp, "ds_read_b32", LDS),
    "LDS flag": Row(LoadOp, "ds_read_b32", LDS, acquired=True),
    "flat store": Row(StoreOp, "flat_store_dword", FLAT),
    "flat load": Row(LoadOp, "flat_load_dword", FLAT),
    "flat flag up": Row(StoreOp, "flat_store_dword", FLAT, acquired=True, signals=True),
    "flat invariant": Row(LoadOp, "flat_load_dword", FLAT, released=False, invariant=True),
    "constant": Row(LoadOp, "s_load_dword", SCALAR, released=False),
    "write-back": Row(CacheOp, "buffer_wbl2", VECTOR, modifiers=("sc1",)),
    "invalidate": Row(CacheOp, "buffer_inv", MAY_COUNT, released=False, modifiers=("sc1",)),
    "invalidate for the system": Row(CacheOp, "buffer_inv", MAY_COUNT, modifiers=("sc0", "sc1")),
    "barrier": Row(BarrierOp, "s_barrier", None, signals=True),
}  # fmt: skip
"""What a kernel for gfx942 may do; only a release after a system's invalidate counts on its end."""

POINTER = "flat pointer"
FOLLOWED = "flat load of that"
OF_POINTERS = {
    POINTER: Row(LoadOp, "flat_load_dwordx2", FLAT),
    FOLLOWED: Row(LoadOp, "flat_load_dword", FLAT),
}
"""A load of an address, and a load from there: only kernels that are written down have them."""

ATOMIC = frozenset({"flag up", "flag", "LDS flag", "flat flag up"})


@dataclass(frozen=True)
class Wait:
    """A wait for ``counts``; of an acquire or a release it is for what these order only."""

    phase: Phase | None
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Use:
    """A use of the n-th load so far (modulo their number), and of another with it."""

    load: int
    other: int | None = None


@dataclass(frozen=True)
class Follow:
    """A flat load from where the n-th load so far says, which is of a pointer."""

    load: int


Line = str | Wait | Use | Follow

_SIMILAR = (
    ("store", "flag up", "private", "load", "load invariant", "flag"),
    ("LDS store", "LDS load", "LDS flag", "flag up", "barrier", "store"),
    ("flat store", "flat load", "flat invariant", "store", "private", "flag up"),
    ("load", "load", "store", "LDS load", "flat load", "constant"),
    ("store", "invalidate", "invalidate for the system", "private", "write-back"),
    tuple(ROWS),
)
"""What the lines of one kernel are drawn of: much of a kind meets more often than all of all."""

_ALL = (
    ((VMCNT, 0),),
    ((LGKMCNT, 0),),
    ((VMCNT, 0), (LGKMCNT, 0)),
)
"""What ordering waits wait for."""


def _line(drawn: random.Random, names: Sequence[str]) -> Line:
    kind = drawn.random()
    if kind < 0.3:
        return Wait(drawn.choice((Phase.RELEASE, Phase.RELEASE, Phase.WAIT)), drawn.choice(_ALL))
    if kind < 0.4:
        counters = drawn.choice(((VMCNT,), (VMCNT,), (LGKMCNT,), (VMCNT, LGKMCNT)))
        phase = drawn.choice((None, Phase.ACCESS))
        return Wait(phase, tuple((counter, drawn.randrange(4)) for counter in counters))
    if kind < 0.5:
        return Use(drawn.randrange(4), drawn.choice((None, drawn.randrange(4))))
    return drawn.choice(names)


# The kernel

CHECKS = "checks"
"""Attribute of the operation by which waits have to be over: each ``phase counter count``.

That is the first after a wait, and the first that others can observe after a release's.
"""


class _Builder:
    def __init__(self) -> None:
        self.entry = Block(arg_types=[VGPR_PAIR.at(0), VGPR.at(2), SGPR_PAIR.at(0)])
        self.pair, self.single, self.scalar = self.entry.args

    def add(self, block: Block, lines: Sequence[Line], end: Operation, common: list[SSAValue]):
        """The operations of some lines; a use without a load is left out."""
        loads = list(common)
        checks: list[str] = []
        for line in [*lines, None]:
            if isinstance(line, Wait):
                block.add_op(_wait(line))
                checks += [f"{line.phase} {counter} {count}" for counter, count in line.counts]
                continue
            if line is None:
                op = end
            elif isinstance(line, Use):
                if not loads:
                    continue
                value = loads[line.load % len(loads)]
                other = self.single if line.other is None else loads[line.other % len(loads)]
                op = AluOp.create(
                    operands=[value, other],
                    result_types=[VGPR],
                    properties={"opcode": StringAttr("v_add_u32_e32")},
                )
            else:
                followed = isinstance(line, Follow)
                name = FOLLOWED if followed else line
                op = self.memory(name, loads[line.load] if followed else None)
                loads += op.results
            due = checks if line is None or _is_noticed(line) else _not_of_releases(checks)
            if due:
                op.attributes[CHECKS] = ArrayAttr([StringAttr(each) for each in due])
                checks = [each for each in checks if each not in due]
            block.add_op(op)
        return loads

    def memory(self, name: str, pointer: SSAValue | None = None) -> Operation:
        row = row_of(name)
        properties: dict[str, Attribute] = {"opcode": StringAttr(row.opcode)}
        if name in ATOMIC:
            properties["phase"] = PHASES[Phase.ACCESS]
        if row.modifiers:
            properties["modifiers"] = ArrayAttr([StringAttr(bit) for bit in row.modifiers])
        address = self.pair if pointer is None else pointer
        if row.opcode.startswith(("ds_", "scratch_")):
            address = self.single
        elif row.kind == SCALAR:
            address = self.scalar
        operands: list[SSAValue] = []
        if row.op in (LoadOp, StoreOp):
            operands = [address] if row.op is LoadOp else [address, self.single]
        result = VGPR_PAIR if name == POINTER else VGPR
        results = [result] if row.op is LoadOp else []
        op = row.op.create(operands=operands, result_types=results, properties=properties)
        op.attributes["row"] = StringAttr(name)
        if row.invariant:
            op.attributes[INVARIANT] = UnitAttr()
        return op


def row_of(name: str) -> Row:
    """The row of an operation."""
    return ROWS[name] if name in ROWS else OF_POINTERS[name]


def _is_noticed(line: Line) -> bool:
    """Whether others can observe when it is done, or what it does."""
    if isinstance(line, Follow):
        return True
    return isinstance(line, str) and (
        row_of(line).op in (CacheOp, BarrierOp) or row_of(line).released
    )


def _not_of_releases(checks: Sequence[str]) -> list[str]:
    return [each for each in checks if not each.startswith(Phase.RELEASE)]


def _wait(line: Wait) -> WaitOp:
    properties: dict[str, Attribute] = {name: count_attr(count) for name, count in line.counts}
    if line.phase is not None:
        properties["phase"] = PHASES[line.phase]
    return WaitOp.create(properties=properties)


Targets: TypeAlias = tuple[tuple[int, ...], ...]
Blocks: TypeAlias = Sequence[tuple[Sequence[Line], Sequence[int]]]
"""The lines of each block, and to which others it goes."""


def kernel_of(blocks: Blocks) -> KernelOp:
    """A kernel of blocks, each going to some of the others, or if to none ending.

    A block uses what the first one or it itself loaded.
    """
    builder = _Builder()
    made = [builder.entry, *(Block() for _ in blocks[1:])]
    common: list[SSAValue] = []
    for block, (lines, targets) in zip(made, blocks, strict=True):
        successors = [made[each] for each in targets]
        if not successors:
            end = EndOp.create(properties={"opcode": StringAttr("s_endpgm")})
        elif len(successors) == 1:
            end = BranchOp.create(successors=successors)
        else:
            end = CondBranchOp.build(operands=[builder.scalar, [], []], successors=successors)
        loads = builder.add(block, lines, end, common)
        common = loads if block is builder.entry else common
    return kernel_with(made)


def kernel_with(blocks: Sequence[Block]) -> KernelOp:
    """A kernel without arguments, for gfx942."""
    sizes = ("group_segment_size", "private_segment_size", "workgroup_ids", "workitem_ids")
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr("k"),
        "chip": StringAttr("gfx942"),
        "arguments": ArrayAttr([]),
        **{name: count_attr(0) for name in sizes},
        "max_workgroup_size": count_attr(1024),
    }
    return KernelOp.create(properties=properties, regions=[Region(blocks)])


def drawn_blocks(seed: int) -> Blocks:
    """The blocks of a seed: one or two, two paths that meet, loops, or any graph."""
    drawn = random.Random(seed)
    names = drawn.choice(_SIMILAR)

    def lines(most: int) -> list[Line]:
        return [_line(drawn, names) for _ in range(drawn.randint(0, most))]

    def target() -> int:
        return drawn.randint(1, 3)

    graphs: tuple[Targets, ...] = (
        ((),),
        ((1,), ()),
        ((1, 2), (3,), (3,), ()),
        ((1,), (1, 2), ()),
        ((1,), (2,), (3,), (1, 4), ()),
        ((1, target()), (1, target()), (2, target()), ()),
    )
    graph = graphs[seed % len(graphs)]
    most = max(2, 9 // len(graph))
    return [(lines(most), targets) for targets in graph]


_RELEASE, _ACQUIRE = Phase.RELEASE, Phase.WAIT
RELEASE = Wait(_RELEASE, ((VMCNT, 0), (LGKMCNT, 0)))
ACQUIRE = Wait(_ACQUIRE, ((VMCNT, 0), (LGKMCNT, 0)))
SYSTEM = "invalidate for the system"


def data(vmcnt: int | None = None, lgkmcnt: int | None = None) -> Wait:
    """A wait without a phase."""
    counts = ((VMCNT, vmcnt), (LGKMCNT, lgkmcnt))
    return Wait(None, tuple((name, count) for name, count in counts if count is not None))


def straight(*lines: Line) -> Blocks:
    """One block."""
    return [(lines, ())]


def meeting(
    first: Sequence[Line], left: Sequence[Line], right: Sequence[Line], *last: Line
) -> Blocks:
    """Two paths that meet."""
    return [(first, (1, 2)), (left, (3,)), (right, (3,)), (last, ())]


KERNELS: dict[str, Blocks] = {
    "a flat access on one path": meeting(["store"], ["flat load"], [], "private", RELEASE),
    "a flat access on the other path": meeting(["store"], [], ["flat load"], "private", RELEASE),
    "an invalidate on one path": meeting(["store"], [SYSTEM], [], "private", RELEASE),
    "an invalidate on the other path": meeting(["store"], [], [SYSTEM], "private", RELEASE),
    "an LDS store on one path": meeting([], ["LDS store"], [], RELEASE, "flag up"),
    "an LDS store on the other path": meeting([], [], ["LDS store"], RELEASE, "flag up"),
    "a flat flag behind which some are done": straight(
        "flat flag up", "store", "store", "store", data(2), ACQUIRE
    ),
    "a flag before a flat load": straight("flag up", "flat load", "store", "store", data(2), ACQUIRE),
    "a flat load of what never changes": straight(
        "store", "flat invariant", "private", "private", RELEASE
    ),
    "LDS is done, memory is not": straight("store", data(lgkmcnt=0), RELEASE),
    "memory is done, LDS is not": straight("LDS store", data(0), RELEASE, "flag up"),
    "all of LDS and some of memory is done": straight("store", data(1, 0), RELEASE),
    "some of LDS and all of memory is done": straight("LDS store", data(0, 1), RELEASE, "flag up"),
    "an acquire between a release and what tells": straight(
        "LDS store", RELEASE, ACQUIRE, "flag up"
    ),
    "what tells is in the next block": [(["LDS store", RELEASE], (1,)), (["flag up"], ())],
    "what tells is in the next round": [
        ([], (1,)), (["flag up"], (2,)), (["LDS store", RELEASE], (3,)), ([], (1, 4)), ([], ()),
    ],
    "an invalidate alone on one path": meeting([], [SYSTEM], [], RELEASE),
    "an invalidate alone on the other path": meeting([], [], [SYSTEM], RELEASE),
    "one of a store and an invalidate": straight("store", SYSTEM, data(1), "barrier"),
    "two of a store and two invalidates": straight("store", SYSTEM, SYSTEM, data(2), "barrier"),
    "two loads for one use": straight("load", "store", "load", "store", Use(0, 1)),
    "two loads for one use, the younger first": straight("load", "load", "store", Use(1, 0)),
    "some loads are there": straight("load", "load", "load", data(1), Use(1), Use(2)),
    "one load is there": straight("load", "load", "load", data(2), Use(0), Use(1)),
    "a flat load beside another on one path": meeting(["load"], ["flat load"], [], "store", Use(0)),
    "a flat load beside another on the other path": meeting(
        ["load"], [], ["flat load"], "store", Use(0)
    ),
    "a flat load that may be there": straight("flat load", "load", "load", data(1), Use(0)),
    "a flat load again, not waited for in memory": [
        ([], (1,)), (["flat load", data(lgkmcnt=0)], (1, 2)), ([], ()),
    ],
    "a flat load from where another says": straight(POINTER, Follow(0)),
    "a flat load from where another says, in a loop": [
        ([POINTER], (1,)), ([Follow(0), "flat load"], (1, 2)), ([], ()),
    ],
    "a flat load from where one on one counter says": straight(POINTER, data(0), Follow(0)),
    "a load before a flat one": straight("load", "flat load", "store", data(1), Use(0)),
    "fewer younger ones on one path": meeting(["load"], [], ["store", "store"], Use(0)),
    "fewer younger ones on the other path": meeting(["load"], ["store", "store"], [], Use(0)),
    "a load on one path": meeting(["load", "load"], [Use(0)], [], "store", Use(0)),
    "a wait that is there whatever it is for": straight(
        "store", Wait(Phase.ACCESS, ((VMCNT, 0),)), "barrier"
    ),
    "a volatile access to private memory": straight("volatile private", ACQUIRE, "load"),
    "a release before what nobody can tell of": straight(
        "store", RELEASE, "private", "constant", "load invariant", "flag up"
    ),
    "a release before another store": straight("LDS store", RELEASE, "LDS flag"),
    "an ordering wait before a use": straight(
        "load", "LDS load", Wait(_RELEASE, ((VMCNT, 0),)), Use(0), Use(1)
    ),
    "an ordering wait for LDS before a use": straight(
        "load", "LDS load", Wait(_ACQUIRE, ((LGKMCNT, 0),)), Use(0)
    ),
    "a scalar load behind a store to LDS": straight("LDS store", "constant", RELEASE, "flag up"),
    "what tells is on one path": meeting(["LDS store", RELEASE], ["flag up"], []),
    "what tells is on the other path": meeting(["LDS store", RELEASE], [], ["barrier"]),
}  # fmt: skip
"""Kernels that are there for one rule each."""


# The interpreter


@dataclass(frozen=True)
class Pending:
    """Something outstanding on one counter: the row and the place of what it is of.

    ``promised``: a release was to wait for it, and left it to the order of LDS.
    """

    row: str
    counter: str
    place: int
    promised: bool = False

    @property
    def kind(self) -> str:
        """What it counts as."""
        kind = row_of(self.row).kind
        assert kind is not None
        return kind


State = tuple[Pending, ...]
"""What is outstanding, in the order of issue."""

STATES = 3_000
"""How many states of a kernel are looked at."""

MOST = 6
"""How many operations may be outstanding, each on one counter, in a state that is looked at."""


def completed(state: State) -> Iterator[State]:
    """Every state after one completion: in order only within one ordered kind alone."""
    for counter in (VMCNT, LGKMCNT):
        mine = [n for n, each in enumerate(state) if each.counter == counter]
        strict = [n for n in mine if state[n].kind != MAY_COUNT]
        kinds = {state[n].kind for n in strict}
        first = strict[:1] if kinds in ({VECTOR}, {LDS}) else strict
        for n in [*first, *(n for n in mine if state[n].kind == MAY_COUNT)]:
            yield state[:n] + state[n + 1 :]


def settled(state: State) -> set[State]:
    """Every state that completions lead to."""
    todo, seen = [state], {state}
    while todo:
        for later in completed(todo.pop()):
            if later not in seen:
                seen.add(later)
                todo.append(later)
    return seen


class Interpreter:
    """Looks at every state of a kernel, up to so many."""

    def __init__(self, kernel: KernelOp):
        self.blocks = list(kernel.body.blocks)
        self.ops = [list(block.ops) for block in self.blocks]
        self.places = {op: n for n, op in enumerate(op for ops in self.ops for op in ops)}

    def problem(self) -> str:
        """The first thing that goes wrong; empty if nothing does."""
        todo: list[tuple[int, int, State]] = [(0, 0, ())]
        seen = set(todo)
        while todo and len(seen) < STATES:
            block, at, pending = todo.pop(0)
            op = self.ops[block][at]
            for state in settled(pending):
                found, state = self.checked(op, state)
                if found:
                    return f"{op.name} in block {block}: {found}"
                for following in self.step(block, at, op, state):
                    if following not in seen:
                        seen.add(following)
                        todo.append(following)
        return ""

    def checked(self, op: Operation, state: State) -> tuple[str, State]:
        """What is wrong where ``op`` comes next, and what is outstanding with what was promised."""
        made_by = {self.places[v.owner] for v in op.operands if isinstance(v.owner, Operation)}
        if any(each.place in made_by for each in state):
            return "uses what is not there", state
        if op.results and any(
            each.place == self.places[op] and each.kind in (FLAT, SCALAR) for each in state
        ):
            return "may be overtaken by its older self", state
        checks = op.attributes.get(CHECKS)
        if isinstance(checks, ArrayAttr):
            for check in cast(ArrayAttr[StringAttr], checks):
                phase, counter, count = check.data.split()
                if phase not in (Phase.RELEASE, Phase.WAIT):
                    if _too_many(counter, int(count), state):
                        return f"more than {count} are outstanding on {counter}", state
                    continue
                found, state = _after_wait(phase, counter, state)
                if found:
                    return found, state
        name = op.attributes.get("row")
        if isinstance(name, StringAttr) and row_of(name.data).signals:
            if any(each.promised for each in state):
                return "tells of LDS too early", state
        return "", state

    def step(
        self, block: int, at: int, op: Operation, state: State
    ) -> Iterator[tuple[int, int, State]]:
        """The states after an operation."""
        if isinstance(op, WaitOp):
            for counter, count in ((VMCNT, op.counts.vmcnt), (LGKMCNT, op.counts.lgkmcnt)):
                if count is not None and sum(each.counter == counter for each in state) > count:
                    return
        if op.successors:
            for target in op.successors:
                yield self.blocks.index(target), 0, state
            return
        if isinstance(op, EndOp):
            return
        name = op.attributes.get("row")
        kind = row_of(name.data).kind if isinstance(name, StringAttr) else None
        if isinstance(name, StringAttr) and kind is not None:
            added = tuple(Pending(name.data, c, self.places[op]) for c in COUNTERS[kind])
            if len(state) + len(added) <= MOST:
                yield block, at + 1, (*state, *added)
            if kind != MAY_COUNT:
                return
        yield block, at + 1, state


def _too_many(counter: str, count: int, state: State) -> bool:
    """Whether more are outstanding; that invalidates are alone is no reason to wait."""
    mine = [each.kind for each in state if each.counter == counter]
    return len(mine) > count and set(mine) != {MAY_COUNT}


def _after_wait(phase: str, counter: str, state: State) -> tuple[str, State]:
    after: list[Pending] = []
    for each in state:
        row = row_of(each.row)
        covered = row.released if phase == Phase.RELEASE else row.acquired
        if each.counter == counter and covered:
            if phase != Phase.RELEASE or each.kind != LDS:
                return f"the {phase} should have waited for the {each.row}", state
            each = replace(each, promised=True)
        after.append(each)
    return "", tuple(after)


# As trials

FILES = frozenset(
    {
        "passes/cdna/waits/sink_waits.py",
        "passes/cdna/waits/loosen_waits.py",
        "passes/cdna/waits/insert_waits.py",
        "passes/cdna/waits/decision.py",
        "passes/cdna/dataflow.py",
        "lowering/cdna/counters/scoreboard.py",
    }
)
"""The files that decide how these kernels wait."""


@dataclass(frozen=True)
class WaitTrial:
    """A kernel, by its name in ``KERNELS`` or by its seed."""

    kernel: str | int

    is_fit = True

    def __str__(self) -> str:
        return f"{PREFIX}{self.kernel}"

    @property
    def begin(self) -> ModuleOp:
        """The kernel before."""
        name = self.kernel
        blocks = KERNELS[name] if isinstance(name, str) else drawn_blocks(name)
        return ModuleOp([kernel_of(blocks)])

    def lowered(self) -> KernelOp:
        """The kernel with its waits."""
        return _with_waits(self.begin)

    def problem(self) -> str:
        """What is wrong with the waits of the kernel now."""
        return Interpreter(self.lowered()).problem()


PREFIX = "waits: "


def find(said: str) -> WaitTrial:
    """The trial that is called so."""
    name = said.removeprefix(PREFIX)
    return WaitTrial(int(name) if name.isdecimal() else name)


RANDOM = 200
"""How many random ones there are."""


def staged(file: str) -> "Iterator[StagedWaits]":
    """The kernels for a file, if there are any."""
    if file in FILES:
        for each in [*KERNELS, *range(RANDOM)]:
            yield StagedWaits(WaitTrial(each))


def _with_waits(module: ModuleOp) -> KernelOp:
    for each in (SinkWaitsPass(), LoosenWaitsPass(), InsertWaitsPass()):
        each.apply(Context(), module)
    (kernel,) = module.ops
    assert isinstance(kernel, KernelOp)
    return kernel


class StagedWaits:
    """A trial whose kernel gets its waits again and again; see ``pass_trials.Staged``."""

    is_cheap = True

    def __init__(self, trial: WaitTrial):
        self.trial = trial
        self.begin = trial.begin
        self.text = str(trial.lowered())
        self.judged: dict[str, str] = {}

    def again(self) -> tuple[str, int] | None:
        """What is wrong with the waits now, and how many more there are; None if it is what it was."""
        kernel = _with_waits(self.begin.clone())
        if (text := str(kernel)) == self.text:
            return None
        if text not in self.judged:
            self.judged[text] = Interpreter(kernel).problem()
        return self.judged[text], text.count("\n") - self.text.count("\n")
