"""The operations of a function that the memory model sees, with their effects on the caches.

Each has a number in the order of the text, so that a set of operations is one integer, a bit each.
What the policy bits do is in the rows of ``lowering.cdna.caches``; here are the scalar cache,
which the lowering never uses for data that may change, and what a mode of the chip adds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from types import MappingProxyType

from fencewright.checker.amd.provenance import data_loads
from fencewright.lowering.cdna.caches import (
    Caches,
    Effect,
    Visibility,
    access_effect,
    maintenance_effect,
)
from fencewright.lowering.cdna.chips import KNOWN_CHIPS, ChipRow, Counter, Generation
from fencewright.lowering.cdna.code.flow import Flow, Step
from fencewright.lowering.cdna.code.text import Assembly, Function, Registers
from fencewright.lowering.code.effects import READING, WRITING, Kind
from fencewright.lowering.code.records import record
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, Scope

_REACHES: Mapping[Scope, Visibility] = MappingProxyType(
    {
        Scope.WORKGROUP: Visibility.WORKGROUP,
        Scope.CLUSTER: Visibility.CLUSTER,
        Scope.AGENT: Visibility.AGENT,
        Scope.SYSTEM: Visibility.SYSTEM,
    }
)


SCALAR_CACHE = 8
"""The bit of the scalar cache, beside those of ``Caches``."""

LEVELS = (int(Caches.L1), int(Caches.AGENT), int(Caches.SYSTEM), SCALAR_CACHE)
"""The caches in which an older value may be found, a bit each; the scalar one is the last."""


_WITH_CLUSTERS = tuple(_REACHES)
_WITHOUT_CLUSTERS = tuple(each for each in _REACHES if each is not Scope.CLUSTER)


def scopes_of(chip: ChipRow) -> tuple[Scope, ...]:
    """The scopes that a chip tells apart, narrowest first; without clusters theirs is the
    agent's."""
    return _WITH_CLUSTERS if chip.clusters else _WITHOUT_CLUSTERS


@dataclass(frozen=True, slots=True)
class Mode:
    """The machine that code is judged for: the chip's name, the L2s of an agent, the mode.

    ``tgsplit``: waves of a work-group may sit on different CUs; on gfx10 to gfx12 that is WGP mode.
    """

    target: str
    l2_per_agent: L2PerAgent
    tgsplit: bool

    @property
    def chip(self) -> ChipRow:
        """The chip's row."""
        return KNOWN_CHIPS[self.target]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that are distinguished, narrowest first."""
        return scopes_of(self.chip)

    @property
    def has_lds(self) -> bool:
        """True if work-groups have LDS, which a flat access may then be to."""
        split = self.chip.split_mode
        return not self.tgsplit or split is None or split.lds

    @property
    def keeps_order(self) -> bool:
        """True if all waves of a work-group see one wave's memory accesses in their order."""
        return not self.tgsplit and self.chip.orders_requests

    @property
    def peers_await_invalidates(self) -> bool:
        """True where a wave's invalidate holds for others of its work-group only once it is done.

        Those on its CU come after it in the same queues. Where requests are not ordered, it holds
        for the wave itself no sooner either.
        """
        return self.tgsplit and self.chip.orders_requests

    def others_caches(self, scope: Scope) -> Caches:
        """Those of ``caches`` that others of the work-group do not invalidate themselves."""
        plain = access_effect(self.target, Kind.LOAD, ()).reads
        return self.caches(scope) & plain & ~self.caches(Scope.WORKGROUP)

    def reach(self, scope: Scope) -> Visibility:
        """The reach at which a store is visible to all of ``scope``, as the documents can be read.

        With one L2 that is where all stores go; but where there are clusters, a cache before it may
        acknowledge those of a work-group (``Interpretation.ACKNOWLEDGED_EARLY`` of the machine).
        """
        one = self.l2_per_agent is L2PerAgent.ONE and not self.chip.clusters
        if scope is Scope.AGENT and one:
            return Visibility.WORKGROUP
        return _REACHES[scope]

    def required(self, scope: Scope) -> Visibility:
        """The reach of a store below which its lack is an error: less than ``reach`` for a cluster.

        A store that is done has reached the cluster on the machine by default, whose WGP$
        acknowledges nothing by itself. LLVM 24 relies on it: its releases to a cluster only wait.
        """
        return Visibility.WORKGROUP if scope is Scope.CLUSTER else self.reach(scope)

    def caches(self, scope: Scope) -> Caches:
        """The caches in which a value older than one that ``scope`` has released may be found."""
        match scope:
            case Scope.WORKGROUP:
                return Caches.L1 if self.tgsplit else Caches.NONE
            case Scope.CLUSTER:
                return Caches.L1
            case Scope.AGENT:
                one = self.l2_per_agent is L2PerAgent.ONE
                return Caches.L1 if one else Caches.L1 | Caches.AGENT
            case _:
                return Caches.ALL


