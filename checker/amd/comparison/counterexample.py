"""The smallest litmus test in which code that lacks something shows it on the CDNA machine.

One wave runs the instructions as found, from the earlier to the later operation of a finding, each
access to a location of its own. The other wave is the partner that the source's order is there for:
lowered by our own rows, or those of ``partner_rows``, so that what shows is the fault of the code.
The path between the two is the shortest on which it shows. Where what the wave has acquired from
afar is not there yet for its work-group, a third wave is who released that. Accesses that make no
difference are left out, but none that a wait counts. An access of another width runs as the one of
32 bits, as a location is a word.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from fencewright.checker.amd.accesses import Mode, Operation
from fencewright.checker.amd.comparison.paths import walks
from fencewright.checker.amd.guarantees import LiftedFunction
from fencewright.checker.amd.state import Code
from fencewright.checker.findings.finding import Finding, Level, Rule
from fencewright.checker.findings.finding import Step as FoundStep
from fencewright.checker.source.compare import Pair
from fencewright.lowering.cdna.chips import TGSPLIT, Counter
from fencewright.lowering.cdna.code.counterexample_peer import partner_steps
from fencewright.lowering.cdna.code.flow import Step
from fencewright.lowering.cdna.instructions import either_form
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.lower import lower
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind, Scope
from fencewright.lowering.vocabulary import Operation as AccessOperation
from fencewright.simulator.cdna import instructions as machine
from fencewright.simulator.cdna.instructions import CdnaInstruction, CdnaProgram
from fencewright.simulator.cdna.rows import (
    DEFAULT_READINGS,
    EVERY_READING,
    SCOPE_BITS,
    CdnaConfiguration,
    Interpretation,
)
from fencewright.simulator.cdna.symmetry import SymmetricEngine
from fencewright.simulator.cdna.trace import Counterexample as Execution
from fencewright.simulator.cdna.trace import find_counterexample
from fencewright.simulator.core.condition import Condition, observable_order, parse_condition
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Location, Placement, Program, ProgramError, Thread
from fencewright.simulator.programs.amd import rows
from fencewright.simulator.programs.amd.rows import row_of_any
from fencewright.simulator.programs.amd.thread import access_instruction

DATA, FLAG, SEEN, COPIED = "data", "flag", "seen", "copied"

_MOST_TRIED = 32
_MOST_STATES = 50_000


@dataclass(frozen=True, slots=True)
class Executed:
    """One instruction of the test. ``line``: of the code it was found in; 0: of the partner.

    An access has a ``location``, its stored ``value`` (of a compare-exchange also ``compare``),
    and the register ``dst`` of a load's result. A copy to LDS has its ``source`` too.
    """

    mnemonic: str
    modifiers: tuple[str, ...] = ()
    line: int = 0
    location: str = ""
    value: int | None = None
    compare: int | None = None
    dst: str = ""
    counts: tuple[tuple[str, int], ...] = ()
    source: str = ""

    @property
    def spaces(self) -> Mapping[str, AddressSpace]:
        """Its locations, each with its space."""
        if self.source:
            return {self.source: AddressSpace.GLOBAL, self.location: AddressSpace.LOCAL}
        return {self.location: self._space} if self.location else {}

    @property
    def is_scalar_load(self) -> bool:
        """True of a load by way of the scalar cache."""
        row = row_of_any(self.mnemonic)
        return row is not None and _is_scalar(row.meaning)

    @property
    def _space(self) -> AddressSpace:
        meaning = _meaning(self.mnemonic)
        if isinstance(meaning, rows.AccessRow) and meaning.space is AddressSpace.LOCAL:
            return AddressSpace.LOCAL
        return AddressSpace.GLOBAL

    def instructions(self) -> tuple[CdnaInstruction, ...]:
        """As the machine executes it."""
        if self.counts:
            return machine.wait_instructions(dict(self.counts))
        if self.source:
            return (machine.AsyncCopy(self.location, self.source, self.modifiers),)
        match _meaning(self.mnemonic):
            case rows.AccessRow(space=AddressSpace.CONSTANT):
                return (machine.ScalarLoad(self.dst, self.location),)
            case rows.AccessRow() as row:
                return (self._access(row),)
            case Kind.BARRIER:
                found: list[CdnaInstruction] = []
                machine.BarrierCode(found.append).instruction(self.mnemonic, self.modifiers)
                return tuple(found)
            case _:
                return (machine.CacheInstruction(self.mnemonic, self.modifiers),)

    def _access(self, row: rows.AccessRow) -> CdnaInstruction:
        value, compare = self.value or 0, self.compare or 0
        is_load = row.operation is AccessOperation.LOAD
        data = {
            AccessOperation.LOAD: (),
            AccessOperation.CMPXCHG: (compare, value) if row.compares_first else (value, compare),
        }.get(row.operation, (value,))
        row = replace(row, kind=row.kind or RmwKind.ADD)
        dst = self.dst if is_load else self.dst or None
        found = access_instruction(row, self.location, data, dst, self.modifiers)
        assert found is not None, self
        return found


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A test with an outcome that the source forbids: its waves, and the condition it breaks.

    ``readings``: those of its machine, of points that the documents of the chip leave open.
    """

    name: str
    mode: Mode
    waves: tuple[tuple[Placement, tuple[Executed, ...]], ...]
    condition: Condition
    readings: frozenset[Interpretation] = DEFAULT_READINGS

    def program(self) -> CdnaProgram:
        """The test as the machine executes it."""
        end = Executed("", counts=_executed(dict.fromkeys(self.mode.chip.counters, 0)))
        threads: list[Thread[CdnaInstruction]] = []
        for placement, wave in self.waves:
            made = [(each, code) for each in (*wave, end) for code in each.instructions()]
            places = (SourceLocation("", each.line) if each.line else None for each, _ in made)
            threads.append(Thread(placement, tuple(code for _, code in made), tuple(places)))
        observed = tuple(sorted(self.condition.formula.observables(), key=observable_order))
        return Program(self.locations, tuple(threads), observed, self.name)

    def execution(self) -> Execution:
        """An execution of the plain machine to the outcome, for a test that shows it."""
        found = find_counterexample(self.program(), self.condition.formula, self.configuration)
        assert found is not None, self.name
        return found

    def steps(self) -> Iterator[FoundStep]:
        """The steps of such an execution, each in its wave and at its line, 0 of a partner's."""
        found = self.execution()
        for order, event in enumerate(found.trace.events, 1):
            if event.number < 0 or order in found.register_steps:
                continue
            op = found.machine.compiled.by_number[event.number]
            place = found.machine.compiled.place(op)
            line = place.line if place is not None else 0
            is_found = any(each.line for each in self.waves[op.wave][1])
            thread = f"P{op.wave}" if is_found else f"P{op.wave}, a partner that is not in the code"
            yield FoundStep(thread, line, found.machine.describe_event(event), order)

    @property
    def locations(self) -> tuple[Location, ...]:
        """The locations that the waves access; copied ones without a store have 1 in them."""
        executed = [(place, each) for place, wave in self.waves for each in wave]
        accessed = {each.location for _, each in executed}
        found = {
            name: Location(
                name, int(name not in accessed), space=space, workgroup=_owner(place, space)
            )
            for place, each in executed
            for name, space in each.spaces.items()
        }
        return tuple(found[name] for name in sorted(found))

    @property
    def configuration(self) -> CdnaConfiguration:
        """The machine that executes it."""
        mode = self.mode
        return CdnaConfiguration(mode.target, mode.tgsplit, mode.l2_per_agent, self.readings)

    @property
    def forbidden(self) -> str:
        """The outcome that must not come out."""
        return str(self.condition.formula).replace("/\\", "and")

    def shows(self) -> bool:
        """True if the machine reaches the outcome."""
        found = explore(SymmetricEngine(self.program(), self.configuration), _MOST_STATES)
        return not self.condition.verdict(found.outcomes)

    @property
    def command(self) -> str:
        """The options with which ``fence-sim run`` replays it."""
        mode = self.mode
        options = ["--mcpu", mode.target]
        split = mode.chip.split_mode
        if split is not None and (option := split.option(mode.tgsplit)) is not None:
            options.append(f"--mattr={option}")
        if mode.chip.l2_per_agent is not mode.l2_per_agent:
            options += ["--l2-per-agent", mode.l2_per_agent]
        if self.readings != DEFAULT_READINGS:
            options += ["--readings", "every"]
        return " ".join(options)

    def text(self, file: str) -> str:
        """The test as MLIR, each instruction as found with its line of ``file``."""
        lines = [
            f"// fence-sim run {self.name}.mlir {self.command}",
            f"litmus.test @{self.name} {{",
        ]
        for each in self.locations:
            where = " in local" if each.space is AddressSpace.LOCAL else ""
            if each.workgroup:
                where += f" {{workgroup = {each.workgroup} : i64}}"
            lines.append(f"  litmus.location @{each.name} = {each.initial} : i32{where}")
        for number, (place, wave) in enumerate(self.waves):
            lines += _WaveText(number, place, wave, file, self.mode.chip.clusters).lines()
        # Backslashes are for escapes in a string.
        return "\n".join((*lines, f'  litmus.condition "~exists ({self.forbidden})"', "}", ""))


