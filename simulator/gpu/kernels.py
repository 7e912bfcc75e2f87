"""The stress kernels of a litmus test: the placement of its threads, and the PTX text.

Each GPU thread runs one thread of the program for one *instance* of it. Blocks take turns: a
block has the program's threads of one CTA, each in a warp of its own, for many instances.
Partners sit far apart: the instance of a block's thread is multiplied by an odd number for
every cluster but the first, and each location has its own permutation. A second kernel
turns final registers and memory into one number for each instance and counts them, so that
only the histogram leaves the GPU.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise, starmap
from math import prod

from fencewright.lowering.ptx.chip import CHIPS, PtxChip, PtxForm, default_version, forms_of
from fencewright.lowering.ptx.code.statements import (
    SCOPE_WORDS,
    names_in,
    opcode_of,
    read_statement,
)
from fencewright.lowering.ptx.module import PtxKernel, Variable, module_text
from fencewright.lowering.vocabulary import MOST_THREADS, AddressSpace, Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import Comparison, Memory, Observable, Outcomes, Register
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Move,
    Operand,
    Thread,
)
from fencewright.simulator.ptx.builder import ORDERINGS
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    ClusterBarrier,
    CompareBranch,
    Ld,
    MbarrierArrive,
    MbarrierWait,
    ProxyFence,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    PtxProxy,
    St,
    assigned,
    operands,
    variables,
)
from fencewright.simulator.ptx.formats.columns import instruction_text
from fencewright.simulator.ptx.instructions import (
    AsyncCopy,
    AsyncInstruction,
    CommitGroup,
    Hint,
    MbarrierTx,
    Multimem,
    WaitGroup,
)
from fencewright.simulator.ptx.outcomes import outcomes

WARP = 32
MOST_OUTCOMES = 1 << 20
MOST_SHARED = 64 * 1024
"""Bytes of shared memory that a block may have on every chip from sm_70 on.

Source: CUDA Programming Guide, "Compute Capabilities", maximum shared memory per thread block.
"""
MOST_PASSES = 1 << 12
"""The number of jumps back after which a thread gives up, and its instance with it."""


class GpuLitmusError(ValueError):
    """A test, or a setting, that the stress kernel cannot run; the message has the reason."""


# The launch


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: threads in a block, the multiplier of instances, bytes between locations."""

    block_size: int
    stride: int
    spacing: int


MULTIPLIERS = (1, 7, 11, 13, 19, 23, 29, 31)
"""By which each location's instances are permuted: location l of instance i is at (m*i + 3l) mod
n."""


def place(location: int, instance: int, instances: int) -> int:
    """The place of an instance's ``location``-th location among ``instances``, a power of two."""
    return (MULTIPLIERS[location] * instance + 3 * location) % instances


# The spread of a program over blocks


@dataclass(frozen=True)
class Arrangement:
    """The program's threads by cluster and CTA: ``clusters[m][rank]`` are those of one CTA.

    ``gpus`` has the clusters of each GPU, one after another.
    """

    clusters: tuple[tuple[tuple[int, ...], ...], ...]
    gpus: tuple[range, ...]

    @cached_property
    def width(self) -> int:
        """Blocks in a launched cluster; 1 when none is launched."""
        return max(len(cluster) for cluster in self.clusters)

    @cached_property
    def roles(self) -> int:
        """Program threads in a block, at most."""
        return max(len(cta) for cluster in self.clusters for cta in cluster)

    def slots(self, block_size: int) -> int:
        """Instances in a block: a power of two of whole warps, fewer than asked if need be."""
        warps = block_size // (WARP * self.roles)
        return WARP << max(warps.bit_length() - 1, 0)

    def blocks(self, slots: int, instances: int, gpu: int = 0) -> int:
        """The size of a GPU's grid, with ``slots`` instances in a block."""
        return instances // slots * len(self.gpus[gpu]) * self.width

    def home(self, thread: int) -> tuple[int, int]:
        """The cluster and the CTA in it that a thread of the program is in."""
        return next(
            (m, rank)
            for m, cluster in enumerate(self.clusters)
            for rank, cta in enumerate(cluster)
            if thread in cta
        )

    def key(self, thread: int) -> int:
        """The number by which GPU threads find out that they run ``thread``."""
        m, rank = self.home(thread)
        return (m * self.width + rank) * self.roles + self.clusters[m][rank].index(thread)

    @property
    def is_full(self) -> bool:
        """True if every block has as many program threads as every other."""
        keys = len(self.clusters) * self.width * self.roles
        return keys == sum(len(cta) for cluster in self.clusters for cta in cluster)


def arrange(program: PtxProgram) -> Arrangement:
    """The threads that share a block, a cluster and a GPU."""
    agents: dict[int, dict[object, dict[int, list[int]]]] = {}
    for number, thread in enumerate(program.threads):
        place = thread.placement
        cta = place.workgroup
        key = ("cta", cta) if place.cluster is None else ("cluster", place.cluster)
        clusters = agents.setdefault(place.agent, {})
        clusters.setdefault(key, {}).setdefault(cta, []).append(number)
    ends = list(accumulate(map(len, agents.values()), initial=0))
    found = Arrangement(
        tuple(
            tuple(tuple(cta) for cta in ctas.values())
            for clusters in agents.values()
            for ctas in clusters.values()
        ),
        tuple(starmap(range, pairwise(ends))),
    )
    if found.roles * WARP > MOST_THREADS:
        raise GpuLitmusError(f"a CTA has more than {MOST_THREADS // WARP} threads of the program")
    if found.width > 8:
        raise GpuLitmusError("a cluster has more than 8 CTAs")
    return found


# The counts


@dataclass(frozen=True)
class Encoding:
    """Final states as numbers: ``limits`` has the largest value of each observable plus one.

    A value that is not below its limit counts as the limit, and reads back as None.
    """

    observables: tuple[Observable, ...]
    limits: tuple[int, ...]

    @cached_property
    def size(self) -> int:
        """The number of encoded numbers."""
        return prod(limit + 1 for limit in self.limits)

    def encode(self, values: Sequence[int]) -> int:
        """The number of a final state."""
        code = 0
        for value, limit in zip(values, self.limits, strict=True):
            code = code * (limit + 1) + min(value, limit)
        return code

    def decode(self, code: int) -> tuple[int | None, ...]:
        """The final state of a number."""
        values: list[int | None] = []
        for limit in reversed(self.limits):
            code, value = divmod(code, limit + 1)
            values.append(None if value == limit else value)
        return tuple(reversed(values))


