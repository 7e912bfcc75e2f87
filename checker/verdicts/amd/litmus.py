"""Litmus tests of lemmas of AMD code, for the CDNA machine: two to four waves on different CUs.

Source: docs/cdna-machine.md.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from fencewright.checker.verdicts.amd.lemmas import CdnaLemma, Form
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, RmwKind
from fencewright.simulator.cdna import instructions as machine
from fencewright.simulator.cdna.instructions import CdnaInstruction, CdnaProgram
from fencewright.simulator.cdna.rows import BITS, HINTS, CdnaConfiguration
from fencewright.simulator.cdna.symmetry import SymmetricEngine
from fencewright.simulator.core.condition import Observable, Register
from fencewright.simulator.core.exploration import explore
from fencewright.simulator.core.program import Location, Placement, Program, Thread

POLICY = frozenset({word for bits in BITS for word in bits.split()}) - HINTS
"""The policy bits that the machine looks at."""
_EARLIER, _LATER, _RAISED = 1, 2, 1
_MOST_STATES = 200_000


@cache
def violation(lemma: CdnaLemma) -> tuple[str, str] | None:
    """A program of a lemma, and an outcome in which its order fails; None if there is none."""
    program = program_of(lemma)
    found = explore(SymmetricEngine(program, lemma.configuration), _MOST_STATES)
    shown = " || ".join(
        "; ".join(str(each) for each in thread.instructions) for thread in program.threads
    )
    if not found.outcomes.complete:
        return shown, "outcomes that were not all looked at"
    for state in found.outcomes.as_mappings():
        own = _named(state)
        if lemma.seen is not None and own.get("seen") != _RAISED:
            continue
        if _fails(lemma, own):
            return shown, " ".join(f"{name}={value}" for name, value in state.items())
    return None


def _named(state: Mapping[Observable, int | None]) -> dict[str, int | None]:
    """The values of registers and of ``x``, by their names."""
    found: dict[str, int | None] = {}
    for name, value in state.items():
        found[name.name if isinstance(name, Register) else name.location] = value
    return found


def _fails(lemma: CdnaLemma, state: Mapping[str, int | None]) -> bool:
    """True of a final state in which the later access comes before the earlier one."""
    if not lemma.earlier.writes:
        return state.get("before") == _LATER
    if lemma.later.writes:
        return state.get("x") == _EARLIER
    return state.get("after") == 0


def program_of(lemma: CdnaLemma) -> CdnaProgram:
    """The litmus test of a lemma."""
    configuration = lemma.configuration
    first = _access(configuration, lemma.earlier, "x", _EARLIER, "before")
    second = _access(configuration, lemma.later, "x", _LATER, "after")
    wait = _wait(configuration)
    release = _cached(configuration, lemma.release.caches, wait)
    own = _cached(configuration, lemma.release.own, wait)
    before = [first, *([wait] if lemma.release.waits else []), *own]
    barrier = _barrier(configuration)
    acquire = _cached(configuration, lemma.acquire.caches, wait)
    last = [*_cached(configuration, lemma.acquire.own, wait), second]
    waves: list[tuple[int, list[CdnaInstruction]]] = []
    if lemma.signal is None or lemma.seen is None:
        waves = [(0, [*before, *barrier]), (0, [*barrier, *acquire, *last])]
    else:
        raised = _access(configuration, lemma.signal, "f", _RAISED, "old")
        seen = [_seen(configuration, lemma.seen), wait]
        other = 0 if lemma.is_one_group else 1
        if lemma.release.is_met:
            waves += [(0, [*before, *barrier]), (0, [*barrier, *release, raised])]
        else:
            waves += [(0, [*before, *release, raised])]
        if lemma.acquire.is_met:
            waves += [(other, [*seen, *acquire, *barrier]), (other, [*barrier, *last])]
        else:
            waves += [(other, [*seen, *acquire, *last])]
    return Program(
        (_location("x", lemma.earlier), _location("f", lemma.signal)),
        tuple(
            Thread(_placement(lemma, group, number), tuple(code))
            for number, (group, code) in enumerate(waves)
        ),
    )


def _location(name: str, form: Form | None) -> Location:
    in_lds = form is not None and form.in_lds
    return Location(name, space=AddressSpace.LOCAL if in_lds else AddressSpace.GLOBAL)


def _placement(lemma: CdnaLemma, group: int, number: int) -> Placement:
    """Each work-group on a CU of its own, on another L2 if there are several; in split mode each
    wave."""
    configuration = lemma.configuration
    has_many = configuration.l2_per_agent is L2PerAgent.MANY
    cu = number if configuration.tgsplit else 0
    if not has_many:
        cu += 8 * group
    agent = 0 if lemma.is_one_agent else group
    return Placement(group, cu, group if has_many else 0, agent, cluster=group)


def _cached(
    configuration: CdnaConfiguration, texts: Sequence[str], wait: CdnaInstruction
) -> list[CdnaInstruction]:
    """Cache operations, and the wait for them."""
    found: list[CdnaInstruction] = []
    for text in texts:
        mnemonic, *bits = text.split()
        found.append(machine.CacheInstruction(mnemonic, tuple(bits)))
    return [*found, wait] if found else []


def _wait(configuration: CdnaConfiguration) -> CdnaInstruction:
    row = configuration.row
    if row.splits_counters:
        return machine.Wait(loadcnt=0, storecnt=0, dscnt=0, kmcnt=0)
    return machine.Wait(0, 0, 0 if row.counts_stores else None)


def _barrier(configuration: CdnaConfiguration) -> list[CdnaInstruction]:
    if not configuration.row.splits_counters:
        return [machine.WorkgroupBarrier()]
    unit = machine.BarrierUnit.WAVE
    return [machine.BarrierSignal(unit), machine.BarrierWait(unit)]


def _access(
    configuration: CdnaConfiguration, form: Form, location: str, value: int, register: str
) -> CdnaInstruction:
    if form.is_scalar:
        return machine.ScalarLoad(register, location)
    bits, segment = _reached(form)
    if form.kind is Kind.LOAD:
        return machine.VectorLoad(register, location, bits, segment)
    if form.kind is Kind.STORE:
        return machine.VectorStore(location, value, bits, segment)
    returns = not form.in_lds and configuration.access_effect(Kind.RMW, form.bits).returns
    old = "old" if returns else None
    return machine.Atomic(RmwKind.XCHG, location, value, old, bits, segment)


def _reached(form: Form) -> tuple[tuple[str, ...], machine.Segment]:
    """The policy bits of an access, and where it goes."""
    return ((), machine.Segment.LDS) if form.in_lds else (form.bits, machine.Segment.GLOBAL)


def _seen(configuration: CdnaConfiguration, form: Form) -> CdnaInstruction:
    """The instruction that finds the flag raised."""
    if form.kind is not Kind.RMW:
        return _access(configuration, form, "f", 0, "seen")
    bits, segment = _reached(form)
    if form.compares and not form.in_lds:
        return machine.CompareSwap("f", _RAISED, _LATER, "seen", bits, segment)
    return machine.Atomic(RmwKind.XCHG, "f", _LATER, "seen", bits, segment)