class _WaveText:
    """A wave in the ``cdna`` dialect."""

    def __init__(
        self, number: int, place: Placement, wave: Sequence[Executed], file: str, has_clusters: bool
    ):
        self.has_clusters = has_clusters
        self.number = number
        self.place = place
        self.wave = wave
        self.file = file

    def lines(self) -> Iterator[str]:
        """The lines of the thread."""
        place = self.place
        fields = f"workgroup = {place.workgroup}, xcd = {place.xcd}, cu = {place.cu}"
        if self.has_clusters:
            fields += f", cluster = {place.cluster}"
        yield f"  litmus.thread @P{self.number} at <{fields}, agent = {place.agent}> {{"
        for name in dict.fromkeys(name for each in self.wave for name in self._addresses(each)):
            location, _, file = name.partition(".")
            kind = {"lds": "vgpr", "scalar": "sgpr<2>"}.get(file, "vgpr<2>")
            yield f"    %{name} = litmus.address @{location} : !cdna.{kind}"
        if any(each.value is not None for each in self.wave):
            yield "    %one = cdna.const 1 : !cdna.vgpr"
        if any(each.compare is not None and not _is_in_lds(each) for each in self.wave):
            yield "    %one_for_zero = cdna.const 1 : !cdna.vgpr<2>"
        if any(each.compare is not None and _is_in_lds(each) for each in self.wave):
            yield "    %zero = cdna.const 0 : !cdna.vgpr"
        for each in self.wave:
            where = f"  // {self.file}:{each.line}" if each.line else ""
            yield f"    {self._instruction(each)}{where}"
        for each in self.wave:
            if each.dst.startswith("r"):
                kind = "sgpr" if each.is_scalar_load else "vgpr"
                yield f'    litmus.observe "{each.dst}", %{each.dst} : !cdna.{kind}'
        yield "    cdna.end s_endpgm"
        yield "  }"

    def _addresses(self, each: Executed) -> tuple[str, ...]:
        """The names of the registers with addresses: LDS has one, scalar memory its own."""
        if each.is_scalar_load:
            return (f"{each.location}.scalar",)
        return tuple(
            f"{name}.lds" if space is AddressSpace.LOCAL else name
            for name, space in each.spaces.items()
        )

    def _instruction(self, each: Executed) -> str:
        if each.counts:
            return "cdna.s_waitcnt " + " ".join(f"{name}({count})" for name, count in each.counts)
        bits = ", ".join(f'"{bit}"' for bit in each.modifiers)
        modifiers = f" {{modifiers = [{bits}]}}" if bits else ""
        if each.source:
            registers = ", ".join(f"%{name}" for name in self._addresses(each))
            types = "(!cdna.vgpr<2>, !cdna.vgpr) -> ()"
            return f"cdna.async {each.mnemonic} {registers}{modifiers} : {types}"
        meaning = _meaning(each.mnemonic)
        if meaning is Kind.BARRIER:
            return f"cdna.barrier {each.mnemonic}{modifiers}"
        if meaning is Kind.CACHE:
            return f"cdna.cache {each.mnemonic}{modifiers}"
        (address,) = self._addresses(each)
        of = (
            "sgpr<2>"
            if address.endswith(".scalar")
            else "vgpr"
            if address.endswith(".lds")
            else "vgpr<2>"
        )
        result = "sgpr" if _is_scalar(meaning) else "vgpr"
        operands, types = [f"%{address}"], [f"!cdna.{of}"]
        operation = (
            meaning.operation if isinstance(meaning, rows.AccessRow) else AccessOperation.LOAD
        )
        if operation is AccessOperation.CMPXCHG and _is_in_lds(each):
            operands += ["%zero", "%one"]
            types += ["!cdna.vgpr"] * 2
        elif operation is AccessOperation.CMPXCHG:
            operands.append("%one_for_zero")
            types.append("!cdna.vgpr<2>")
        elif each.value is not None:
            operands.append("%one")
            types.append("!cdna.vgpr")
        name = {AccessOperation.LOAD: "load", AccessOperation.STORE: "store"}.get(
            operation, "atomic"
        )
        made = f"%{each.dst} = " if each.dst else ""
        gives = f"!cdna.{result}" if each.dst else "()"
        return (
            f"{made}cdna.{name} {each.mnemonic} {', '.join(operands)}{modifiers} : "
            f"({', '.join(types)}) -> {gives}"
        )