def encoding_of(allowed: Outcomes) -> Encoding:
    """An encoding with a number for every allowed state. Raises ``GpuLitmusError``."""
    if not allowed.states or any(None in state for state in allowed.states):
        raise GpuLitmusError("a thread of it may wait for ever, and would hang the GPU")
    columns = tuple(zip(*allowed.states, strict=True))
    values = [[value or 0 for value in column] for column in columns]
    encoding = Encoding(allowed.observables, tuple(max(column) + 1 for column in values))
    if encoding.size > MOST_OUTCOMES:
        raise GpuLitmusError(
            f"it has over {MOST_OUTCOMES} conceivable outcomes; observe less, or store smaller "
            "values"
        )
    return encoding


# The kernels

STRESS, COUNT = "stress", "count"
_SCRATCH = "scratch"
_ORDERING_WORDS = {ordering: word for word, ordering in ORDERINGS.items()}
_FIRST_CHIPS = {"bulk copies": 90, "mbarrier.try_wait": 90}
"""The number of the first chip that has something. Source: PTX ISA, cp.async.bulk; mbarrier."""
_COPY_BYTES = 16
"""The least that a bulk copy copies. Source: PTX ISA, "cp.async.bulk"."""
_WORD_BYTES = 4
_WAITING = Bar | MbarrierWait
_LAST = Move("end", 1)
"""Appended to a thread to see whether it ends."""
_GAVE_UP = 0
"""The value that a thread that gives up writes for its instance; no other thread writes there."""
_HINTS = frozenset({"prefetch", "cp async bulk prefetch"})
"""The hints that are run, of global memory."""
_MINE = 0
"""The barrier that blocks start and end with; the program's own are numbered from 1."""

GATE = (
    "mov.u32 %t, %tid.x;",
    "setp.ne.u32 %p, %t, 0;",
    "@%p bra OPEN;",
    "red.relaxed.sys.global.add.u32 [%gate], 1;",
    f"mov.u32 %u, {MOST_PASSES};",
    "CLOSED:",
    "ld.relaxed.sys.global.u32 %v, [%gate];",
    "sub.u32 %v, %v, %opens;",
    "setp.ge.s32 %p, %v, 0;",
    "@%p bra OPEN;",
    "sub.u32 %u, %u, 1;",
    "setp.ne.u32 %p, %u, 0;",
    "@%p bra CLOSED;",
    "OPEN:",
    f"barrier.sync {_MINE};",
)
"""Blocks of all GPUs start together, or after a while: partners that never meet show nothing."""

_ATOMIC_NAMES = {
    RmwKind.ADD: "add.u32",
    RmwKind.AND: "and.b32",
    RmwKind.OR: "or.b32",
    RmwKind.XOR: "xor.b32",
    RmwKind.MIN: "min.s32",
    RmwKind.MAX: "max.s32",
    RmwKind.UMIN: "min.u32",
    RmwKind.UMAX: "max.u32",
    RmwKind.UINC_WRAP: "inc.u32",
    RmwKind.UDEC_WRAP: "dec.u32",
    RmwKind.XCHG: "exch.b32",
}
_COMPUTE_NAMES = {
    ArithmeticKind.ADD: "add.u32",
    ArithmeticKind.SUB: "sub.u32",
    ArithmeticKind.MUL: "mul.lo.u32",
    ArithmeticKind.AND: "and.b32",
    ArithmeticKind.OR: "or.b32",
    ArithmeticKind.XOR: "xor.b32",
    ArithmeticKind.MIN: "min.s32",
    ArithmeticKind.MAX: "max.s32",
}
_SET_NAMES = {
    ArithmeticKind.EQ: "eq.s32",
    ArithmeticKind.NE: "ne.s32",
    ArithmeticKind.LT: "lt.u32",
    ArithmeticKind.LE: "le.u32",
}


