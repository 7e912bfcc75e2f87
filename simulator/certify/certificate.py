"""Certificates: every lowered operation is sufficient, and every instruction of it needed.

For each operation of a mode its tests are run (``shapes``): *sound* means that no test can
end as its source cannot, *minimal* that for each instruction and cache policy bit there is a
test, its witness, in which taking it away or weakening it lets a forbidden outcome happen, or
a spin loop never end. What no test needs is a finding: either one of ``KEPT`` says why it
stays, or the certificate says that it is unnecessary.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from hashlib import sha256
from importlib import resources
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any, TypeVar, cast

from fencewright.lowering.cdna import select
from fencewright.lowering.cdna.chip import BareInstruction, Encoding
from fencewright.lowering.cdna.chips import CHIPS, ChipRow
from fencewright.lowering.cdna.generations.common import load_chip
from fencewright.lowering.lower import check, lower_for, lower_request
from fencewright.lowering.ptx.chip import CHIPS as PTX_CHIPS
from fencewright.lowering.ptx.chip import VERSIONS, PtxForm, forms_of
from fencewright.lowering.ptx.code.statements import SCOPE_WORDS, read_opcode
from fencewright.lowering.sequence import (
    Instruction,
    Request,
    Sequence,
    Target,
    UnsupportedError,
    WaitCounts,
)
from fencewright.lowering.table import Row, Table
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    FastStrEnum,
    L2PerAgent,
    Operation,
    Ordering,
    Phase,
    RmwKind,
    Scope,
)
from fencewright.simulator.cdna.instructions import CdnaProgram
from fencewright.simulator.cdna.progress import stuck
from fencewright.simulator.cdna.rows import (
    DEFAULT_READINGS,
    EVERY_READING,
    HINTS,
    RETURNS,
    SCOPES,
    CdnaConfiguration,
    has_readings,
)
from fencewright.simulator.cdna.symmetry import SymmetricEngine
from fencewright.simulator.cdna.trace import find_execution
from fencewright.simulator.certify.programs.cdna import cdna_program
from fencewright.simulator.certify.programs.code import Code, Lowering, lower_program
from fencewright.simulator.certify.programs.ptx import ptx_program
from fencewright.simulator.certify.shapes import ShapeTest, operations, ptx_forms, shape_tests
from fencewright.simulator.core.condition import Observable, Outcomes
from fencewright.simulator.core.exploration import LimitReached, explore
from fencewright.simulator.core.json_values import JsonFormError, JsonValue
from fencewright.simulator.core.processes.campaign import Task, run
from fencewright.simulator.ptx import witnesses as ptx_witnesses
from fencewright.simulator.ptx.events import PtxProgram
from fencewright.simulator.source.events import ScopedProgram

FORMAT = "fencewright-certificate"
FORMAT_VERSION = 1
"""Version of the JSON; a reader refuses any that it does not know."""

Value = TypeVar("Value", covariant=True)

STATE_LIMIT = 300_000
"""A test that needs more states is not decided, and that is an error."""


class CertificateError(Exception):
    """A test that cannot be decided, or a certificate that cannot be read; says which and why."""


class RacyTestError(Exception):
    """A test whose source has a data race, so that it says nothing; its text is the test's name."""


# Judging one test


def source_outcomes(program: ScopedProgram) -> Outcomes | None:
    """The outcomes of the source; None if it has a data race, and may do anything."""
    return _behaviour(program)


@lru_cache(maxsize=1 << 15)
def _behaviour(program: ScopedProgram) -> Outcomes | None:
    from fencewright.simulator.source.behaviour import behaviour

    found = behaviour(program)
    if not found.complete:
        raise CertificateError("the source has loops that its model does not complete")
    return found.outcomes


def forbidden(allowed: Outcomes, found: Outcomes) -> frozenset[tuple[int | None, ...]]:
    """The final states of ``found`` that ``allowed`` does not have, over ``allowed``'s names."""
    return found.project(allowed.observables).states - allowed.states


class Machine(ABC):
    """The machine that executes the programs of a mode."""

    name: str

    @abstractmethod
    def outcomes(self, code: Code) -> Outcomes:
        """Every outcome of the lowered program. Raises ``CertificateError``."""

    @abstractmethod
    def execution(self, code: Code, outcome: tuple[int | None, ...]) -> str:
        """An execution to ``outcome``, step by step."""

    @abstractmethod
    def weakenings(self, request: Request, sequence: Sequence) -> "Iterator[Weakening]":
        """Every weaker sequence of the same kind that the chip has."""

    def fits(self, program: ScopedProgram) -> bool:
        """True if the machine has all the places of ``program``."""
        del program
        return True

    def is_stuck(self, code: Code) -> bool:
        """True if some fair execution never ends; none of a model of executions that end."""
        del code
        return False

    def waiting(self, code: Code) -> str:
        """The places where executions stay for ever; a model of executions that end has none that
        does."""
        del code
        return "no execution ends"


def machines_of(mode: Target) -> tuple["Machine", ...]:
    """The machines that a mode's code has to run on.

    Many L2s per agent also stands for an unknown partition mode: then on both kinds. Where a chip's
    documents leave things open: with every reading, and with those by default.
    """
    if mode.is_ptx:
        return (PtxMachine(mode),)
    split = "tgsplit" in mode.features
    numbers = [L2PerAgent.ONE]
    on = CdnaConfiguration(mode.chip)
    if on.row.l2_per_agent is mode.l2_per_agent is L2PerAgent.MANY:
        numbers = [L2PerAgent.MANY, L2PerAgent.ONE]
    readings = [EVERY_READING, DEFAULT_READINGS] if has_readings(mode.chip) else [DEFAULT_READINGS]
    return tuple(
        CdnaMachineOf(CdnaConfiguration(mode.chip, split, number, each))
        for each, number in product(readings, numbers)
    )


@lru_cache(maxsize=1 << 15)
def _explored(program: CdnaProgram, configuration: CdnaConfiguration) -> Outcomes:
    found = explore(SymmetricEngine(program, configuration), STATE_LIMIT)
    if found.errors or not found.complete:
        raise CertificateError("; ".join(sorted(found.errors)) or found.note)
    return found.outcomes


@lru_cache(maxsize=1 << 15)
def _stuck(program: CdnaProgram, configuration: CdnaConfiguration) -> bool:
    try:
        return bool(stuck(program, configuration, STATE_LIMIT))
    except LimitReached as error:
        raise CertificateError(str(error)) from None


@lru_cache(maxsize=1 << 15)
def _judged(code: "_Hashed") -> Outcomes:
    from fencewright.simulator.ptx.outcomes import outcomes

    return outcomes(code.program)