def _owner(place: Placement, space: AddressSpace) -> int:
    """The work-group that a location belongs to, as LDS does."""
    return place.workgroup if space is AddressSpace.LOCAL else 0


def _is_in_lds(each: Executed) -> bool:
    return AddressSpace.LOCAL in each.spaces.values()


class UnshownError(ValueError):
    """A finding that no test shows on the machine, and why."""


def counterexample(
    lifted: LiftedFunction, finding: Finding, pair: Pair[Operation], name: str = "found"
) -> Counterexample:
    """The test for a finding; raises ``UnshownError`` where there is none."""
    if finding.rule is Rule.COHERENCE:
        return _of_one_access(lifted.code, pair, name)
    shape = _shape(finding.rule, pair, lifted.mode)
    # An open point is shown by the hardest machine.
    readings = EVERY_READING if finding.lesser is Level.NOTE else DEFAULT_READINGS
    tried = 0
    last = _told_by(lifted, pair.later, pair.scope)
    for path in _paths(lifted, pair.earlier, last):
        tried += 1
        found = replace(_test(lifted.code, shape, path, name), readings=readings)
        try:
            is_shown = found.shows()
        except ProgramError as problem:
            raise UnshownError(str(problem)) from None
        if is_shown:
            return _smallest(found, shape.found)
    how = f"none of the paths tried ({tried}) shows it" if tried else "no path is known"
    raise UnshownError(how)