def mode_of(assembly: Assembly, function: Function, l2_per_agent: L2PerAgent | None = None) -> Mode:
    """The mode that ``function`` is compiled for; ``l2_per_agent``: None as the chip may have it.

    A function that is called has its work-group on several CUs if any kernel of its file has; where
    no kernel is, or none says, it is as the chip has it by default.
    """
    chip = KNOWN_CHIPS[assembly.chip]
    split = False
    if chip.split_mode is not None:
        of = [function.descriptor]
        if not function.descriptor:
            functions = assembly.functions.values()
            of = [each.descriptor for each in functions if each.descriptor] or of
        split = any(map(chip.split_mode.is_on, of))
    return Mode(assembly.chip, l2_per_agent or chip.l2_per_agent, split)


_WAVES_OF_32 = "wavefront_size32"


def wave_size_of(function: Function, chip: ChipRow) -> int:
    """The number of lanes of a wave of ``function``, where the chip leaves that open."""
    return 64 if function.descriptor.get(_WAVES_OF_32) == 0 else chip.wave_size


NO_EFFECT = Effect()
"""The effect of an operation that does not touch the caches."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The facts of operations with one text: their kind, and their own effect.

    ``kind``: ``OPAQUE`` is code that is not seen, which may load and store anything: a call, the
    caller, an instruction that is not known; ``END`` is a return to the caller, who may go on to do
    so. A ``COPY`` is from memory to LDS, ``CACHE`` a write-back or an invalidate; what a scalar
    instruction writes is a ``STORE``.
    ``space``: None if it accesses nothing; buffers are taken as global. ``effect``: on the caches.
    ``scope``: the widest at which it is coherent by itself, so that it may be an atomic of that
    scope. Without scope bits nothing says whether it is the agent or the system; ``scope`` then is
    the system.
    """

    kind: Kind
    space: AddressSpace | None = None
    effect: Effect = NO_EFFECT
    scope: Scope = Scope.WORKGROUP
    has_scope_bits: bool = False
    """True of an access that modifiers make coherent further than it is by itself."""
    reads: bool = field(init=False)
    writes: bool = field(init=False)
    """True where it reads and where it writes memory or LDS."""
    is_scalar: bool = field(init=False)
    """True where it goes by way of the scalar cache, or empties that."""
    is_invalidate: bool = field(init=False)
    """True where it invalidates caches, and writes none back."""
    in_lds: bool = field(init=False)
    """True if it accesses LDS and nothing else."""
    in_memory: bool = field(init=False)
    """True if it accesses memory and cannot access LDS."""
    sees: bool = field(init=False)
    """True where it may see the past of other waves: a vector load, an atomic, a barrier."""

    def __post_init__(self) -> None:
        kind, is_scalar = self.kind, self.space is AddressSpace.CONSTANT
        facts = {
            "reads": kind in READING,
            "writes": kind in WRITING,
            "is_scalar": is_scalar,
            "is_invalidate": kind is Kind.CACHE and self.effect.writes_back is None,
            "in_lds": self.space is AddressSpace.LOCAL,
            "in_memory": self.space is AddressSpace.GLOBAL and kind is not Kind.COPY,
            "sees": kind in (Kind.RMW, Kind.BARRIER) or (kind is Kind.LOAD and not is_scalar),
        }
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)