@dataclass(frozen=True)
class StressTest:
    """A program made ready: its placement, its counters, the text of each GPU's module.

    ``homes`` has the cluster and the CTA in it of each location in shared memory; the others
    are in global memory. ``cell`` is the least number of bytes that a location needs.
    ``may_give_up``: it has a loop, and there is one counter more, for instances that gave up.
    """

    program: PtxProgram
    arrangement: Arrangement
    encoding: Encoding
    locations: tuple[str, ...]
    homes: Mapping[str, tuple[int, int]]
    cell: int
    may_give_up: bool
    modules: tuple[str, ...]

    def memory_bytes(self, instances: int, spacing: int) -> int:
        """The size of the locations of all instances."""
        size = len(self.locations) * instances * spacing
        if size >= 1 << 32:
            raise GpuLitmusError("the locations take more than 4 GiB: fewer instances or spacing")
        return size

    def register_bytes(self, instances: int) -> int:
        """The size of the observed registers of all instances."""
        columns = len(self.encoding.observables) + self.may_give_up
        return _WORD_BYTES * instances * max(columns, 1)

    @property
    def counters(self) -> int:
        """The number of counters."""
        return self.encoding.size + self.may_give_up

    def slots(self, launch: Launch) -> int:
        """Instances in a block: as many as the launch asks for, if their shared memory fits.

        Raises ``GpuLitmusError`` where not even a warp of them fits.
        """
        slots = self.arrangement.slots(launch.block_size)
        while slots > WARP and slots * self._shared_per_slot(launch) > MOST_SHARED:
            slots //= 2
        if slots * self._shared_per_slot(launch) > MOST_SHARED:
            most = (MOST_SHARED // WARP - 8 * len(self.program.mbarriers)) // len(self.homes)
            raise GpuLitmusError(
                f"a spacing of {launch.spacing} bytes takes more shared memory than a block has "
                f"({MOST_SHARED // 1024} KiB); the most for this test is "
                f"{1 << most.bit_length() - 1}"
            )
        return slots

    def shared_bytes(self, launch: Launch) -> int:
        """The dynamic shared memory of a block: mbarriers, then locations if they are there."""
        return self.slots(launch) * self._shared_per_slot(launch)

    def _shared_per_slot(self, launch: Launch) -> int:
        return 8 * len(self.program.mbarriers) + launch.spacing * len(self.homes)


def prepare(
    program: PtxProgram,
    allowed: Outcomes,
    target: str = "sm_90",
    shared: bool | frozenset[str] = False,
) -> StressTest:
    """The kernels of a program; raises ``GpuLitmusError`` for one that cannot be run so.

    ``allowed`` says what is observed, and which values to distinguish. ``shared`` are the
    locations to put into shared memory, True for all.
    """
    if not allowed.complete:
        raise GpuLitmusError("the model did not find all of its outcomes; raise the bound of loops")
    arrangement = arrange(program)
    encoding = encoding_of(allowed)
    named = (o.location for o in encoding.observables if isinstance(o, Memory))
    locations = tuple(each for each in named if each not in program.mbarriers)
    writer = _ProgramWriter(
        program, arrangement, encoding.observables, locations, shared, _chip(target)
    )
    cell = _COPY_BYTES if writer.copies else _WORD_BYTES
    modules = tuple(writer.module(encoding, gpu) for gpu in range(len(arrangement.gpus)))
    return StressTest(
        program, arrangement, encoding, locations, writer.homes, cell, writer.has_loops, modules
    )


def _chip(target: str) -> PtxChip:
    if (found := next((chip for chip in CHIPS if chip.name == target), None)) is not None:
        return found
    known = ", ".join(chip.name for chip in CHIPS)
    raise GpuLitmusError(f"unknown target '{target}'; known are {known}")


class _ProgramWriter:
    """Writes the module of one program."""

    def __init__(
        self,
        program: PtxProgram,
        arrangement: Arrangement,
        observables: tuple[Observable, ...],
        locations: tuple[str, ...],
        shared: bool | frozenset[str],
        chip: PtxChip,
    ):
        self.program = program
        self.arrangement = arrangement
        self.observables = observables
        self.locations = locations
        self.chip = chip
        self.forms = forms_of(chip, default_version(chip))
        self.mbarriers = tuple(program.mbarriers)
        self.launches_clusters = arrangement.width > 1
        gpus = len(arrangement.gpus)
        self.memories = tuple(f"memory_{gpu}" for gpu in range(gpus)) if gpus > 1 else ("memory",)
        self.copies = [
            (number, each)
            for number, thread in enumerate(program.threads)
            for each in thread.instructions
            if isinstance(each, AsyncCopy)
        ]
        self.has_loops = any(_branches_back(thread) for thread in program.threads)
        self.homes = self._homes(shared)
        self.uses_scratch = bool(self.homes or self.mbarriers)
        self._check()

    def _homes(self, shared: bool | frozenset[str]) -> dict[str, tuple[int, int]]:
        """The locations in shared memory: where copies or the program want them, or near the first
        user."""
        if shared is True and len(self.arrangement.clusters) > 1:
            raise GpuLitmusError("its threads are in different CTAs and share no shared memory")
        chosen = frozenset(self.locations) if shared is True else shared or frozenset[str]()
        found: dict[str, tuple[int, int]] = {}
        for number, copy in self.copies:
            if copy.mbarrier is not None:
                found[copy.location] = self._mbarrier_home(copy.mbarrier)
                if copy.operation is not None and copy.source is not None:
                    found.setdefault(copy.source, self.arrangement.home(number))
            elif copy.source is not None:
                found[copy.source] = self.arrangement.home(number)
        for name, place in self.program.shared.items():
            there = [n for n, each in enumerate(self.program.threads) if each.placement == place]
            if not there:
                raise GpuLitmusError(f"'{name}' is in the shared memory of a CTA without threads")
            found.setdefault(name, self.arrangement.home(there[0]))
        for number, thread in enumerate(self.program.threads):
            for name in sorted(chosen.intersection(variables(thread.instructions))):
                found.setdefault(name, self.arrangement.home(number))
        return {name: found[name] for name in self.locations if name in found}

    def _check(self) -> None:
        if self.program.aliases:
            raise GpuLitmusError("it has aliases; only the generic proxy is run")
        if len(self.locations) > len(MULTIPLIERS):
            raise GpuLitmusError(f"it has more than {len(MULTIPLIERS)} locations")
        if self.launches_clusters and PtxForm.CLUSTER not in self.forms:
            raise GpuLitmusError(f"{self.chip.name} has no clusters; sm_90 has")
        if self.has_loops and (self.mbarriers or self.copies):
            raise GpuLitmusError("it has a loop and mbarriers: who gives up could hang the others")
        for number, thread in enumerate(self.program.threads):
            for instruction in thread.instructions:
                reason = self._refusal(number, instruction)
                if reason:
                    raise GpuLitmusError(f"P{number}: {instruction_text(instruction)}: {reason}")
        self._check_end()

    def _check_end(self) -> None:
        """Refuse a program with a thread that may wait for ever, and would hang the GPU."""
        if not any(isinstance(i, _WAITING) for t in self.program.threads for i in t.instructions):
            return
        threads = tuple(
            replace(thread, instructions=(*self._counted(number, thread), _LAST))
            for number, thread in enumerate(self.program.threads)
        )
        found = outcomes(replace(self.program, threads=threads))
        ends = found.project(Register(n, _LAST.dst) for n in range(len(threads)))
        if not found.states or any(None in state for state in ends.states):
            raise GpuLitmusError("a thread of it may wait for ever, and would hang the GPU")

    def _counted(self, number: int, thread: Thread[PtxInstruction]) -> Iterator[PtxInstruction]:
        """The thread's code, with barriers that wait for all that take part, as on a GPU."""
        for each in thread.instructions:
            is_barrier = isinstance(each, Bar)
            yield replace(each, count=len(self._participants(number, each))) if is_barrier else each

    def _refusal(self, thread: int, instruction: PtxInstruction) -> str | None:
        """The reason that an instruction cannot be run; None if it can."""
        match instruction:
            case Ld() | St() | Atom() if instruction.proxy is not PtxProxy.GENERIC:
                return "only the generic proxy is run"
            case Atom() if instruction.operation not in _ATOMIC_NAMES:
                return "PTX has no such atomic"
            case Atom(dst=None, operation=RmwKind.XCHG):
                return "PTX has no red that exchanges"
            case Arithmetic(kind=ArithmeticKind.DIV):
                return "division is not run"
            case PtxFence(ordering=Ordering.ACQUIRE | Ordering.RELEASE):
                if PtxForm.ONE_SIDED_FENCE not in self.forms:
                    return f"{self.chip.name} has no {PtxForm.ONE_SIDED_FENCE.value}"
            case Bar():
                return self._barrier_refusal(thread, instruction)
            case ClusterBarrier():
                return self._cluster_barrier_refusal()
            case MbarrierArrive() | MbarrierWait() | MbarrierTx():
                return self._mbarrier_refusal(thread, instruction)
            case ProxyFence() if instruction.proxy is not PtxProxy.ASYNC:
                return "of the proxy fences only that of the async proxy is run"
            case Multimem():
                return "a multicast address is of several GPUs, whose driver makes it"
            case Hint():
                return None if self._hinted(instruction) else "only hints of global memory are run"
            case WaitGroup() if instruction != WaitGroup(instruction.reads_only):
                return "only a wait for all bulk groups is run"
            case CommitGroup() if instruction != CommitGroup():
                return "only bulk groups are run"
            case AsyncCopy():
                return self._copy_refusal(thread, instruction)
            case CommitGroup() | WaitGroup() | ProxyFence():
                return None
            case _ if isinstance(instruction, AsyncInstruction):
                return "it is for the model alone"
            case _:
                pass
        reason = self._reach_refusal(thread, instruction)
        if reason:
            return reason
        if (
            isinstance(instruction, Ld | St | Atom | PtxFence)
            and instruction.scope is Scope.CLUSTER
            and PtxForm.CLUSTER not in self.forms
        ):
            return f"{self.chip.name} has no cluster scope"
        return None

    def _reach_refusal(self, thread: int, instruction: PtxInstruction) -> str | None:
        """The reason that a thread cannot reach the shared memory of an access; None if it can."""
        if not isinstance(instruction, Ld | St | Atom):
            return None
        home = self.homes.get(instruction.location)
        if home is None or home[0] == self.arrangement.home(thread)[0]:
            return None
        return f"{instruction.location} is in the shared memory of another cluster"

    def _copy_refusal(self, thread: int, copy: AsyncCopy) -> str | None:
        bytes, operation = copy.bytes, copy.operation
        plain = AsyncCopy(copy.location, copy.source, copy.value, copy.mbarrier, bytes=bytes)
        if copy != replace(plain, operation=operation):
            return "only bulk copies of one word are run"
        if operation is RmwKind.XCHG or (operation or RmwKind.ADD) not in _ATOMIC_NAMES:
            return "PTX has no such reduction"
        if lacking := self._lacking("bulk copies"):
            return lacking
        here = self.arrangement.home(thread)
        home = here if copy.mbarrier is None else self._mbarrier_home(copy.mbarrier)
        inside, outside = copy.location, copy.source
        if copy.mbarrier is None:
            inside, outside = copy.source or "", copy.location
        if self.homes.get(inside) != home or home[0] != here[0]:
            return f"{inside} must be in the shared memory of one CTA, and in reach"
        if outside in self.homes and self.homes[outside] != here:
            return f"{outside} must be in global memory, or in the CTA's own shared memory"
        if copy.mbarrier is None:
            return f"{outside} must be in global memory" if outside in self.homes else None
        if self._arrivals(copy.mbarrier) < self.program.mbarriers[copy.mbarrier]:
            return "nobody can wait for it to be done"
        on = [each for _, each in self.copies if each.mbarrier == copy.mbarrier]
        if len({(each.bytes, _copied_bytes(each)) for each in on}) > 1:
            return "copies of different sizes complete on its mbarrier"
        if sum(each.bytes for each in on) != self._expected(copy.mbarrier):
            return "the bytes that are expected are not those that come"
        return None

    def _lacking(self, what: str) -> str:
        """The reason that the chip is too old for something; "" if it is not."""
        least = _FIRST_CHIPS[what]
        is_old = self.chip.number < least
        return f"{self.chip.name} has no {what}; sm_{least} has" if is_old else ""

    def _expected(self, mbarrier: str) -> int:
        """The number of expected bytes of an mbarrier that no thread completes itself."""
        code = [each for thread in self.program.threads for each in thread.instructions]
        arrivals = (each for each in code if isinstance(each, MbarrierArrive))
        expected = sum(each.expect_tx for each in arrivals if each.mbarrier == mbarrier)
        counts = (each for each in code if isinstance(each, MbarrierTx))
        return expected + sum(each.bytes for each in counts if each.mbarrier == mbarrier)

    def _hinted(self, hint: Hint) -> str | None:
        """The location in global memory that a prefetch is of; None if it is another hint."""
        statement = read_statement(hint.text)
        if statement is None or statement.operation not in _HINTS:
            return None
        if statement.opcode.spaces != (AddressSpace.GLOBAL,):
            return None
        name = next(names_in(statement.operands[0]), "")
        return name if name in self.locations and name not in self.homes else None

    def _arrivals(self, mbarrier: str) -> int:
        """The number of arrivals at an mbarrier in the program."""
        return sum(
            isinstance(each, MbarrierArrive) and each.mbarrier == mbarrier
            for thread in self.program.threads
            for each in thread.instructions
        )

    def _barrier_refusal(self, thread: int, barrier: Bar) -> str | None:
        if not isinstance(barrier.number, int) or not 0 <= barrier.number < 15:
            return "only barriers 0 to 14 are run"
        if _branches(self.program.threads[number] for number in self._neighbours(thread)):
            return "a barrier in a CTA with branches is not run"
        mine = self._participants(thread, barrier)
        if barrier.count not in (None, len(mine)):
            return f"{len(mine)} threads take part in it"
        others = (
            self._participants(thread, each)
            for number in self._neighbours(thread)
            for each in self.program.threads[number].instructions
            if isinstance(each, Bar) and each.number == barrier.number
        )
        return None if all(other == mine for other in others) else "its participants change"

    def _neighbours(self, thread: int) -> tuple[int, ...]:
        m, rank = self.arrangement.home(thread)
        return self.arrangement.clusters[m][rank]

    def _participants(self, thread: int, barrier: Bar) -> list[int]:
        """The threads of the CTA that take part in a barrier."""
        return [
            number
            for number in self._neighbours(thread)
            if any(
                isinstance(each, Bar)
                and (each.instance, each.number) == (barrier.instance, barrier.number)
                for each in self.program.threads[number].instructions
            )
        ]

    def _cluster_barrier_refusal(self) -> str | None:
        if PtxForm.CLUSTER_BARRIER_ORDERING not in self.forms:
            return f"{self.chip.name} has no {PtxForm.CLUSTER_BARRIER_ORDERING.value}"
        turns = {
            tuple(each.role for each in thread.instructions if isinstance(each, ClusterBarrier))
            for thread in self.program.threads
        }
        if len(turns) > 1 or not self.arrangement.is_full:
            return "every thread of every block must take part in it"
        (roles,) = turns
        if roles != (BarrierRole.ARRIVE, BarrierRole.WAIT) * (len(roles) // 2):
            return "arriving and waiting must take turns"
        if _branches(self.program.threads):
            return "a barrier in a program with branches is not run"
        return None

    def _mbarrier_refusal(
        self, thread: int, instruction: MbarrierArrive | MbarrierWait | MbarrierTx
    ) -> str | None:
        if lacking := self._lacking("mbarrier.try_wait"):
            return lacking
        name = instruction.mbarrier
        if not _is_simple(instruction) or not self.program.mbarriers[name]:
            return "only plain arrivals and waits, at mbarriers that are initialised, are run"
        if self._arrivals(name) > self.program.mbarriers[name]:
            return "only the first phase of an mbarrier is run"
        home = self._mbarrier_home(name)
        here = self.arrangement.home(thread)
        if isinstance(instruction, MbarrierWait) and here != home:
            return "all who wait on an mbarrier must be in its CTA"
        if here[0] != home[0]:
            return "an mbarrier is out of reach from another cluster"
        return None

    def _mbarrier_home(self, name: str) -> tuple[int, int]:
        """The CTA that holds an mbarrier: that of the first waiter, else of an arrival."""
        for kind in (MbarrierWait, MbarrierArrive):
            for number, thread in enumerate(self.program.threads):
                if any(
                    isinstance(each, kind) and each.mbarrier == name for each in thread.instructions
                ):
                    return self.arrangement.home(number)
        return (0, 0)

    # Text

    def module(self, encoding: Encoding, gpu: int = 0) -> str:
        """Both kernels, as a GPU runs them."""
        variables = [Variable(_SCRATCH, 0, _COPY_BYTES)] if self.uses_scratch else []
        pointers, numbers = map(len, self._stress_parameters())
        memories = (64,) * len(self.memories)
        kernels = [
            PtxKernel(STRESS, (64,) * pointers + (32,) * numbers, None, {}, self._stress(gpu)),
            PtxKernel(COUNT, (*memories, 64, 64, 32, 32), None, {}, self._count(encoding)),
        ]
        return module_text(self.chip.name, default_version(self.chip), variables, kernels)

    def _stress_parameters(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The pointers and the numbers that the stress kernel takes."""
        pointers, numbers = (*self.memories, "registers"), ("mask", "shift", "stride")
        if len(self.memories) == 1:
            return pointers, numbers
        return (*pointers, "gate"), (*numbers, "opens")

    def _stress(self, gpu: int) -> list[str]:
        arrangement = self.arrangement
        here = arrangement.gpus[gpu]
        ctas = len(here) * arrangement.width
        pointers, numbers = self._stress_parameters()
        lines = [
            ".reg .pred %p;",
            f".reg .b32 {_registers_of(numbers)}, %n, %t, %key, %slot, %i, %u, %v, %scratch;",
            ".reg .b32 %slots, %last;",
            f".reg .b64 {_registers_of(pointers)}, %d;",
            *_parameters(STRESS, pointers, numbers),
            *(GATE if "gate" in pointers else ()),
            "add.u32 %n, %mask, 1;",
            # key: cluster, CTA in it, warp in that; slot: instance in the block.
            "mov.u32 %t, %tid.x;",
            "mov.u32 %slots, %ntid.x;",
            f"div.u32 %slots, %slots, {arrangement.roles};",
            "sub.u32 %last, %slots, 1;",
            "shr.u32 %u, %t, 5;",
            f"div.u32 %slot, %u, {arrangement.roles};",
            f"rem.u32 %u, %u, {arrangement.roles};",
            "and.b32 %t, %t, 31;",
            "shl.b32 %slot, %slot, 5;",
            "add.u32 %slot, %slot, %t;",
            "mov.u32 %v, %ctaid.x;",
            f"rem.u32 %key, %v, {ctas};",
            *[f"add.u32 %key, %key, {here.start * arrangement.width};"] * bool(here.start),
            f"mad.lo.u32 %key, %key, {arrangement.roles}, %u;",
            f"div.u32 %v, %v, {ctas};",
            "mad.lo.u32 %i, %v, %slots, %slot;",
        ]
        if self.uses_scratch:
            lines += [f"mov.u32 %scratch, {_SCRATCH};", *self._initialise()]
        threads = {
            number: thread
            for number, thread in enumerate(self.program.threads)
            if arrangement.home(number)[0] in here
        }
        for number in threads:
            lines.append(f"setp.eq.u32 %p, %key, {arrangement.key(number)};")
            lines.append(f"@%p bra THREAD_{number};")
        lines.append("bra END;")
        for number, thread in threads.items():
            lines += [f"THREAD_{number}:", *self._thread(number, thread)]
        lines.append("END:")
        if self.uses_scratch:
            lines += self._finish()
        return [*lines, "ret;"]

    def _everyone_meets(self) -> list[str]:
        if self.launches_clusters:
            return ["barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;"]
        return [f"barrier.sync {_MINE};"]

    def _initialise(self) -> list[str]:
        """Before the test: mbarriers and shared locations, by one thread for each instance."""
        lines: list[str] = []
        for name in self.mbarriers:
            lines += [
                f"setp.eq.u32 %p, %key, {self._owner(self._mbarrier_home(name))};",
                *self._mbarrier_address("%u", name),
                f"@%p mbarrier.init.shared.b64 [%u], {self.program.mbarriers[name]};",
            ]
        if self.launches_clusters and self.mbarriers:
            lines.append("fence.mbarrier_init.release.cluster;")
        for name, home in self.homes.items():
            lines.append(f"setp.eq.u32 %p, %key, {self._owner(home)};")
            lines += self._shared_address("%u", name)
            lines.append(f"@%p st.shared.b32 [%u], {self.program.initial.get(name, 0)};")
        if self.copies:
            lines.append("fence.proxy.async;")
        return lines + self._everyone_meets()

    def _owner(self, home: tuple[int, int]) -> int:
        """The key of the thread of a CTA that sets up and reads its shared memory."""
        m, rank = home
        return self.arrangement.key(self.arrangement.clusters[m][rank][0])

    def _finish(self) -> list[str]:
        """After the test: copies end, no thread leaves before, and shared memory is copied out."""
        lines: list[str] = []
        scope = "cluster" if self.launches_clusters else "cta"
        for name in sorted({copy.mbarrier for _, copy in self.copies if copy.mbarrier}):
            done = f"DONE_{name}"
            wait = f"mbarrier.try_wait.parity.acquire.{scope}.shared::cta.b64 %p, [%u], 0;"
            lines += [
                f"setp.ne.u32 %p, %key, {self._owner(self._mbarrier_home(name))};",
                f"@%p bra {done};",
                *self._mbarrier_address("%u", name),
                f"DRAIN_{name}:",
                wait,
                f"@!%p bra DRAIN_{name};",
                f"{done}:",
            ]
        lines += self._everyone_meets()
        for name, home in self.homes.items():
            copied = f"COPIED_{name}"
            lines += [f"setp.ne.u32 %p, %key, {self._owner(home)};", f"@%p bra {copied};"]
            lines += self._shared_address("%u", name)
            lines += ["ld.shared.b32 %v, [%u];", *self._global_address("%d", name)]
            lines += ["st.global.b32 [%d], %v;", f"{copied}:"]
        return lines

    def _mbarrier_address(self, register: str, name: str) -> list[str]:
        number = self.mbarriers.index(name)
        return [
            f"mad.lo.u32 {register}, %slots, {number}, %slot;",
            f"shl.b32 {register}, {register}, 3;",
            f"add.u32 {register}, {register}, %scratch;",
        ]

    def _shared_address(self, register: str, name: str) -> list[str]:
        number = self.locations.index(name)
        return [
            f"mad.lo.u32 {register}, %slot, {MULTIPLIERS[number]}, {3 * number};",
            f"and.b32 {register}, {register}, %last;",
            f"mad.lo.u32 {register}, %slots, {tuple(self.homes).index(name)}, {register};",
            f"shl.b32 {register}, {register}, %shift;",
            f"mad.lo.u32 {register}, %slots, {8 * len(self.mbarriers)}, {register};",
            f"add.u32 {register}, {register}, %scratch;",
        ]

    def _global_address(self, register: str, name: str) -> list[str]:
        number = self.locations.index(name)
        # As ``place`` says.
        return [
            f"mad.lo.u32 %u, %i, {MULTIPLIERS[number]}, {3 * number};",
            "and.b32 %u, %u, %mask;",
            f"mad.lo.u32 %u, %n, {number}, %u;",
            "shl.b32 %u, %u, %shift;",
            f"cvt.u64.u32 {register}, %u;",
            f"add.u64 {register}, {register}, %{self.memories[number % len(self.memories)]};",
        ]

    def _thread(self, number: int, thread: Thread[PtxInstruction]) -> list[str]:
        """One thread of the program; its names are its own."""
        observed = [o for o in self.observables if isinstance(o, Register) and o.thread == number]
        start = self.program.registers_of(number)
        names = sorted({*start, *(o.name for o in observed), *_registers(thread)})
        m, _ = self.arrangement.home(number)
        lines = ["{", *(f".reg .b32 {_value(name)};" for name in names)]
        lines += ["mul.lo.u32 %i, %i, %stride;"] * m + ["and.b32 %i, %i, %mask;"] * bool(m)
        lines += self._addresses(number, thread)
        lines += [f"mov.b32 {_value(name)}, {start.get(name, 0)};" for name in names]
        loops = _branches_back(thread)
        if loops:
            lines += [".reg .b32 %passes;", f"mov.b32 %passes, {MOST_PASSES};"]
        passed: set[str] = set()
        for position, instruction in enumerate(thread.instructions):
            if isinstance(instruction, Label):
                passed.add(instruction.name)
            elif isinstance(instruction, Branch | CompareBranch) and instruction.target in passed:
                lines += [
                    "sub.u32 %passes, %passes, 1;",
                    "setp.eq.u32 %p, %passes, 0;",
                    "@%p bra GIVE_UP;",
                ]
            lines += self._instruction(number, position, instruction)
        for each in observed:
            lines += _register_address(self.observables.index(each))
            lines.append(f"st.global.b32 [%d], {_value(each.name)};")
        if any(copier == number and copy.mbarrier is None for copier, copy in self.copies):
            lines += ["cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;"]
        lines.append("bra END;")
        if loops:
            gave_up = _register_address(len(self.observables))
            lines += ["GIVE_UP:", *gave_up, f"st.global.b32 [%d], {_GAVE_UP};", "bra END;"]
        return [*lines, "}"]

    def _addresses(self, number: int, thread: Thread[PtxInstruction]) -> list[str]:
        """Every address that a thread uses, before its first instruction."""
        lines: list[str] = []
        hints = (each for each in thread.instructions if isinstance(each, Hint))
        hinted = {name for each in hints if (name := self._hinted(each)) is not None}
        for name in sorted({*variables(thread.instructions), *hinted}):
            if name in self.homes:
                lines += [f".reg .b32 %at_{name};", *self._shared_address(f"%at_{name}", name)]
                lines += self._mapped(number, name, self.homes[name])
            else:
                lines += [f".reg .b64 %at_{name};", *self._global_address(f"%at_{name}", name)]
        for name in sorted(_mbarriers(thread)):
            lines += [f".reg .b32 %at_{name};", *self._mbarrier_address(f"%at_{name}", name)]
            lines += self._mapped(number, name, self._mbarrier_home(name))
        return lines

    def _mapped(self, thread: int, name: str, home: tuple[int, int]) -> list[str]:
        """An address in another CTA of the cluster is mapped there."""
        if home == self.arrangement.home(thread):
            return []
        return [f"mapa.shared::cluster.u32 %at_{name}, %at_{name}, {home[1]};"]

    def _space(self, thread: int, location: str) -> str:
        home = self.homes.get(location)
        if home is None:
            return ".global"
        return ".shared::cta" if home == self.arrangement.home(thread) else ".shared::cluster"

    def _instruction(self, thread: int, position: int, instruction: PtxInstruction) -> list[str]:
        match instruction:
            case Ld():
                space = self._space(thread, instruction.location)
                name = f"ld{_qualifiers(instruction.ordering, instruction.scope)}{space}.b32"
                return [f"{name} {_value(instruction.dst)}, [%at_{instruction.location}];"]
            case St():
                space = self._space(thread, instruction.location)
                name = f"st{_qualifiers(instruction.ordering, instruction.scope)}{space}.b32"
                return [f"{name} [%at_{instruction.location}], {_value(instruction.value)};"]
            case Atom():
                return [_atomic(instruction, self._space(thread, instruction.location))]
            case AsyncCopy():
                return [self._copy(instruction)]
            case Hint():
                place = f"[%at_{self._hinted(instruction)}]"
                if "bulk" in opcode_of(instruction.text).words:
                    return [f"cp.async.bulk.prefetch.L2.global {place}, {_COPY_BYTES};"]
                return [f"prefetch.global.L2 {place};"]
            case CommitGroup():
                return ["cp.async.bulk.commit_group;"]
            case WaitGroup():
                return [f"cp.async.bulk.wait_group{'.read' if instruction.reads_only else ''} 0;"]
            case ProxyFence() | PtxFence():
                return [f"{instruction_text(instruction)};"]
            case Bar(number=int(barrier)):
                # One warp's lanes wait for the same warps, whatever the instance.
                count = f"%count_{position}"
                role = "sync" if instruction.role is BarrierRole.SYNC else "arrive"
                participants = len(self._participants(thread, instruction))
                return [
                    f".reg .b32 {count};",
                    f"mul.lo.u32 {count}, %slots, {participants};",
                    f"barrier.{role} {barrier + 1}, {count};",
                ]
            case ClusterBarrier():
                ordering = _ORDERING_WORDS[instruction.ordering]
                return [f"barrier.cluster.{instruction.role.value}.{ordering};"]
            case MbarrierArrive(mbarrier=name):
                remote = self._mbarrier_home(name) != self.arrangement.home(thread)
                where = ".shared::cluster" if remote else ".shared::cta"
                qualifiers = _qualifiers(instruction.ordering, instruction.scope)
                if not instruction.expect_tx:
                    return [f"mbarrier.arrive{qualifiers}{where}.b64 _, [%at_{name}];"]
                size = self._bytes(name, instruction.expect_tx)
                head = f"mbarrier.arrive.expect_tx{qualifiers}{where}.b64"
                return [f"{head} _, [%at_{name}], {size};"]
            case MbarrierTx(name, size, scope):
                remote = self._mbarrier_home(name) != self.arrangement.home(thread)
                where = f".{SCOPE_WORDS[scope]}.shared::{'cluster' if remote else 'cta'}"
                word = "expect_tx" if size > 0 else "complete_tx"
                count = self._bytes(name, abs(size))
                return [f"mbarrier.{word}.relaxed{where}.b64 [%at_{name}], {count};"]
            case MbarrierWait(mbarrier=name):
                qualifiers = _qualifiers(instruction.ordering, instruction.scope)
                return [
                    f"WAIT_{position}:",
                    f"mbarrier.try_wait.parity{qualifiers}.shared::cta.b64 %p, [%at_{name}], 0;",
                    f"@!%p bra WAIT_{position};",
                ]
            case Move(dst, value):
                return [f"mov.b32 {_value(dst)}, {_value(value)};"]
            case Arithmetic(kind, dst, left, right) if kind in _SET_NAMES:
                return [
                    f"setp.{_SET_NAMES[kind]} %p, {_value(left)}, {_value(right)};",
                    f"selp.b32 {_value(dst)}, 1, 0, %p;",
                ]
            case Arithmetic(kind, dst, left, right):
                name = _COMPUTE_NAMES[kind]
                return [f"{name} {_value(dst)}, {_value(left)}, {_value(right)};"]
            case Branch(target, condition, unless):
                if condition is None:
                    return [f"bra LABEL_{target};"]
                comparison = Comparison.EQ if unless else Comparison.NE
                return _compare_branch(CompareBranch(target, comparison, condition, 0))
            case CompareBranch():
                return _compare_branch(instruction)
            case Label():
                return [f"LABEL_{instruction.name}:"]
            case _:
                raise GpuLitmusError(f"{instruction_text(instruction)} is not run")

    def _bytes(self, mbarrier: str, count: int) -> int:
        """So many bytes of the program, as a GPU counts them: its copies are of one size."""
        copies = (each for _, each in self.copies if each.mbarrier == mbarrier)
        copy = next(copies, None)
        return count if copy is None else count * _copied_bytes(copy) // copy.bytes

    def _copy(self, copy: AsyncCopy) -> str:
        mechanism = "mbarrier::complete_tx::bytes"
        target, operation = f"[%at_{copy.location}]", ""
        if copy.operation is not None:
            operation = f".{_ATOMIC_NAMES[copy.operation]}"
        head = "cp.reduce.async.bulk" if operation else "cp.async.bulk"
        if copy.source is None:
            operands = f"{target}, {_value(copy.value)}, [%at_{copy.mbarrier}]"
            head = "red.async.relaxed.cluster" if operation else "st.async.weak"
            return f"{head}.shared::cluster.{mechanism}{operation or '.b32'} {operands};"
        operands = f"{target}, [%at_{copy.source}], {_COPY_BYTES}"
        if copy.mbarrier is None:
            return f"{head}.global.shared::cta.bulk_group{operation} {operands};"
        of = "shared::cta" if copy.source in self.homes else "global"
        operands = f"{operands}, [%at_{copy.mbarrier}]"
        return f"{head}.shared::cluster.{of}.{mechanism}{operation} {operands};"

    def _count(self, encoding: Encoding) -> list[str]:
        """One thread for each instance adds one to its outcome's counter."""
        lines = [
            ".reg .pred %p;",
            ".reg .b32 %mask, %shift, %n, %t, %i, %u, %v, %code;",
            f".reg .b64 {_registers_of(self.memories)}, %registers, %counters, %d;",
            *_parameters(COUNT, (*self.memories, "registers", "counters"), ("mask", "shift")),
            "add.u32 %n, %mask, 1;",
            "mov.u32 %t, %tid.x;",
            "mov.u32 %u, %ntid.x;",
            "mov.u32 %i, %ctaid.x;",
            "mad.lo.u32 %i, %i, %u, %t;",
            "mov.u32 %code, 0;",
        ]
        for number, (each, limit) in enumerate(
            zip(encoding.observables, encoding.limits, strict=True)
        ):
            if isinstance(each, Register):
                lines += _register_address(number)
            else:
                lines += self._global_address("%d", each.location)
            lines += [
                "ld.global.u32 %v, [%d];",
                f"min.u32 %v, %v, {limit};",
                f"mad.lo.u32 %code, %code, {limit + 1}, %v;",
            ]
        if self.has_loops:
            lines += [
                *_register_address(len(encoding.observables)),
                "ld.global.u32 %v, [%d];",
                f"setp.eq.u32 %p, %v, {_GAVE_UP};",
                f"@%p mov.u32 %code, {encoding.size};",
            ]
        return [
            *lines,
            "mul.wide.u32 %d, %code, 4;",
            "add.u64 %d, %d, %counters;",
            "red.relaxed.gpu.global.add.u32 [%d], 1;",
            "ret;",
        ]


def _registers_of(parameters: Iterable[str]) -> str:
    return ", ".join(f"%{name}" for name in parameters)


def _parameters(kernel: str, pointers: Sequence[str], words: Sequence[str]) -> list[str]:
    """Load parameters into registers of their names; pointers become global addresses."""
    lines: list[str] = []
    for number, name in enumerate(pointers):
        lines.append(f"ld.param.b64 %{name}, [{kernel}_param_{number}];")
        lines.append(f"cvta.to.global.u64 %{name}, %{name};")
    for number, name in enumerate(words, len(pointers)):
        lines.append(f"ld.param.b32 %{name}, [{kernel}_param_{number}];")
    return lines


def _register_address(number: int) -> list[str]:
    """The address, in ``%d``, of the ``number``-th observable of instance ``%i``."""
    return [
        f"mad.lo.u32 %u, %n, {number}, %i;",
        "mul.wide.u32 %d, %u, 4;",
        "add.u64 %d, %d, %registers;",
    ]


def _qualifiers(ordering: Ordering, scope: Scope | None) -> str:
    return f".{_ORDERING_WORDS[ordering]}" + (f".{SCOPE_WORDS[scope]}" if scope else "")


def _value(value: Operand) -> str:
    """An operand; the program's registers have names that no other register has."""
    return f"%my_{value}" if isinstance(value, str) else str(value)


def _compare_branch(branch: CompareBranch) -> list[str]:
    operands = f"{_value(branch.left)}, {_value(branch.right)}"
    return [
        f"setp.{branch.comparison.word}.s32 %p, {operands};",
        f"@%p bra LABEL_{branch.target};",
    ]


def _atomic(atomic: Atom, space: str) -> str:
    head = "red" if atomic.dst is None else "atom"
    operation = _ATOMIC_NAMES[atomic.operation]
    if atomic.compare is not None:
        operation = "cas.b32"
    operands = [f"[%at_{atomic.location}]", *(_value(each) for each in atomic.operands)]
    if atomic.dst is not None:
        operands.insert(0, _value(atomic.dst))
    name = f"{head}{_qualifiers(atomic.ordering, atomic.scope)}{space}.{operation}"
    return f"{name} {', '.join(operands)};"


def _copied_bytes(copy: AsyncCopy) -> int:
    return _WORD_BYTES if copy.source is None else _COPY_BYTES


def _is_simple(instruction: MbarrierArrive | MbarrierWait | MbarrierTx) -> bool:
    """True if an operation is one arrival, bytes, or a wait for the first phase."""
    if isinstance(instruction, MbarrierWait):
        return (not instruction.by_parity or instruction.phase == 0) and instruction.dst is None
    if isinstance(instruction, MbarrierTx):
        return True
    return (instruction.count, instruction.drops, instruction.token) == (1, False, None)


def _branches_back(thread: Thread[PtxInstruction]) -> bool:
    """True if a thread has a loop."""
    passed: set[str] = set()
    for each in thread.instructions:
        if isinstance(each, Label):
            passed.add(each.name)
        elif isinstance(each, Branch | CompareBranch) and each.target in passed:
            return True
    return False


def _branches(threads: Iterable[Thread[PtxInstruction]]) -> bool:
    """True if any of the threads has a branch."""
    code = (each for thread in threads for each in thread.instructions)
    return any(isinstance(each, Branch | CompareBranch) for each in code)


def _registers(thread: Thread[PtxInstruction]) -> set[str]:
    """Every register that the code of a thread names."""
    named = (n for each in thread.instructions for n in (*assigned(each), *operands(each)))
    return {name for name in named if isinstance(name, str)}


def _mbarriers(thread: Thread[PtxInstruction]) -> set[str]:
    named = (
        each.mbarrier
        for each in thread.instructions
        if isinstance(each, MbarrierArrive | MbarrierWait | MbarrierTx | AsyncCopy)
    )
    return {name for name in named if name is not None}