def _told_by(lifted: LiftedFunction, later: Operation, scope: Scope) -> Operation:
    """The operation that signals the partner: of a cluster's barrier its own signal."""
    if later.kind is not Kind.BARRIER or scope is not Scope.CLUSTER:
        return later
    after = lifted.operations[later.number :]
    signals = (each for each in after if each.kind is Kind.BARRIER and each.scope is scope)
    return next(signals, later)


def _of_one_access(code: Code, pair: Pair[Operation], name: str) -> Counterexample:
    """A load older than the one before it, or a read-modify-write that another one loses."""
    each, scope = pair.later, pair.scope
    assert each.step is not None
    make = Partner(code.mode, scope)
    if each.is_vector_load:
        first = make.load(FLAG, AddressSpace.GLOBAL, "r0", "relaxed")
        (found,) = _found(code, each.step, each, (FLAG, None, "r1"), "")
        waves = (make.store(FLAG, AddressSpace.GLOBAL, "relaxed"), (*first, found))
        forbidden = "P1:r0 = 1 and P1:r1 = 0"
    elif each.kind is Kind.RMW:
        (found,) = _found(code, each.step, each, (FLAG, 1, ""), "")
        found = replace(found, mnemonic=_form(code, each), compare=None)
        waves = ((found,), make.count(FLAG, AddressSpace.GLOBAL, "r0", "relaxed"))
        forbidden = "flag = 1"
    else:
        raise UnshownError("a test has no outcome of a store that is seen late or never")
    places = placements_of(code.mode, scope)
    condition = parse_condition(f"~exists ({forbidden})")
    test = Counterexample(name, code.mode, tuple(zip(places, waves, strict=True)), condition)
    if not test.shows():
        raise UnshownError("the machine executes it as if the bits were there")
    return test


# The partner


@dataclass(frozen=True, slots=True)
class _Shape:
    """The accesses of the given wave at both ends, of the partner, and the forbidden outcome.

    ``found``: the number of the wave as found. ``first`` and ``last``: location, value (None: a
    load), and register, if what is loaded is observed. ``writer``: a third wave as far away as one
    of the agent can be; none without instructions.
    """

    found: int
    first: tuple[str, int | None, str]
    last: tuple[str, int | None, str]
    partner: tuple[Executed, ...]
    forbidden: str
    scope: Scope
    writer: tuple[Executed, ...] = ()