@dataclass(frozen=True)
class _Hashed:
    """A PTX program by its text, since it holds dictionaries."""

    program: PtxProgram = field(hash=False, compare=False)
    text: str = ""


class CdnaMachineOf(Machine):
    """The CDNA machine in one configuration."""

    def __init__(self, configuration: CdnaConfiguration):
        self.configuration = configuration
        readings = f", {text}" if (text := configuration.readings_text) else ""
        self.name = f"{configuration.l2_per_agent} L2{readings}"

    def program(self, code: Code) -> CdnaProgram:
        """The program that the machine executes."""
        return cdna_program(code, self.configuration)

    def fits(self, program: ScopedProgram) -> bool:
        # With one L2 there are no XCDs.
        many = self.configuration.l2_per_agent is L2PerAgent.MANY
        return many or all(thread.placement.xcd == 0 for thread in program.threads)

    def outcomes(self, code: Code) -> Outcomes:
        return _explored(self.program(code), self.configuration)

    def is_stuck(self, code: Code) -> bool:
        return _stuck(self.program(code), self.configuration)

    def execution(self, code: Code, outcome: tuple[int | None, ...]) -> str:
        return str(find_execution(self.program(code), outcome.__eq__, self.configuration))

    def waiting(self, code: Code) -> str:
        return "\n".join(map(str, stuck(self.program(code), self.configuration)))

    def weakenings(self, request: Request, sequence: Sequence) -> "Iterator[Weakening]":
        return cdna_weakenings(request, sequence)


class PtxMachine(Machine):
    """The PTX model."""

    name = "PTX"

    def __init__(self, mode: Target):
        self.forms = ptx_forms(mode)

    def outcomes(self, code: Code) -> Outcomes:
        program = ptx_program(code)
        found = _judged(_Hashed(program, repr(program)))
        if not found.complete:
            raise CertificateError("loops that the PTX model does not complete")
        return found.project(code.program.observables())

    def execution(self, code: Code, outcome: tuple[int | None, ...]) -> str:
        from fencewright.simulator.core import condition
        from fencewright.simulator.pictures.execution_graph import ptx_graph
        from fencewright.simulator.ptx.formats import columns as ptx_litmus

        program = ptx_program(code)
        observables = code.program.observables()
        formula = condition.same_state(dict(zip(observables, outcome, strict=True)))
        exists = condition.Condition(condition.Quantifier.EXISTS, formula)
        witness = ptx_witnesses.explain(program, formula)
        test = ptx_litmus.PtxLitmusTest(program, exists)
        if witness is None:
            return ""
        return f"{ptx_graph(test, witness).explanation}\n{ptx_litmus.witness_text(test, witness)}"

    def weakenings(self, request: Request, sequence: Sequence) -> "Iterator[Weakening]":
        return ptx_weakenings(request, sequence, self.forms)


# Weakening one instruction


@dataclass(frozen=True, slots=True)
class Weakening:
    """A sequence with one instruction dropped or weakened.

    ``at`` counts instructions, ``part`` is what it was, ``change`` what became of it.
    ``phase`` is the instruction's.
    """

    at: int
    part: str
    change: str
    phase: Phase
    sequence: Sequence

    @property
    def word(self) -> str:
        """The counter, bit or instruction alone: ``vmcnt(0)``, ``sc1``, ``buffer_inv sc1``."""
        return self.part.partition(" of ")[0]


def _dropped(sequence: Sequence, at: int, part: str) -> Weakening:
    left = (*sequence.instructions[:at], *sequence.instructions[at + 1 :])
    phase = sequence.instructions[at].phase
    return Weakening(at, part, "dropped", phase, Sequence(left))


def _changed(sequence: Sequence, at: int, instruction: Instruction, part: str) -> Weakening:
    made = (*sequence.instructions[:at], instruction, *sequence.instructions[at + 1 :])
    return Weakening(at, part, instruction.text, instruction.phase, Sequence(made))


_RETURN_BITS = ("sc0", "glc", RETURNS)
_RMW = (Operation.ATOMIC_RMW, Operation.CMPXCHG)
_NARROWER_SCOPE = {wide: (narrow,) for narrow, wide in pairwise(SCOPES)}
"""The next narrower scope of a modifier; none for the narrowest."""


def cdna_weakenings(request: Request, sequence: Sequence) -> Iterator[Weakening]:
    """Each cache instruction, counter and barrier dropped, and each scope bit taken away.

    The bit that asks an atomic for the old value is no scope; hints order nothing. The wait
    for a flat access is one part: it is done when both counters say so (MI300 ISA 10.2.2).
    """
    encode = load_chip(request.target.chip).encode
    accessed = False
    for at, each in enumerate(sequence.instructions):
        accessed |= each.phase is Phase.ACCESS
        if each.wait is not None:
            if accessed and request.space is AddressSpace.GENERIC:
                yield _dropped(sequence, at, f"{each.wait} of {each.text}")
            else:
                yield from _fewer_counters(sequence, at, each, each.wait, encode)
            continue
        is_access = bool(each.operands)
        if not is_access:
            yield _dropped(sequence, at, each.text)
        kept = HINTS.union(_RETURN_BITS if is_access and request.op in _RMW else ())
        for bit in each.modifiers:
            if bit in kept:
                continue
            others = tuple(other for other in each.modifiers if other != bit)
            fewer = (*others, *_NARROWER_SCOPE.get(bit, ()))
            if is_access or fewer:
                narrowed = replace(each, modifiers=fewer)
                yield _changed(sequence, at, narrowed, f"{bit} of {each.text}")


def _fewer_counters(
    sequence: Sequence, at: int, instruction: Instruction, wait: WaitCounts, encode: Encoding
) -> Iterator[Weakening]:
    for counter in wait.given:
        left = wait.only(wait.given.keys() - {counter})
        part = f"{counter}(0) of {instruction.text}"
        if not left:
            yield _dropped(sequence, at, part)
            continue
        (fewer,) = encode((replace(instruction, wait=left),))
        yield _changed(sequence, at, fewer, part)


_WEAKER_FENCE = {
    "sc": (("acq_rel", None),),
    "acq_rel": (("acquire", PtxForm.ONE_SIDED_FENCE), ("release", PtxForm.ONE_SIDED_FENCE)),
}
_WEAKER_ACCESS = {
    "acq_rel": ("acquire", "release"),
    "acquire": ("relaxed",),
    "release": ("relaxed",),
}
_NARROWER = {"sys": "gpu", "gpu": "cta", "cluster": "cta"}


