"""Rows that hold on every CDNA chip; the files of the generations add the differences."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from types import MappingProxyType
from typing import Any, cast

from fencewright.lowering.cdna.chip import (
    SPACES,
    BareInstruction,
    Chip,
    Code,
    Covers,
    GenerationRows,
    Hint,
)
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.counters.waits import as_they_are
from fencewright.lowering.sequence import WaitCounts
from fencewright.lowering.skeleton import SkeletonStep, Steps
from fencewright.lowering.table import Illegal, Row, Table, TableError, row
from fencewright.lowering.vocabulary import AddressSpace, Compat, L2PerAgent, Operation, Scope

NARROW = (Scope.SINGLETHREAD, Scope.WAVEFRONT)
"""Scopes inside one wave, whose operations are issued in program order."""

AGENT = (Scope.CLUSTER, Scope.AGENT)
"""Agent scope; a cluster is no hardware scope before gfx1250, so the next wider one serves."""

WIDE = (*AGENT, Scope.SYSTEM)

NOTHING = WaitCounts()
MEMORY = WaitCounts(vmcnt=0)
LDS = WaitCounts(lgkmcnt=0)

_MODEL = "LLVM AMDGPUUsage, Memory Model GFX6-GFX942"
_COUNTERS = "MI300 ISA 4.4, wait counters"
_TRANSITIVE = (
    "happens-before is transitive across scopes (LLVM AMDGPUUsage, Memory Model), so a wider "
    "release by another wave must find this wave's stores already in L2; and LDS and vector "
    "memory are separate pipes, so a flag in one orders data in the other only by a wait"
)

MATES_STORES = (
    "stores carry no scope: one of a mate to the agent is in the L1 before it is in L2, and a "
    "wider release by the wave that reads it there waits for its own stores alone; glc reads it in "
    "L2"
)
"""The reason that a load of the work-group misses the L1 on chips whose stores keep the line."""

WAIT_ROWS: tuple[Row[WaitCounts], ...] = (
    row(NOTHING, f"{_MODEL}: a wave issues in order", scope=NARROW,
        space=(AddressSpace.GENERIC, AddressSpace.GLOBAL, AddressSpace.LOCAL)),
    # Vector memory.
    row(MEMORY, f"{_COUNTERS}: stores retire when in L2", space=AddressSpace.GLOBAL, scope=WIDE),
    row(MEMORY, f"{_MODEL}: tgsplit, waves may sit on different CUs",
        space=AddressSpace.GLOBAL, scope=Scope.WORKGROUP, tgsplit=True),
    row(MEMORY, _TRANSITIVE,
        space=AddressSpace.GLOBAL, scope=Scope.WORKGROUP, tgsplit=False, compat=None),
    row(NOTHING, f"{_MODEL}: one CU keeps its waves' vector memory in order",
        space=AddressSpace.GLOBAL, scope=Scope.WORKGROUP, tgsplit=False, compat=Compat.LLVM),
    # LDS.
    row(LDS, f"{_MODEL}: LDS is a pipe of its own",
        space=AddressSpace.LOCAL, scope=(Scope.WORKGROUP, *WIDE), tgsplit=False),
    row(NOTHING, f"{_MODEL}: tgsplit work-groups have no LDS",
        space=AddressSpace.LOCAL, scope=(Scope.WORKGROUP, *WIDE), tgsplit=True),
    # Generic: a flat access may be either, and counts in both.
    row(MEMORY | LDS, f"{_COUNTERS}: flat counts in both",
        space=AddressSpace.GENERIC, scope=WIDE, tgsplit=False),
    row(MEMORY | LDS, _TRANSITIVE,
        space=AddressSpace.GENERIC, scope=Scope.WORKGROUP, tgsplit=False, compat=None),
    row(LDS, f"{_MODEL}: one CU keeps its waves' vector memory in order",
        space=AddressSpace.GENERIC, scope=Scope.WORKGROUP, tgsplit=False, compat=Compat.LLVM),
    row(MEMORY, f"{_MODEL}: tgsplit work-groups have no LDS",
        space=AddressSpace.GENERIC, scope=(Scope.WORKGROUP, *WIDE), tgsplit=True),
    # No other thread sees private memory; only a volatile access to it is waited for.
    row(NOTHING, f"{_MODEL}: private memory is the thread's own",
        space=AddressSpace.PRIVATE, scope=NARROW),
    row(MEMORY, f"{_MODEL}: volatile private",
        space=AddressSpace.PRIVATE, scope=(Scope.WORKGROUP, *WIDE)),
    row(NOTHING, f"{_MODEL}: constant memory takes no part", space=AddressSpace.CONSTANT),
)  # fmt: skip

_RELEASE_FIRST = (SkeletonStep.WRITE_BACK, SkeletonStep.RELEASE_WAIT, SkeletonStep.INVALIDATE)
_LDS_FIRST = (
    SkeletonStep.LDS_WAIT,
    SkeletonStep.WRITE_BACK,
    SkeletonStep.CACHE_WAIT,
    SkeletonStep.INVALIDATE,
)
_ACQUIRE_FIRST = (
    SkeletonStep.RELEASE_WAIT,
    SkeletonStep.INVALIDATE,
    SkeletonStep.WRITE_BACK,
    SkeletonStep.CACHE_WAIT,
)
_RELAYS = "certified by tests/unit/test_acq_rel_fences.py"

FENCE_ROWS: tuple[Row[Steps], ...] = (
    row(_RELEASE_FIRST, f"{_MODEL}: fence acq_rel", compat=Compat.LLVM),
    row(_RELEASE_FIRST, f"{_MODEL}: a wave issues in order", scope=NARROW, compat=None),
    row(_LDS_FIRST, "a mate's flag in LDS says that it left something dirty; flags in memory "
        f"come through the same queues as what they are for: {_RELAYS}",
        scope=(Scope.WORKGROUP, *AGENT), tgsplit=False, compat=None),
    row(_ACQUIRE_FIRST, f"a mate on another CU left something dirty: {_RELAYS}",
        scope=(Scope.WORKGROUP, *AGENT), tgsplit=True, compat=None),
    row(_ACQUIRE_FIRST, "one who released to the agent left something dirty in its one L2: "
        f"{_RELAYS}", scope=Scope.SYSTEM, compat=None),
)  # fmt: skip
"""(scope, tgsplit, compat) -> the steps of an acq_rel or seq_cst fence that writes back.