def _passed_on(later: Operation, mode: Mode) -> _Shape:
    """The wave as found acquires from afar, and tells a mate before that is all done.

    An invalidate may be on its way still to what the mate's loads go through.
    """
    near, far = Partner(mode, Scope.WORKGROUP), Partner(mode, Scope.AGENT)
    writer = (
        *far.store(DATA, AddressSpace.GLOBAL),
        *far.store(SEEN, AddressSpace.GLOBAL, "release"),
    )
    if later.kind is Kind.BARRIER:
        hears, raised, is_heard = near.barrier(), ("", None, ""), ""
    else:
        hears, raised = near.load(FLAG, _space(later), "r0", "acquire"), (FLAG, 1, "")
        is_heard = " and P1:r0 = 1"
    partner = (*hears, *near.load(DATA, AddressSpace.GLOBAL, "r1"))
    forbidden = f"P0:r2 = 1 and P1:r1 = 0{is_heard}"
    first = (SEEN, None, "r2")
    return _Shape(0, first, raised, partner, forbidden, Scope.WORKGROUP, writer)


def _shape(rule: Rule, pair: Pair[Operation], mode: Mode) -> _Shape:
    earlier, later, scope = pair.earlier, pair.later, pair.scope
    for each in (earlier, later):
        if each.is_scalar_store:
            raise _lacks(each.text)
    make = Partner(mode, scope)
    data, flag = (_space(each) for each in (earlier, later))
    match rule:
        case Rule.RELEASE:
            if later.kind is Kind.BARRIER:
                seen, raised = make.barrier(), ("", None, "")
            else:
                seen, raised = make.load(FLAG, flag, "r0", "acquire"), (FLAG, 1, "")
            flag_is_seen = "" if later.kind is Kind.BARRIER else " and P1:r0 = 1"
            if earlier.writes:
                partner = (*seen, *make.load(DATA, data, "r1"))
                return _Shape(0, (DATA, 1, ""), raised, partner, f"P1:r1 = 0{flag_is_seen}", scope)
            partner = (*seen, *make.store(DATA, data))
            return _Shape(0, (DATA, None, "r2"), raised, partner, f"P0:r2 = 1{flag_is_seen}", scope)
        case Rule.ACQUIRE | Rule.SCALAR_STALE:
            return _acquires(earlier, later, make)
        case Rule.CUMULATIVE_ACQUIRE:
            return _passed_on(later, mode)
        case Rule.SEQ_CST:
            partner = (*make.store(FLAG, flag, "seq_cst"), *make.load(DATA, data, "r0", "seq_cst"))
            forbidden = "P0:r1 = 0 and P1:r0 = 0"
            return _Shape(0, (DATA, 1, ""), (FLAG, None, "r1"), partner, forbidden, scope)
        case _:
            raise UnshownError(f"{rule} is not executed")


def _lacks(text: str) -> UnshownError:
    return UnshownError(f"the machine does not execute {text}")


def _acquires(earlier: Operation, later: Operation, make: "Partner") -> _Shape:
    """The wave as found sees a flag, then accesses data.

    Where an atomic does not tell what it saw, the partner's counts with it: that it was the first
    is what its result says.
    """
    flag, data = _space(earlier), _space(later)
    met = earlier.kind is Kind.BARRIER
    is_told = earlier.step is None or bool(earlier.step.effects.defines)
    if met:
        raised, first, is_seen = make.barrier(), ("", None, ""), ""
    elif earlier.kind is Kind.RMW and not is_told:
        raised = make.count(FLAG, flag, "r0", "release")
        first, is_seen = (FLAG, 1, ""), " and P0:r0 = 0"
    else:
        raised, first = make.store(FLAG, flag, "release"), (FLAG, None, "r0")
        is_seen = " and P1:r0 = 1"
    if later.kind is Kind.COPY:
        partner = (*make.store(DATA, AddressSpace.GLOBAL), *raised)
        return _Shape(1, first, (COPIED, 1, ""), partner, f"{COPIED} = 0{is_seen}", make.scope)
    if later.reads:
        partner = (*make.store(DATA, data), *raised)
        return _Shape(1, first, (DATA, None, "r1"), partner, f"P1:r1 = 0{is_seen}", make.scope)
    partner = (*make.load(DATA, data, "r2"), *raised)
    return _Shape(1, first, (DATA, 1, ""), partner, f"P0:r2 = 1{is_seen}", make.scope)