def ptx_weakenings(
    request: Request, sequence: Sequence, forms: frozenset[PtxForm]
) -> Iterator[Weakening]:
    """Each fence and barrier dropped, each ordering and scope taken one step down."""
    clusters = PtxForm.CLUSTER in forms
    for at, each in enumerate(sequence.instructions):
        head, *words = read_opcode(each.mnemonic).words
        if head in ("fence", "barrier"):
            yield _dropped(sequence, at, each.text)
        for i, word in enumerate(words):
            for weaker in _weaker_words(head, word, words, forms, clusters):
                changed = [head, *words[:i], *weaker, *words[i + 1 :]]
                if changed[:2] in (["ld", "weak"], ["st", "weak"]):
                    changed = [part for part in changed if part not in _ALL_SCOPES]
                weakened = replace(each, mnemonic=".".join(changed))
                yield _changed(sequence, at, weakened, f".{word} of {each.text}")


_ALL_SCOPES = frozenset(SCOPE_WORDS.values())


def _weaker_words(
    head: str, word: str, words: list[str], forms: frozenset[PtxForm], clusters: bool
) -> Iterator[tuple[str, ...]]:
    if head == "fence":
        for weaker, form in _WEAKER_FENCE.get(word, ()):
            if form is None or form in forms:
                yield (weaker,)
    elif head in ("ld", "st", "atom", "red"):
        for weaker in _WEAKER_ACCESS.get(word, ()):
            yield (weaker,)
        if head in ("ld", "st") and word == "relaxed":
            yield ("weak",)
    elif head == "barrier" and "arrive" in words and word == "release":
        yield ("relaxed",)
    # A fence of shared memory alone has the one scope.
    restricted = any(each.startswith("sync_restrict") for each in words)
    if head in ("fence", "ld", "st", "atom", "red") and word in _NARROWER and not restricted:
        narrower = "cluster" if word == "gpu" and clusters else _NARROWER[word]
        yield (narrower,)


# The contents of a certificate


class Verdict(FastStrEnum):
    """The verdict on an instruction or bit."""

    NEEDED = "needed"
    KEPT = "kept"
    UNNECESSARY = "unnecessary"


@dataclass(frozen=True, slots=True)
class Witness:
    """A test, the machine it was run on, and the forbidden outcome.

    ``outcome`` is empty when the test never ends.
    """

    test: str
    machine: str
    outcome: str = ""

    def __str__(self) -> str:
        return f"{self.test} ({self.machine}): {self.outcome or 'never ends'}"


@dataclass(frozen=True, slots=True)
class Necessity:
    """One instruction or bit: its weakened form, the test that noticed, or the reason that it
    stays."""

    at: int
    part: str
    change: str
    verdict: Verdict
    witness: Witness | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OperationCertificate:
    """One operation: its sequence, the tests that it passed or failed, the purpose of each part.

    ``failures`` are the tests with a forbidden outcome, empty for a sound operation. ``tests``
    is their number, ``void`` how many more had data races.
    """

    operation: str
    request: Request
    sequence: tuple[str, ...]
    tests: int
    void: int
    failures: tuple[Witness, ...]
    parts: tuple[Necessity, ...]

    @property
    def is_sound(self) -> bool:
        """True if no test had a forbidden outcome."""
        return not self.failures

    @property
    def unnecessary(self) -> tuple[Necessity, ...]:
        """The parts that no test needs and nothing keeps."""
        return tuple(each for each in self.parts if each.verdict is Verdict.UNNECESSARY)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Every operation of a mode. ``covers`` names other modes with the very same sequences."""

    mode: Target
    operations: tuple[OperationCertificate, ...]
    covers: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """True if every operation is sound."""
        return all(each.is_sound for each in self.operations)

    def find(self, request: Request) -> OperationCertificate | None:
        """The certificate of an operation; None if it is not in this one."""
        known = {_without_mode(each.request): each for each in self.operations}
        wanted = _without_mode(request)
        if wanted.op is Operation.ATOMIC_RMW:
            # The rows do not distinguish kinds; see ``shapes.operations``.
            kind = RmwKind.XCHG if wanted.returns else RmwKind.ADD
            wanted = replace(wanted, kind=kind)
        found = known.get(wanted)
        if found is None and wanted.scope is Scope.CLUSTER:
            found = known.get(replace(wanted, scope=Scope.AGENT))
        return found

    def findings(self) -> tuple[str, ...]:
        """Every operation that is not sound, and every part that is not needed, one a line."""
        lines: list[str] = []
        for each in self.operations:
            lines += [f"insufficient: {each.operation}: {failure}" for failure in each.failures]
            lines += [f"unnecessary: {each.operation}: {part.part}" for part in each.unnecessary]
        return tuple(lines)

    def to_json(self) -> str:
        """The certificate as JSON, the same text for the same findings."""
        mode = self.mode
        content = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "target": mode.chip,
            "features": sorted(mode.features),
            "l2_per_agent": mode.l2_per_agent,
            "ptx_version": None if mode.ptx_version is None else list(mode.ptx_version),
            "covers": list(self.covers),
        }
        head = json.dumps(content, indent=1)[:-2]
        rows = ",\n".join("  " + json.dumps(_to_data(each)) for each in self.operations)
        return f'{head},\n "operations": [\n{rows}\n ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Reads ``to_json``'s text back. Raises ``CertificateError``."""
        try:
            return _certificate_of(JsonValue.read(text))
        except JsonFormError as error:
            raise CertificateError(str(error)) from None


def _without_mode(request: Request) -> Request:
    return replace(request, target=Target(""))


def _to_data(each: OperationCertificate) -> dict[str, Any]:
    return {
        "operation": each.operation,
        "request": _request_data(each.request),
        "sequence": list(each.sequence),
        "tests": each.tests,
        "void": each.void,
        "failures": [_witness_data(witness) for witness in each.failures],
        "parts": [
            {
                "at": part.at,
                "part": part.part,
                "change": part.change,
                "verdict": part.verdict,
                **({"witness": _witness_data(part.witness)} if part.witness else {}),
                **({"reason": part.reason} if part.reason else {}),
            }
            for part in each.parts
        ],
    }


def _witness_data(witness: Witness) -> list[str]:
    return [witness.test, witness.machine, witness.outcome]