@record(eq=False)
class Operation:
    """One operation: its number, its facts, and its place."""

    number: int
    form: Form
    step: Step | None = None

    @property
    def line(self) -> int:
        """The line of its instruction; 0 before the function."""
        return 0 if self.step is None else self.step.instruction.line

    @property
    def text(self) -> str:
        """Its instruction as it is written."""
        return "before the function" if self.step is None else self.step.instruction.text

    @property
    def kind(self) -> Kind:
        """As ``Form`` has it."""
        return self.form.kind

    @property
    def space(self) -> AddressSpace | None:
        """As ``Form`` has it."""
        return self.form.space

    @property
    def effect(self) -> Effect:
        """As ``Form`` has it."""
        return self.form.effect

    @property
    def scope(self) -> Scope:
        """As ``Form`` has it."""
        return self.form.scope

    @property
    def bit(self) -> int:
        """The set of this operation alone."""
        return 1 << self.number

    @property
    def reads(self) -> bool:
        """True where it reads memory or LDS."""
        return self.form.reads

    @property
    def writes(self) -> bool:
        """True where it writes memory or LDS."""
        return self.form.writes

    @property
    def is_access(self) -> bool:
        """True where it reads or writes memory or LDS."""
        return self.form.reads or self.form.writes

    @property
    def is_scalar(self) -> bool:
        """True where it goes by way of the scalar cache, or empties that."""
        return self.form.is_scalar

    @property
    def is_vector_load(self) -> bool:
        """True where it is a load, and no scalar one."""
        return self.form.kind is Kind.LOAD and not self.form.is_scalar

    @property
    def is_vector_store(self) -> bool:
        """True where it is a store, and no scalar one."""
        return self.form.kind is Kind.STORE and not self.form.is_scalar

    @property
    def is_scalar_load(self) -> bool:
        """True where it is a load by way of the scalar cache."""
        return self.form.kind is Kind.LOAD and self.form.is_scalar

    @property
    def is_scalar_store(self) -> bool:
        """True where it writes by way of the scalar cache."""
        return self.form.kind is Kind.STORE and self.form.is_scalar

    @property
    def is_write_back(self) -> bool:
        """True where it writes caches back."""
        return self.form.kind is Kind.CACHE and self.form.effect.writes_back is not None

    @property
    def is_invalidate(self) -> bool:
        """True where it invalidates caches, and writes none back."""
        return self.form.is_invalidate

    @property
    def in_lds(self) -> bool:
        """True if it accesses LDS and nothing else."""
        return self.form.in_lds

    @property
    def in_memory(self) -> bool:
        """True if it accesses memory and cannot access LDS."""
        return self.form.in_memory

    @property
    def has_scope_bits(self) -> bool:
        """True of an access that modifiers make coherent further than it is by itself."""
        return self.form.has_scope_bits


_KINDS = frozenset(
    {Kind.LOAD, Kind.STORE, Kind.RMW, Kind.COPY, Kind.BARRIER, Kind.CALL, Kind.OPAQUE}
)
"""The kinds of the instructions that are operations, besides returns and cache maintenance."""

_POLICY = frozenset(
    {
        "sc0",
        "sc1",
        "nt",
        "glc",
        "slc",
        "dlc",
        "scope:SCOPE_SE",
        "scope:SCOPE_DEV",
        "scope:SCOPE_SYS",
    }
)
SCOPE_BITS = _POLICY - {"nt", "slc"}
"""Those that make an access coherent further than it is by itself."""

_TGSPLIT_MISSES_L1 = frozenset({"sc0"})
"""Loads that miss the L1 in tgsplit mode (CDNA4 ISA, load and store control by sc1 sc0)."""

_SAME: Mapping[str, str] = MappingProxyType({"buffer_wbinvl1": "buffer_wbinvl1_vol"})
"""It invalidates all lines of the L1, not the volatile ones alone (MI100 ISA 9.1.10)."""

SCALAR_INVALIDATES = frozenset({"s_dcache_inv", "s_dcache_inv_vol"})
"""Invalidates of the scalar cache (MI300 ISA 7.2.3); those of vector memory do not reach it."""


_BEFORE = Form(Kind.OPAQUE)
"""The operation before all: the caller of a function that is called, or nothing."""

_COUNTED = (Kind.WAIT, Kind.CALL, Kind.OPAQUE)
"""The kinds of the instructions that change the state, besides operations and those with events."""

Counted = tuple[Step, Operation | None]
"""A step that changes the state, and its operation in the memory model."""


def operations_of(
    flow: Flow, mode: Mode, data: frozenset[int] = frozenset()
) -> tuple[tuple[Operation, ...], tuple[tuple[Counted, ...], ...]]:
    """The operations by their numbers, and by block the steps that change the state.

    Number 0 stands for all before the function. Loads of arguments, which do not change while a
    kernel runs, are no operations. ``data``: scalar loads that are known to read other memory, by
    the ``id`` of their step.
    """
    data |= data_loads(flow)
    found = [Operation(0, _BEFORE)]
    known = _forms_of(mode, flow.chip.generation)
    counted: list[tuple[Counted, ...]] = []
    for block in flow.blocks:
        own: list[Counted] = []
        for step in block.steps:
            effects, text = step.effects, step.instruction.text
            form = None
            if not effects.is_subroutine:
                form = known[text] if text in known else _remember(known, step, mode)
            if form is not None and not (
                form.is_scalar and form.kind is Kind.LOAD and id(step) not in data
            ):
                made = Operation(len(found), form, step)
                found.append(made)
                own.append((step, made))
            elif effects.events or effects.kind in _COUNTED:
                own.append((step, None))
        counted.append(tuple(own))
    return tuple(found), tuple(counted)


_MOST_FORMS = 1 << 16