def _space(operation: Operation) -> AddressSpace:
    in_lds = operation.space is AddressSpace.LOCAL or operation.kind is Kind.COPY
    return AddressSpace.LOCAL if in_lds else AddressSpace.GLOBAL


@dataclass(frozen=True, slots=True)
class Partner:
    """The code of the other wave, lowered by our own rows or those of a chip that is only read."""

    mode: Mode
    scope: Scope

    def load(
        self, location: str, space: AddressSpace, dst: str, ordering: str = "weak"
    ) -> tuple[Executed, ...]:
        """A load of that ordering."""
        return self._lowered("load", ordering, space, location=location, dst=dst)

    def store(
        self, location: str, space: AddressSpace, ordering: str = "weak"
    ) -> tuple[Executed, ...]:
        """A store of 1."""
        return self._lowered("store", ordering, space, location=location, value=1)

    def count(
        self, location: str, space: AddressSpace, dst: str, ordering: str
    ) -> tuple[Executed, ...]:
        """An addition of 1."""
        return self._lowered("atomic_rmw", ordering, space, location=location, value=1, dst=dst)

    def barrier(self) -> tuple[Executed, ...]:
        """A barrier of the scope that orders memory; the wave is the first of its work-group."""
        made = self._lowered("barrier", "acq_rel", None)
        return tuple(each for each in made if each.mnemonic != _SKIPS_SIGNAL)

    def _lowered(
        self, op: str, ordering: str, space: AddressSpace | None, **access: str | int
    ) -> tuple[Executed, ...]:
        mode = self.mode
        if not mode.chip.lowered:
            return self._by_rows(op, ordering, space, **access)
        sequence = lower(
            op=op,
            ordering=ordering,
            scope=self.scope,
            space=space,
            target=mode.target,
            features=(TGSPLIT,) if mode.tgsplit else (),
            l2_per_agent=mode.l2_per_agent,
        )
        found: list[Executed] = []
        for each in sequence.instructions:
            if each.wait is not None:
                if counts := _executed(each.wait.given):
                    found.append(Executed(each.mnemonic, counts=counts))
                continue
            made = Executed(each.mnemonic, each.modifiers)
            if isinstance(_meaning(each.mnemonic), rows.AccessRow):
                made = replace(made, **access)
            found.append(made)
        return tuple(found)

    def _by_rows(
        self, op: str, ordering: str, space: AddressSpace | None, **access: str | int
    ) -> tuple[Executed, ...]:
        mode, operation = self.mode, AccessOperation(op)
        found: list[Executed] = []
        for each in partner_steps(
            mode.chip.generation, operation, ordering, self.scope, space, split=mode.tgsplit
        ):
            mnemonic = each.mnemonic
            if each.is_access:
                forms = _FORMS[_PARTNERS[operation], _near(space)]
                mnemonic = forms[mode.chip.names_bits]
                if operation is AccessOperation.ATOMIC_RMW and space is AddressSpace.LOCAL:
                    mnemonic = _COUNTS_IN_LDS
            made = Executed(mnemonic, each.bits, counts=each.counts)
            found.append(replace(made, **access) if each.is_access else made)
        return tuple(found)


# The wave as found

_Path = Sequence[tuple[Step, Operation | None]]
_SKIPS_SIGNAL = "s_cbranch_scc0"
"""The branch by which all waves but the first of a work-group skip the cluster's signal."""
_SECOND_PART = "s_barrier_wait"
"""Of a barrier that is where it is signalled."""


def _paths(lifted: LiftedFunction, earlier: Operation, later: Operation) -> Iterator[_Path]:
    """The instructions that matter on paths between the two, both included, the shortest first."""
    if earlier.step is None or later.step is None:
        return
    operation_of = {id(each.step): each for each in lifted.operations if each.step is not None}
    try:
        found = sorted(walks(lifted.code.flow, earlier.step, later.step), key=len)
    except OverflowError:
        return
    for steps in found[:_MOST_TRIED]:
        yield tuple(
            (step, operation_of.get(id(step)))
            for step in steps
            if id(step) in operation_of
            or step.effects.kind is Kind.WAIT
            or step.instruction.mnemonic == _SECOND_PART
        )