def _certificate_of(data: JsonValue) -> Certificate:
    """The certificate of a JSON text; raises ``JsonFormError`` and ``CertificateError``."""
    form = data.optional("format")
    if form is None or form.value != FORMAT:
        raise CertificateError(f"not a certificate: \"format\" is not '{FORMAT}'")
    version = data.member("version").number()
    if version != FORMAT_VERSION:
        raise CertificateError(
            f"certificate of version {version}; this reads {FORMAT_VERSION}: "
            "make it anew with `fence-sim certify`"
        )
    data.only("format", "version", *_MODE, "covers", "operations")
    mode = _mode_of(data)
    found: dict[str, OperationCertificate] = {}
    for item in data.member("operations").items():
        each = _operation_of(item, mode)
        if each.operation in found:
            raise item.member("operation").refused("an operation that is not there before")
        found[each.operation] = each
    return Certificate(mode, tuple(found.values()), data.member("covers").texts())


_MODE = ("target", "features", "l2_per_agent", "ptx_version")


def _mode_of(data: JsonValue) -> Target:
    """The mode of a certificate, which a chip has."""
    chip, features, number, version = map(data.member, _MODE)
    mode = Target(
        chip.text(),
        frozenset(features.texts()),
        number.word(L2PerAgent),
        version.or_none(_version_of),
    )
    # Of a mode that the chip does not have every operation would hold, there being none.
    try:
        lower_for(mode, Operation.FENCE, Ordering.SEQ_CST)
    except UnsupportedError as error:
        raise JsonFormError(f"{chip.path}: {error}") from None
    return mode


def _version_of(data: JsonValue) -> tuple[int, int]:
    match tuple(each.number() for each in data.items()):
        case (major, minor):
            return major, minor
        case _:
            raise data.refused("a version as [8, 6]")


def _operation_of(data: JsonValue, mode: Target) -> OperationCertificate:
    data.only("operation", "request", "sequence", "tests", "void", "failures", "parts")
    request = replace(_request_of(data.member("request")), target=mode)
    operation = data.member("operation")
    if operation.text() != describe(request):
        raise operation.refused(f"'{describe(request)}', as its request says")
    sequence = data.member("sequence").texts()
    return OperationCertificate(
        operation.text(),
        request,
        sequence,
        data.member("tests").number(),
        data.member("void").number(),
        tuple(map(_witness_of, data.member("failures").items())),
        tuple(_part_of(each, len(sequence)) for each in data.member("parts").items()),
    )


def _part_of(data: JsonValue, instructions: int) -> Necessity:
    data.only("at", "part", "change", "verdict", "witness", "reason")
    at, verdict = data.member("at"), data.member("verdict")
    if at.number() >= instructions:
        raise at.refused(f"the number of one of {instructions} instructions, from 0")
    witness, reason = data.optional("witness"), data.optional("reason")
    part = Necessity(
        at.number(),
        data.member("part").text(),
        data.member("change").text(),
        verdict.word(Verdict),
        None if witness is None else _witness_of(witness),
        "" if reason is None else reason.text(),
    )
    if (part.witness is not None) is not (part.verdict is Verdict.NEEDED):
        raise verdict.refused("'needed' of what has a witness, and only of that")
    return part


def _witness_of(data: JsonValue) -> Witness:
    match data.texts():
        case (test, machine, outcome):
            return Witness(test, machine, outcome)
        case _:
            raise data.refused("a test, a machine and an outcome")


def _request_data(request: Request) -> dict[str, Any]:
    data: dict[str, Any] = {
        "op": request.op,
        "ordering": request.ordering,
        "scope": request.scope,
        "space": request.space,
    }
    if request.op in _RMW:
        data |= {"returns": request.returns}
    if request.op is Operation.ATOMIC_RMW:
        data |= {"kind": request.kind}
    if request.failure_ordering is not None:
        data |= {"failure_ordering": request.failure_ordering}
    if request.volatile:
        data |= {"volatile": True}
    if request.one_as:
        data |= {"one_as": True}
    if request.spaces is not None:
        data |= {"spaces": sorted(request.spaces)}
    if request.availability is not Availability.FULL:
        data |= {"availability": request.availability}
    return data


def _request_of(data: JsonValue) -> Request:
    data.only(
        "op", "ordering", "scope", "space", "failure_ordering", "returns", "kind", "volatile",
        "one_as", "spaces", "availability",
    )  # fmt: skip
    failure, spaces = data.optional("failure_ordering"), data.optional("spaces")

    def truth(name: str, default: bool) -> bool:
        given = data.optional(name)
        return default if given is None else given.truth()

    kind, availability = data.optional("kind"), data.optional("availability")
    request = Request(
        op=data.member("op").word(Operation),
        ordering=data.member("ordering").word(Ordering),
        scope=data.member("scope").word(Scope),
        space=data.member("space").or_none(lambda each: each.word(AddressSpace)),
        failure_ordering=None if failure is None else failure.word(Ordering),
        returns=truth("returns", True),
        kind=RmwKind.ADD if kind is None else kind.word(RmwKind),
        volatile=truth("volatile", False),
        one_as=truth("one_as", False),
        spaces=None
        if spaces is None
        else frozenset(each.word(AddressSpace) for each in spaces.items()),
        availability=Availability.FULL if availability is None else availability.word(Availability),
    )
    try:
        check(request)
    except UnsupportedError as error:
        raise JsonFormError(f"{data.path}: {error}") from None
    return request


def describe(request: Request) -> str:
    """An operation as the certificate calls it."""
    parts: list[object] = [request.op]
    parts += [request.ordering, request.failure_ordering, request.scope, request.space]
    if request.op in _RMW and not request.returns:
        parts.append("unused")
    if request.volatile:
        parts.append("volatile")
    if request.spaces is not None:
        parts.append("spaces " + "+".join(sorted(request.spaces)))
    if request.one_as:
        parts.append("one-as")
    if request.availability is not Availability.FULL:
        parts.append(f"av({request.availability})")
    return " ".join(str(part) for part in parts if part is not None)


# Parts that stay though no test needs them