The fence writes back what a read before it has acquired, even if that read is not done yet. The
write-back must be done before a relaxed write after it signals a thread that invalidates less.
"""

BARRIER_ROWS: tuple[Row[Code | Illegal], ...] = (
    row((), "MI300 ISA 3: the lanes of a wave execute together", scope=NARROW),
    row(
        Illegal("s_barrier joins the waves of one work-group only", ("workgroup", "wavefront")),
        "MI300 ISA 4.3, s_barrier",
        scope=WIDE,
    ),
)

STEP_ROWS: tuple[Row[Steps], ...] = tuple(
    row((step,), f"{_MODEL}: the skeleton's order", step=step) for step in SkeletonStep
)

BEFORE_ROWS: tuple[Row[Code], ...] = (
    row((), f"{_COUNTERS}: an access waits for its operands alone"),
)

_NO_LDS = Illegal(
    "a threadgroup-split work-group may span CUs and has no LDS", ("global", "generic")
)
_NOT_WRITABLE = Illegal("constant memory is not written", ("global",))
_NO_ATOMIC = Illegal("constant memory has no atomic accesses", ("weak", "global"))
_READ, *_WRITE = (op for op in Operation if op.is_access)
_SHARED = (AddressSpace.GENERIC, AddressSpace.GLOBAL, AddressSpace.PRIVATE)

LEGAL_ROWS: tuple[Row[Illegal | None], ...] = (
    row(None, _MODEL, space=_SHARED),
    row(None, _MODEL, space=AddressSpace.LOCAL, tgsplit=False),
    row(_NO_LDS, f"{_MODEL}: tgsplit", space=AddressSpace.LOCAL, tgsplit=True),
    row(None, _MODEL, space=AddressSpace.CONSTANT, operation=_READ, atomic=False),
    row(_NO_ATOMIC, "LLVM SIMemoryLegalizer: unsupported atomic address space",
        space=AddressSpace.CONSTANT, operation=_READ, atomic=True),
    row(_NOT_WRITABLE, f"{_MODEL}: constant memory does not change during a dispatch",
        space=AddressSpace.CONSTANT, operation=tuple(_WRITE)),
)  # fmt: skip


@cache
def load_chip(name: str) -> Chip:
    """The chip called ``name`` with the rules of its generation and those of all.

    Raises ``TableError`` where the generation's file or some of its rows are missing.
    """
    chip = CHIPS[name]
    generation = chip.generation
    module = f"fencewright.lowering.cdna.generations.{generation}"
    if find_spec(module) is None:
        raise TableError(f"{generation}: no file of rows lowering/cdna/generations/{generation}.py")
    own = import_module(module)
    rows = cast(GenerationRows, own)
    if missing := [each for each in GenerationRows.__annotations__ if not hasattr(rows, each)]:
        raise TableError(
            f"{generation}: lowering/cdna/generations/{generation}.py lacks {', '.join(missing)}"
        )
    mode = {"scope": Scope, "tgsplit": (False, True)}
    compat = {"compat": (None, *Compat)}
    access = {"operation": (_READ, *_WRITE)}
    legal = {**access, "atomic": (False, True), "space": SPACES, "tgsplit": (False, True)}
    write_back = {**mode, "l2_per_agent": L2PerAgent, **compat}
    wait = {"space": SPACES, **mode, **compat, "covers": Covers}
    before = {**access, "atomic": (False, True), "volatile": (False, True), "space": SPACES}

    def ours(rows: str) -> Any:
        return getattr(own, rows, OWN[rows])

    return Chip(
        name,
        chip.feature_sets[-1],
        Table(f"{name} steps", {"step": SkeletonStep, **compat}, ours("STEP_ROWS")),
        Table(f"{name} fence that writes back", {**mode, **compat}, ours("FENCE_ROWS")),
        Table(f"{name} write-back", write_back, rows.WRITE_BACK_ROWS),
        Table(f"{name} invalidate", mode, rows.INVALIDATE_ROWS),
        Table(f"{name} wait", wait, ours("WAIT_ROWS")),
        Table(f"{name} wait before an access", before, ours("BEFORE_ROWS")),
        Table(f"{name} cache policy", {**access, "hint": Hint, **mode, **compat}, rows.POLICY_ROWS),
        Table(f"{name} returned value", {"returns": (False, True)}, rows.RETURNING_ROWS),
        Table(f"{name} barrier", {"scope": Scope}, rows.BARRIERS),
        Table(f"{name} legal accesses", legal, LEGAL_ROWS),
        ours("ENCODE"),
    )


@cache
def wait_after(chip: str, mnemonic: str, modifiers: tuple[str, ...]) -> WaitCounts:
    """The wait in the chip's rows right after cache maintenance, which completes it."""
    instruction, rows = BareInstruction(mnemonic, modifiers), load_chip(chip)
    for each in (*rows.invalidate.rows, *rows.write_back.rows):
        for step, following in pairwise(each.value):
            if step == instruction and isinstance(following, WaitCounts):
                return following
    return NOTHING


OWN: Mapping[str, Any] = MappingProxyType(
    {
        "STEP_ROWS": STEP_ROWS,
        "FENCE_ROWS": FENCE_ROWS,
        "WAIT_ROWS": WAIT_ROWS,
        "BEFORE_ROWS": BEFORE_ROWS,
        "ENCODE": as_they_are,
    }
)
"""Defaults for a generation whose file lacks the rows."""