@lru_cache(maxsize=16)
def _forms_of(mode: Mode, _: Generation) -> dict[str, Form | None]:
    """The forms of instructions by their texts: code has the same ones again and again."""
    return {}


def _remember(known: dict[str, Form | None], step: Step, mode: Mode) -> Form | None:
    if len(known) >= _MOST_FORMS:
        known.clear()
    form = known[step.instruction.text] = _form_of(step, mode)
    return form


def _form_of(step: Step, mode: Mode) -> Form | None:
    """The form of an instruction that is an operation."""
    effects, instruction = step.effects, step.instruction
    kind, space = effects.kind, effects.space
    if kind is Kind.CACHE:
        return _maintenance(step, mode)
    if step.is_return:
        kind = Kind.END
    elif kind not in _KINDS:
        return None
    bits = tuple(each for each in instruction.modifiers if each in _POLICY)
    # Beside slc the others are part of a nontemporal access, which no atomic is. Source: LLVM
    # AMDGPUUsage, Memory Model gfx90a, gfx10-gfx11, nontemporal.
    has_bits = "slc" not in bits and not SCOPE_BITS.isdisjoint(bits)
    if kind not in READING and kind not in WRITING:
        kind = Kind.OPAQUE if kind is Kind.CALL else kind
        scope = Scope.CLUSTER if _meets_cluster(step) else Scope.WORKGROUP
        return Form(kind, scope=scope, has_scope_bits=has_bits)
    if space is AddressSpace.CONSTANT:
        kind = Kind.STORE if kind in WRITING else kind
        return Form(kind, space, has_scope_bits=has_bits)
    if space is AddressSpace.PRIVATE or not effects.events or _is_scratch(step, mode):
        return None
    if space is AddressSpace.LOCAL:
        return Form(kind, space, has_scope_bits=has_bits)
    if space is None and effects.events[0].counter is Counter.LGKMCNT:
        return None  # The global data share.
    effect, scope = _effect(mode, Kind.LOAD if kind is Kind.COPY else kind, bits)
    if space is None or not mode.has_lds:
        space = AddressSpace.GLOBAL
    return Form(kind, space, effect, scope, has_bits)


def _maintenance(step: Step, mode: Mode) -> Form | None:
    instruction = step.instruction
    mnemonic = instruction.mnemonic
    bits = tuple(each for each in instruction.modifiers if each in _POLICY)
    has_bits = "slc" not in bits and not SCOPE_BITS.isdisjoint(bits)
    if mnemonic in SCALAR_INVALIDATES:
        return Form(Kind.CACHE, AddressSpace.CONSTANT, has_scope_bits=has_bits)
    try:
        name = _SAME.get(mnemonic, mnemonic)
        effect = maintenance_effect(mode.chip.name, name, bits, clusters=True)
    except KeyError:
        return None
    return Form(Kind.CACHE, effect=effect, has_scope_bits=has_bits)


CLUSTER_BARRIER = "-3"
"""The operand that names the cluster's barrier (LLVM 24 AMDGPUExecutionSynchronization)."""


def _meets_cluster(step: Step) -> bool:
    """True if a step signals the cluster's barrier: that its work-group has met at its own."""
    is_barrier = step.effects.kind is Kind.BARRIER
    return is_barrier and tuple(map(str, step.instruction.operands)) == (CLUSTER_BARRIER,)


def _is_scratch(step: Step, mode: Mode) -> bool:
    """True if a buffer access is to private memory: by the resource that the chip has for it."""
    words = mode.chip.scratch.resource_registers
    if step.effects.space is not None or not words:
        return False
    resource = Registers(tuple(f"s{n}" for n in range(words)))
    return resource in step.instruction.operands


@cache
def _effect(mode: Mode, kind: Kind, bits: tuple[str, ...]) -> tuple[Effect, Scope]:
    """The effect of an access with policy bits, and the widest scope at which it is coherent."""
    effect = access_effect(mode.chip.name, kind, bits, clusters=True)
    if mode.tgsplit and kind is Kind.LOAD and not _TGSPLIT_MISSES_L1.isdisjoint(bits):
        effect = replace(effect, reads=effect.reads & ~Caches.L1)
    coherent = [scope for scope in mode.scopes if _is_coherent(effect, scope, mode)]
    scope = coherent[-1] if coherent else Scope.WAVEFRONT
    if scope is Scope.AGENT and not mode.chip.scope_bits:
        scope = Scope.SYSTEM
    return effect, scope


def _is_coherent(effect: Effect, scope: Scope, mode: Mode) -> bool:
    arrives = effect.stores is None or effect.stores >= mode.reach(scope)
    return arrives and not effect.reads & mode.caches(scope)