Columns = Mapping[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Kept:
    """The reason that something stays that no test needs.

    ``words`` are the parts that it is about, () for all; ``where`` limits the operations and
    modes by column, as in ``lowering.cdna.generations.differences``.
    """

    name: str
    reason: str
    words: tuple[str, ...]
    where: Columns


_FLAT = (
    "an earlier flat access may be to LDS and still on its way; it counts in both counters, and is "
    "surely done only when both are waited for (MI300 ISA 10.2.2). The machine lets it retire in "
    "both at once, so that the wait for vmcnt looks enough"
)
_PIPES = (
    "LDS and vector memory are separate pipes. In the machine a flag load passes the CU's L1 stage "
    "in order behind the flag store, and so behind the LDS access that was waited for there; no "
    "document says that LDS keeps to that order"
)
_BITS = (
    "the bits are the access's scope (CDNA4 ISA) and cost nothing; the row is one for all modes "
    "and orderings, of which others need it"
)
_LOAD, _STORE = Operation.LOAD, Operation.STORE
_AGENT = (Scope.CLUSTER, Scope.AGENT)
_TO_CLUSTER, _TO_AGENT, _ = ((each,) for each in SCOPES)
_NO_BACK_OFF = tuple(chip.name for chip in CHIPS.values() if not chip.back_off_barrier)

KEPT: tuple[Kept, ...] = (
    Kept("flat access to LDS", _FLAT, ("lgkmcnt(0)",),
         {"space": (AddressSpace.LOCAL,), "architecture": ("cdna",)}),
    Kept("flat flag behind a one_as fence",
         "a flat store behind the fence may be to LDS, and passes the ds_ accesses before it; the "
         "battery's fences have flags that are not flat", ("lgkmcnt(0)",),
         {"op": (Operation.FENCE,), "one_as": (True,), "architecture": ("cdna",)}),
    Kept("LDS is another pipe", _PIPES, ("vmcnt(0)", "vmcnt(0) lgkmcnt(0)"),
         {"scope": (Scope.WORKGROUP,), "tgsplit": (False,), "phase": (Phase.WAIT,)}),
    Kept("work-group scope bit", _BITS, ("sc0",),
         {"scope": (Scope.WORKGROUP,), "op": (_LOAD, _STORE)}),
    Kept("agent scope bit of a store", _BITS, ("sc1",),
         {"scope": _AGENT, "op": (_STORE,), "l2_per_agent": (L2PerAgent.ONE,)}),
    Kept("system scope bit of an acquire load",
         f"{_BITS}; where the load spins, its own invalidate stands in for the bit", ("sc0", "sc1"),
         {"scope": (Scope.SYSTEM,), "op": (_LOAD,), "ordering": (Ordering.ACQUIRE,)}),
    Kept("no back-off barrier",
         "the chip's s_barrier needs nothing outstanding, whatever it orders (LLVM "
         "SIInsertWaitcnts)", ("vmcnt(0)", "lgkmcnt(0)"),
         {"op": (Operation.BARRIER,), "phase": (Phase.ACCESS,), "target": _NO_BACK_OFF}),
    Kept("distributed shared memory",
         "other CTAs of a cluster reach shared memory; the source language's LDS is one "
         "work-group's, so that no test can",
         (".cluster",), {"space": (AddressSpace.LOCAL,), "architecture": ("ptx",)}),
    Kept("wavefront is widened",
         "PTX has no warp scope, so the row gives the CTA's; to the source model a wavefront is "
         "one thread, so that no test has a second one",
         (), {"scope": (Scope.WAVEFRONT,), "architecture": ("ptx",)}),
    Kept("atomic, though alone",
         "an atomic access must stay strong, or a race with another thread's would tear it",
         (".relaxed",), {"scope": (Scope.SINGLETHREAD,), "architecture": ("ptx",)}),
    Kept("scope of a write to the cluster",
         "the field is the access's scope (LLVM 24 AMDGPUUsage, Memory Model GFX125x) and costs "
         "nothing; "
         "the WGP$ performs no atomics and passes every store on, so that the machine does the "
         "same "
         "without it", _TO_CLUSTER,
         {"scope": (Scope.CLUSTER,), "op": (_STORE, *_RMW)}),
    Kept("scope of an acquire load that spins",
         "the field is the access's scope (LLVM 24 AMDGPUUsage, Memory Model GFX125x) and costs "
         "nothing; "
         "where the load spins, its own invalidate stands in for it", SCOPES,
         {"op": (_LOAD,), "ordering": (Ordering.ACQUIRE,), "phase": (Phase.ACCESS,)}),
    Kept("agent's scope with one L2",
         "with one L2 the agent's scope reaches no farther than the cluster's; the row is one for "
         "all "
         "modes, and LLVM does not know how many there are", _TO_AGENT,
         {"scope": (Scope.AGENT,), "l2_per_agent": (L2PerAgent.ONE,)}),
    Kept("invalidate after a write-back",
         "the machine sends a global_inv of SCOPE_SYS down the queues after the write-back, so "
         "that the wait for the one is a wait for the other; no document says that they keep that "
         "order",
         ("storecnt(0)",),
         {"op": (Operation.FENCE,), "ordering": (Ordering.ACQ_REL, Ordering.SEQ_CST),
          "scope": (Scope.SYSTEM,), "phase": (Phase.RELEASE,)}),
    Kept("SCC",
         "s_barrier_signal_isfirst writes SCC as kmcnt counts it down (LLVM SIInsertWaitcnts); the "
         "machine writes it at once", ("kmcnt(0)",), {"op": (Operation.BARRIER,)}),
    Kept("replay",
         "memory operations that XNACK may replay must not be done twice (LLVM 24 AMDGPUUsage, "
         "Memory "
         "Model GFX125x, xcnt); the machine replays nothing", ("xcnt(0)",), {}),
)  # fmt: skip
"""Every reason for which something stays though no test needs it."""


def _columns(mode: Target, request: Request, weakening: Weakening) -> dict[str, object]:
    return {
        "architecture": "ptx" if mode.is_ptx else "cdna",
        "target": mode.chip,
        "tgsplit": "tgsplit" in mode.features,
        "l2_per_agent": mode.l2_per_agent,
        "op": request.op,
        "ordering": request.ordering,
        "scope": request.scope,
        "space": request.space,
        "one_as": request.one_as,
        "phase": weakening.phase,
    }


def _verdict(mode: Target, request: Request, weakening: Weakening) -> tuple[Verdict, str]:
    columns = _columns(mode, request, weakening)
    for each in KEPT:
        here = all(columns[name] in values for name, values in each.where.items())
        if here and (not each.words or weakening.word in each.words):
            return Verdict.KEPT, each.name
    return Verdict.UNNECESSARY, ""


# Certifying


def certify_operation(
    request: Request, mode: Target, lowering: Lowering | None = None
) -> OperationCertificate:
    """Runs the tests of one operation. ``lowering`` stands in for the target's own.

    Raises ``UnsupportedError`` if the target lacks the operation, ``CertificateError`` if a
    test cannot be decided.
    """
    request = replace(request, target=mode)
    trial = Trial(mode, lowering)
    sequence = trial.lowering(request)
    passed: list[ShapeTest] = []
    void = 0
    failures: list[Witness] = []
    for test in shape_tests(request, mode):
        try:
            failure = trial.judge(test)
        except RacyTestError:
            void += 1
            continue
        if failure is None:
            passed.append(test)
        else:
            failures.append(failure)
    parts: list[Necessity] = []
    for weakening in trial.machines[0].weakenings(request, sequence):
        witness = trial.witness(passed, weakening)
        if witness is not None:
            verdict, reason = Verdict.NEEDED, ""
        else:
            verdict, reason = _verdict(mode, request, weakening)
        parts.append(
            Necessity(weakening.at, weakening.part, weakening.change, verdict, witness, reason)
        )
    return OperationCertificate(
        describe(request),
        request,
        tuple(each.text for each in sequence.instructions),
        len(passed) + len(failures),
        void,
        tuple(failures),
        tuple(parts),
    )


class Trial:
    """A mode's lowering and machines, to judge tests with."""

    def __init__(self, mode: Target, lowering: Lowering | None = None):
        self.mode = mode
        self.lowering = lowering or lower_request
        self.machines = machines_of(mode)

    def lower(self, test: ShapeTest) -> Code:
        """The test's program with the sequence of each operation."""
        return lower_program(test.program, self.mode, self.lowering, test.generic)

    def machines_for(self, test: ShapeTest) -> tuple[Machine, ...]:
        """The machines that have the places of ``test``."""
        return tuple(each for each in self.machines if each.fits(test.program))

    def judge(self, test: ShapeTest, code: Code | None = None) -> Witness | None:
        """The forbidden behaviour of the lowered test; None if there is none.

        Raises ``RacyTestError`` where the source has a data race, and allows everything, and
        ``CertificateError`` where a machine cannot decide.
        """
        lowered = self.lower(test) if code is None else code
        try:
            return self._judged(test, lowered)
        except CertificateError as error:
            raise CertificateError(f"test '{test.name}': {error}") from None

    def _judged(self, test: ShapeTest, code: Code) -> Witness | None:
        if test.progress:
            for machine in self.machines_for(test):
                if machine.is_stuck(code):
                    return Witness(test.name, machine.name)
            return None
        allowed = source_outcomes(test.program)
        if allowed is None:
            raise RacyTestError(test.name)
        for machine in self.machines_for(test):
            outcomes = machine.outcomes(code)
            if allowed.states and not outcomes.states:
                return Witness(test.name, machine.name)  # No execution ends.
            found = forbidden(allowed, outcomes)
            if found:
                first = min(_state_text(allowed.observables, each) for each in found)
                return Witness(test.name, machine.name, first)
        return None

    def weakened(self, test: ShapeTest, weakening: Weakening) -> Code:
        """``test`` with one instruction of its focus weakened."""
        return self.lower(test).with_sequence(test.focus, weakening.sequence)

    def witness(self, tests: Iterable[ShapeTest], weakening: Weakening) -> Witness | None:
        """The first of ``tests``, all of which pass, that notices."""
        for test in tests:
            found = self.judge(test, self.weakened(test, weakening))
            if found is not None:
                return found
        return None


def _state_text(observables: Iterable[Observable], state: tuple[int | None, ...]) -> str:
    pairs = zip(observables, state, strict=True)
    return " ".join(f"{each}={value}" for each, value in pairs)


# Whole modes


def certify_mode(
    mode: Target,
    *,
    executor: Executor | None = None,
    stream: Path | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Certificate:
    """Certifies every operation of a target in one mode.

    With ``executor`` operations run side by side, ``stream`` is a file that results go to as
    they come, and that an interrupted run resumes from (``campaign.run``). ``watch`` gets the
    numbers of those done, and of those not sufficient. Raises ``CertificateError`` or
    ``campaign.CampaignError``.
    """
    wanted = requests_of(mode)
    tasks = [Task(describe(each), _certified, (each, mode)) for each in wanted]
    name = f"certificate {FORMAT_VERSION} {mode} {shapes_digest(mode)}"
    found: dict[str, Any] = {}
    failed = 0
    for key, data in run(tasks, executor, stream, name):
        found[key] = data
        failed += bool(data["failures"])
        if watch is not None:
            watch(len(found), failed)
    done = tuple(_operation_of(JsonValue(found[describe(each)]), mode) for each in wanted)
    return Certificate(mode, done, covers(mode))


def _certified(request: Request, mode: Target) -> dict[str, Any]:
    return _to_data(certify_operation(request, mode))


def requests_of(mode: Target) -> tuple[Request, ...]:
    """The operations that the target has in ``mode``.

    Cluster scope is left out where the sequence is agent scope's, whose tests are harder.
    """

    def exists(request: Request) -> bool:
        try:
            lower_request(request)
        except UnsupportedError:
            return False
        return True

    def is_agent(request: Request) -> bool:
        wider = replace(request, scope=Scope.AGENT)
        return exists(wider) and lower_request(request).text == lower_request(wider).text

    wanted = (each for each in operations(mode) if exists(each))
    if mode.is_ptx:
        return tuple(wanted)
    return tuple(e for e in wanted if e.scope is not Scope.CLUSTER or not is_agent(e))


def shapes_digest(mode: Target) -> str:
    """Changes with any sequence of the mode, so that no stale result is resumed from."""
    texts = [f"{describe(each)}: {lower_request(each).text}" for each in requests_of(mode)]
    return sha256("\n".join(texts).encode()).hexdigest()[:16]


def modes() -> tuple[Target, ...]:
    """The modes whose certificates the project ships."""
    return tuple(mode for mode, _ in (*cdna_classes(), *ptx_classes()))


def cdna_classes() -> Iterator[tuple[Target, tuple[Target, ...]]]:
    """The modes of the first chip of each generation, and with them those of all its chips.

    A generic chip is none: what is compiled for it runs on the others. A chip with other L2s or
    features than its generation stands for itself.
    """
    classes: dict[tuple[object, ...], list[ChipRow]] = {}
    for chip in CHIPS.values():
        alike = chip.generation, chip.l2_per_agent, chip.feature_sets
        classes.setdefault(alike, []).append(chip)
    for chips in classes.values():
        first, *_ = chips
        many = first.l2_per_agent is L2PerAgent.MANY
        numbers = (L2PerAgent.MANY, L2PerAgent.ONE) if many else (L2PerAgent.MANY,)
        for number, features in product(numbers, first.feature_sets):
            yield (
                Target(first.name, features, number),
                tuple(Target(c.name, features, number) for c in chips if not c.generic),
            )


_ORDERING_FORMS = frozenset(
    {PtxForm.CLUSTER, PtxForm.CLUSTER_BARRIER_ORDERING, PtxForm.ONE_SIDED_FENCE}
)


def ptx_classes() -> tuple[tuple[Target, tuple[Target, ...]], ...]:
    """Chips and PTX versions by the instructions that order memory in them: the oldest of each
    class, and all."""
    classes: dict[frozenset[PtxForm], list[Target]] = {}
    for chip in PTX_CHIPS:
        last = chip.last or VERSIONS[-1]
        for version in VERSIONS:
            if chip.first <= version <= last:
                forms = forms_of(chip, version) & _ORDERING_FORMS
                mode = Target(chip.name, ptx_version=version)
                classes.setdefault(forms, []).append(mode)
    return tuple((members[0], tuple(members)) for members in classes.values())


def covers(mode: Target) -> tuple[str, ...]:
    """The other modes that have the same sequences and the same machine, by name."""
    for first, members in (*cdna_classes(), *ptx_classes()):
        if first == mode:
            return tuple(str(each) for each in members[1:])
    return ()


def shipped(mode: Target) -> Certificate:
    """The certificate that the project ships for ``mode``.

    Raises ``CertificateError`` if there is none.
    """
    folder = resources.files("fencewright.certificates")
    for each in modes():
        if mode == each or str(mode) in covers(each):
            file = folder / f"{each}.json"
            if file.is_file():
                return Certificate.from_json(file.read_text(encoding="utf-8"))
    names = ", ".join(map(str, modes()))
    raise CertificateError(f"no certificate for {mode}; there are {names}")


def recheck(certificate: Certificate, sample: int | None = None, seed: int = 0) -> tuple[str, ...]:
    """The parts of a certificate that no longer hold; () if all do.

    Every sequence is compared with what is lowered today, and every number of tests with the
    battery of today. Of ``sample`` operations (None: all) the tests with a data race are counted,
    every failure and every witness is run again, a witness with and without its weakening, and
    as many other tests of the operation as it has parts.
    """
    mode = certificate.mode
    trial = Trial(mode)
    problems: list[str] = []
    now = {describe(each): each for each in requests_of(mode)}
    then = {each.operation: each for each in certificate.operations}
    if certificate.covers != covers(mode):
        stands = ", ".join(covers(mode)) or "no other mode"
        said = ", ".join(certificate.covers) or "none"
        problems.append(f"{mode}: stands for {stands}, the certificate says {said}")
    problems += [f"{name}: not in the certificate" for name in now.keys() - then.keys()]
    problems += [f"{name}: no longer lowered" for name in then.keys() - now.keys()]
    for each in certificate.operations:
        if each.operation in now:
            problems += _recounted(each, mode)
            text = tuple(i.text for i in trial.lowering(each.request).instructions)
            if text != each.sequence:
                problems.append(f"{each.operation}: now lowered to {'; '.join(text)}")
    if problems:
        return tuple(sorted(problems))
    random = Random(seed)
    chosen = list(certificate.operations)
    if sample is not None and sample < len(chosen):
        chosen = random.sample(chosen, sample)
    for each in chosen:
        problems += _rechecked(trial, each, random)
    return tuple(problems)


def _recounted(certificate: OperationCertificate, mode: Target) -> Iterator[str]:
    """The number of tests, if it is another one now."""
    recorded, now = (
        certificate.tests + certificate.void,
        _number_of_tests(certificate.request, mode),
    )
    if recorded != now:
        yield f"{certificate.operation}: has {now} tests now, the certificate says {recorded}"


@cache
def _number_of_tests(request: Request, mode: Target) -> int:
    return len(shape_tests(request, mode))


def _is_void(test: ShapeTest) -> bool:
    """True where the source has a data race, so that the test says nothing (``Trial.judge``)."""
    return not test.progress and source_outcomes(test.program) is None


def _rechecked(trial: Trial, certificate: OperationCertificate, random: Random) -> Iterator[str]:
    tests = {test.name: test for test in shape_tests(certificate.request, trial.mode)}
    failing = {failure.test for failure in certificate.failures}
    void = sum(map(_is_void, tests.values()))
    if void != certificate.void:
        yield (
            f"{certificate.operation}: {void} tests have a data race, the certificate says "
            f"{certificate.void}"
        )
    for failure in certificate.failures:
        test = tests.get(failure.test)
        if test is None:
            yield f"{certificate.operation}: no test '{failure.test}' any more"
        elif (now := None if _is_void(test) else trial.judge(test)) != failure:
            yield f"{certificate.operation}: test '{failure.test}' now says {now or 'nothing'}"
    sequence = trial.lowering(certificate.request)
    found = trial.machines[0].weakenings(certificate.request, sequence)
    weakenings = {(each.at, each.part, each.change): each for each in found}
    recorded = {(part.at, part.part, part.change): part for part in certificate.parts}
    if weakenings.keys() != recorded.keys():
        yield f"{certificate.operation}: has other parts now"
        return
    passing = sorted(tests.keys() - failing)
    others = random.sample(passing, min(len(passing), len(recorded)))
    for name in others:
        try:
            failure = trial.judge(tests[name])
        except RacyTestError:
            continue
        if failure is not None:
            yield f"{certificate.operation}: test '{name}' now says {failure}"
    for key, part in recorded.items():
        if part.witness is None:
            continue
        test = tests.get(part.witness.test)
        if test is None:
            yield f"{certificate.operation}: {part.part}: no test '{part.witness.test}' any more"
        elif trial.judge(test) is not None:
            yield f"{certificate.operation}: {part.part}: its witness fails anyway"
        elif trial.judge(test, trial.weakened(test, weakenings[key])) != part.witness:
            yield f"{certificate.operation}: {part.part}: its witness says something else"


# Explaining


@dataclass(frozen=True, slots=True)
class Explanation:
    """The purpose of an instruction: the test that needs it, and the failure without it."""

    operation: str
    sequence: tuple[str, ...]
    part: Necessity
    source: str = ""
    execution: str = ""

    def __str__(self) -> str:
        marked = [
            f"{'->' if number == self.part.at else '  '} {text}"
            for number, text in enumerate(self.sequence)
        ]
        head = f"{self.operation}: {self.part.part}: {self.part.verdict}"
        lines = [head, *marked]
        if self.part.witness is None:
            return "\n".join([*lines, self.part.reason or "no test of the battery needs it"])
        change = "without it" if self.part.change == "dropped" else f"as '{self.part.change}'"
        lines += [
            f"test '{self.part.witness.test}':",
            self.source,
            f"{change}, on {self.part.witness.machine}:",
            self.execution,
        ]
        return "\n".join(lines)


def explain(
    request: Request,
    mode: Target,
    at: int | None = None,
    certificate: Certificate | None = None,
) -> tuple[Explanation, ...]:
    """The purpose of each part of an operation's sequence, with a counterexample step by step.

    ``at`` picks one instruction. What ``certificate`` has is taken from there, else certified
    now. Raises ``UnsupportedError`` for an operation that the target lacks, ``CertificateError`` if
    ``certificate`` has a witness that is none.
    """
    trial = Trial(mode)
    request = replace(request, target=mode)
    sequence = trial.lowering(request)
    text = tuple(each.text for each in sequence.instructions)
    found = None if certificate is None else certificate.find(request)
    if found is None or found.sequence != text:
        found = certify_operation(request, mode)
    weakenings = {
        (each.at, each.part, each.change): each
        for each in trial.machines[0].weakenings(request, sequence)
    }
    tests = {test.name: test for test in shape_tests(request, mode)}
    result: list[Explanation] = []
    for part in found.parts:
        if at is not None and part.at != at:
            continue
        made = Explanation(found.operation, text, part)
        if part.witness is not None:
            test = tests.get(part.witness.test)
            weakening = weakenings.get((part.at, part.part, part.change))
            if test is None or weakening is None:
                raise _outdated(found, part)
            code = trial.weakened(test, weakening)
            execution = _shown(trial, test, code, found, part)
            made = replace(made, source=source_text(test.program), execution=execution)
        result.append(made)
    return tuple(result)


def _outdated(certificate: OperationCertificate, part: Necessity) -> CertificateError:
    return CertificateError(
        f"{certificate.operation}: {part.part}: the certificate's witness is none: check it with "
        "`fence-sim certify CHIP --recheck`"
    )


def _shown(
    trial: Trial,
    test: ShapeTest,
    code: Code,
    certificate: OperationCertificate,
    part: Necessity,
) -> str:
    if part.witness is None or trial.judge(test, code) != part.witness:
        raise _outdated(certificate, part)
    (machine,) = (each for each in trial.machines if each.name == part.witness.machine)
    if not part.witness.outcome:
        return machine.waiting(code)
    allowed = source_outcomes(test.program)
    if allowed is None:
        raise RacyTestError(test.name)
    found = forbidden(allowed, machine.outcomes(code))
    worst = min(found, key=lambda state: _state_text(allowed.observables, state))
    return machine.execution(code, worst)


def source_text(program: ScopedProgram) -> str:
    """A source program, one thread after the other."""
    lines: list[str] = []
    for number, thread in enumerate(program.threads):
        place = thread.placement
        lines.append(
            f"  P{number} (agent {place.agent}, XCD {place.xcd}, CU {place.cu}, "
            f"work-group {place.workgroup}):"
        )
        lines += [f"    {each}" for each in thread.instructions]
    return "\n".join(lines)


# Row by row


@dataclass(frozen=True, slots=True)
class RowCertificate:
    """One row of a chip's tables: how many operations use it, and which of its parts one needs.

    ``parts`` maps each part of the row's instructions to the first operation that needs it,
    with its witness; None: no operation does. ``insufficient`` are the operations with a
    failing test.
    """

    table: str
    where: Mapping[str, tuple[object, ...]]
    value: str
    operations: int
    insufficient: tuple[str, ...]
    parts: Mapping[str, tuple[str, Witness] | None]


class _Recorder(Table[Value]):
    """A table that notes which rows were looked up."""

    __slots__ = ("used",)

    def __init__(self, table: Table[Value]):
        super().__init__(table.name, table.columns, table.rows)
        self.used: list[Row[Value]] = []

    def __getitem__(self, key: tuple[Hashable, ...]) -> Row[Value]:
        found = super().__getitem__(key)
        self.used.append(found)
        return found


_ROW_TABLES = ("write_back", "invalidate", "wait", "policy", "barrier")
_TABLE_OF_PHASE = {Phase.RELEASE: "write_back", Phase.ACQUIRE: "invalidate", Phase.ACCESS: "policy"}


def certify_rows(certificate: Certificate) -> tuple[RowCertificate, ...]:
    """The certificate of each row that a CDNA certificate's operations use.

    Raises ``CertificateError`` for PTX, whose rows are one for all chips: there each
    operation stands for the rows that it combines.
    """
    if certificate.mode.is_ptx:
        raise CertificateError(f"{certificate.mode}: rows are certified on CDNA only")
    chip = load_chip(certificate.mode.chip)
    recorders = {name: _Recorder(getattr(chip, name)) for name in _ROW_TABLES}
    recording = replace(chip, **recorders)
    users: dict[tuple[str, int], list[OperationCertificate]] = {}
    for each in certificate.operations:
        for recorder in recorders.values():
            recorder.used.clear()
        select.lower(recording, each.request)
        for name, recorder in recorders.items():
            for number in {recorder.rows.index(row) for row in recorder.used}:
                users.setdefault((name, number), []).append(each)
    result: list[RowCertificate] = []
    for (name, number), operations_of_row in sorted(users.items()):
        row = recorders[name].rows[number]
        value = _row_text(row.value)
        parts: dict[str, tuple[str, Witness] | None] = {}
        for each in operations_of_row:
            for part in each.parts:
                word = part.part.partition(" of ")[0]
                if not _is_of_row(name, value, word, part, lower_request(each.request)):
                    continue
                name_of_part = _row_part(name, part.part)
                new = None if part.witness is None else (each.operation, part.witness)
                parts[name_of_part] = parts.get(name_of_part) or new
        failing = tuple(each.operation for each in operations_of_row if not each.is_sound)
        result.append(
            RowCertificate(name, row.where, value, len(operations_of_row), failing, parts)
        )
    return tuple(result)


def _row_text(value: object) -> str:
    if isinstance(value, BareInstruction):
        return " ".join((value.mnemonic, *value.modifiers))
    if isinstance(value, tuple) and not isinstance(value, WaitCounts):
        return " ".join(_row_text(each) for each in cast("tuple[object, ...]", value))
    return str(value)


def _row_part(table: str, part: str) -> str:
    """A part without the instruction it was found in, where the row does not decide that."""
    return part.partition(" of ")[0] if table in ("wait", "policy") else part


def _is_of_row(table: str, value: str, word: str, part: Necessity, sequence: Sequence) -> bool:
    """True if a part of an operation's sequence comes from a row of ``table`` with ``value``."""
    instruction = sequence.instructions[part.at]
    if instruction.wait is not None and instruction.phase is not Phase.ACCESS:
        return table == "wait" and any(each in value.split() for each in word.split())
    if instruction.mnemonic == "s_barrier" or instruction.wait is not None:
        return table == "barrier"
    if table != _TABLE_OF_PHASE.get(instruction.phase):
        return False
    return word in value.split() if table == "policy" else instruction.text in value