def _test(code: Code, shape: _Shape, path: _Path, name: str) -> Counterexample:
    """The test with the instructions of one path."""
    wave: list[Executed] = []
    for place, (step, operation) in enumerate(path):
        end = shape.first if not place else shape.last if place == len(path) - 1 else None
        wave += _found(code, step, operation, end, f"other{place}")
    waves = [tuple(_without_other_copies(wave)), shape.partner]
    places = list(placements_of(code.mode, shape.scope))
    if shape.found:
        waves.reverse()
    if shape.writer:
        waves.append(shape.writer)
        places.append(placements_of(code.mode, Scope.AGENT)[1])
    condition = parse_condition(f"~exists ({shape.forbidden})")
    return Counterexample(name, code.mode, tuple(zip(places, waves, strict=True)), condition)


def placements_of(mode: Mode, scope: Scope) -> tuple[Placement, Placement]:
    """Two waves as far apart as ``scope`` allows."""
    first = Placement(0, 0, 0, 0, 0)
    match scope:
        case Scope.WORKGROUP:
            return first, Placement(0, int(mode.tgsplit), 0, 0, 0)
        case Scope.CLUSTER:
            # Of one cluster, which one L2 serves.
            return first, Placement(1, 1)
        case Scope.AGENT:
            far = int(mode.l2_per_agent is L2PerAgent.MANY)
            return first, Placement(1, 1, far, 0, 1)
        case _:
            return first, Placement(1, 1, 0, 1, 1)


_FORMS: Mapping[tuple[Kind, AddressSpace], Mapping[bool, str]] = MappingProxyType(
    {
        (Kind.LOAD, AddressSpace.GLOBAL): {False: "global_load_dword", True: "global_load_b32"},
        (Kind.STORE, AddressSpace.GLOBAL): {False: "global_store_dword", True: "global_store_b32"},
        (Kind.RMW, AddressSpace.GLOBAL): {
            False: "global_atomic_add",
            True: "global_atomic_add_u32",
        },
        (Kind.LOAD, AddressSpace.LOCAL): {False: "ds_read_b32", True: "ds_load_b32"},
        (Kind.STORE, AddressSpace.LOCAL): {False: "ds_write_b32", True: "ds_store_b32"},
        (Kind.RMW, AddressSpace.LOCAL): {False: "ds_add_u32", True: "ds_add_u32"},
        (Kind.LOAD, AddressSpace.CONSTANT): {False: "s_load_dword", True: "s_load_b32"},
    }
)
"""The substitute for an access of another width or kind, by its memory, and by whether the chip's
names have the number of bits."""

_COUNTS_IN_LDS = "ds_add_rtn_u32"
_COPIES = "global_load_async_to_lds_b32"
_PARTNERS = {
    AccessOperation.LOAD: Kind.LOAD,
    AccessOperation.STORE: Kind.STORE,
    AccessOperation.ATOMIC_RMW: Kind.RMW,
}
"""The kind of a partner's access."""

_SETS_ONE = frozenset(
    {RmwKind.ADD, RmwKind.OR, RmwKind.XOR, RmwKind.XCHG, RmwKind.UMAX, RmwKind.MAX}
)
"""The atomics that make 1 of 0 with the operand 1."""


def _executed(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The counts of a wait that the machine has."""
    return tuple((name, n) for name, n in counts.items() if machine.wait_instructions({name: n}))


def _found(
    code: Code,
    step: Step,
    operation: Operation | None,
    end: tuple[str, int | None, str] | None,
    other: str,
) -> tuple[Executed, ...]:
    """An instruction as found; ``end``: its access there, if it is one of the two.

    Raises ``UnshownError`` for what the machine does not have.
    """
    instruction = step.instruction
    mnemonic, line = instruction.mnemonic, instruction.line
    if step.effects.kind is Kind.WAIT:
        known = _executed(code.waits[line])
        return (Executed(mnemonic, line=line, counts=known),) if known else ()
    if operation is None or operation.kind is Kind.BARRIER:
        operands = tuple(map(str, instruction.operands))
        met = Executed(mnemonic, operands, line)
        if row_of_any(mnemonic) is None or not met.instructions():
            raise _lacks(instruction.text)
        return (met,)
    policy = tuple(each for each in instruction.modifiers if each in _POLICY)
    if operation.kind is Kind.CACHE:
        if row_of_any(mnemonic) is None:
            raise _lacks(instruction.text)
        return (Executed(mnemonic, policy, line),)
    location, value, dst = end or (other, 1 if operation.writes else None, "")
    if operation.kind is Kind.COPY:
        copies = either_form(mnemonic)
        if copies is None or not copies.into_lds or Counter.ASYNCCNT not in copies.counters:
            raise _lacks(instruction.text)
        source = DATA if location == COPIED else f"{location}_source"
        return (Executed(_COPIES, policy, line, location, source=source),)
    if operation.is_scalar_load:
        return (Executed(_form(code, operation), (), line, location, dst=dst or f"t{line}"),)
    row = row_of_any(mnemonic)
    if row is None or not _runs(row.meaning):
        mnemonic = _form(code, operation)
    meaning = _meaning(mnemonic)
    assert isinstance(meaning, rows.AccessRow)
    compare = 0 if meaning.operation is AccessOperation.CMPXCHG else None
    form = either_form(mnemonic)
    returns = not _RETURNS.isdisjoint(policy) or (form is not None and form.returns)
    if operation.kind is Kind.RMW:
        value = 1 if value is None else value
        if end is not None and end[2] and not returns:
            raise UnshownError(f"nobody has what {instruction.text} has read")
        dst = (dst or f"t{line}") if returns else ""
    elif operation.reads:
        dst = dst or f"t{line}"
    return (Executed(mnemonic, policy, line, location, value, compare, dst),)


def _near(space: AddressSpace | None) -> AddressSpace:
    """LDS or constant memory, and global memory for all others."""
    if space is AddressSpace.LOCAL or space is AddressSpace.CONSTANT:
        return space
    return AddressSpace.GLOBAL


def _form(code: Code, operation: Operation) -> str:
    """The substitute for an access whose kind or width the machine does not have."""
    forms = _FORMS.get((operation.kind, _near(operation.space)))
    if forms is None:
        raise _lacks(operation.text)
    return forms[code.mode.chip.names_bits]


_RETURNS = frozenset({"sc0", "glc", "th:TH_ATOMIC_RETURN"})
_POLICY = frozenset({"sc0", "sc1", "nt", "glc", "slc", "dlc", *SCOPE_BITS})


def _meaning(mnemonic: str) -> rows.RowMeaning:
    """The meaning of an instruction that the machine executes."""
    row = row_of_any(mnemonic)
    assert row is not None
    return row.meaning


def _is_scalar(meaning: rows.RowMeaning) -> bool:
    """True of a load by way of the scalar cache."""
    return isinstance(meaning, rows.AccessRow) and meaning.space is AddressSpace.CONSTANT


def _runs(meaning: rows.RowMeaning) -> bool:
    """True if the machine has an access that changes 0 to 1."""
    if not isinstance(meaning, rows.AccessRow) or meaning.width != 32:
        return False
    return meaning.operation is not AccessOperation.ATOMIC_RMW or meaning.kind in _SETS_ONE


def _smallest(test: Counterexample, found: int) -> Counterexample:
    """The test without the accesses as found that make no difference."""
    place, wave = test.waves[found]
    position = 1
    while position < len(wave) - 1:
        each = wave[position]
        rest = (*wave[:position], *wave[position + 1 :])
        if _may_go(each, wave[position + 1 :]):
            waves = list(test.waves)
            waves[found] = (place, rest)
            smaller = replace(test, waves=tuple(waves))
            if smaller.shows():
                test, wave = smaller, rest
                continue
        position += 1
    return test


def _without_other_copies(wave: Sequence[Executed]) -> Iterator[Executed]:
    """A wave without copies between its ends that no wait counts: each would be an agent more."""
    for position, each in enumerate(wave):
        is_end = position in (0, len(wave) - 1)
        if is_end or not each.source or not _may_go(each, wave[position + 1 :]):
            yield each


def _may_go(each: Executed, after: Sequence[Executed]) -> bool:
    """True if no wait counts an instruction, so that all others mean the same without it."""
    if not each.location:
        return False
    return all(count == 0 for later in after for _, count in later.counts)
