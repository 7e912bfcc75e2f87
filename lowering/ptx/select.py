"""A request, a chip and a PTX version to a sequence: normalise, look up, emit.

Operand places are ``{dst}``, ``{addr}``, ``{data}`` and ``{compare}``; every other name in
braces is a scratch register that a ``.reg`` line of the sequence declares, or a label, and
stands for a fresh name in each use (text.py fills them in). ``{dst}`` may be written before
the operands have been read. Source of the shape: NVIDIA PTX Writer's Guide, Atomics ABI.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fencewright.lowering.ptx import loops, rows
from fencewright.lowering.ptx.atomics import (
    CMPXCHG,
    COMPUTE,
    COMPUTE_OF_HALVES,
    HALVES,
    LOOP_WIDTH,
    RMW,
    RMW_OF_HALVES,
    WORD,
    Compute,
    Loop,
    Native,
)
from fencewright.lowering.ptx.chip import (
    CHIPS,
    VERSIONS,
    PtxChip,
    PtxForm,
    Version,
    default_version,
    forms_of,
    lowest_with,
    with_version,
)
from fencewright.lowering.ptx.loops import AtomicAccess
from fencewright.lowering.ptx.rows import AccessHint, ScopeRule, Space, SpaceReach
from fencewright.lowering.ptx.text import read_line
from fencewright.lowering.sequence import Instruction, Request, Sequence, Target, UnsupportedError
from fencewright.lowering.skeleton import SKELETON, SkeletonStep, Steps, merged_ordering
from fencewright.lowering.table import Illegal, Row
from fencewright.lowering.vocabulary import (
    FLOAT_KINDS,
    AddressSpace,
    Availability,
    L2PerAgent,
    Operation,
    Ordering,
    Phase,
    Scope,
)

if TYPE_CHECKING:
    from fencewright.lowering.ptx.code.statements import Opcode

NO_ACQUIRE_FENCE_AFTER = "no-acquire-fence-after"
"""The caller's word that no acquire fence follows a read-modify-write in program order.

One whose result is unused may then be ``red``, whose read starts no acquire pattern (PTX
ISA, Release and Acquire Patterns). Without it an unused result goes to ``_``: ptxas 13.5,
which sees what follows, makes a reduction of that itself unless an acquire fence follows.
"""

CONVERGED = "converged"
"""The caller's word that the threads of a warp execute a barrier together."""

NO_RELAXED_BARRIER = "no-relaxed-barrier"
"""The caller's promise that no relaxed barrier carries the order of a fence.

A fence of shared memory alone may then be one with ``.sync_restrict``. What the threads that it
orders synchronise through the manual leaves open: taken to be objects in shared memory, which a
cluster's barrier is none of (PTX ISA, fence).
"""

FEATURES = frozenset({NO_ACQUIRE_FENCE_AFTER, CONVERGED, NO_RELAXED_BARRIER})


@dataclass(frozen=True, slots=True)
class _Context:
    """A normalised request with the rows of its chip, scope and space."""

    chip: PtxChip
    requested: Request
    request: Request
    forms: frozenset[PtxForm]
    scope: Row[ScopeRule]
    space: Row[Space]

    def need(self, form: PtxForm | None) -> None:
        """Raise ``UnsupportedError`` that names the lowest chip and version with ``form``."""
        if form is None or form in self.forms:
            return
        reason = f"{self.chip.name} has no {form} in this PTX version"
        raise UnsupportedError(str(self.requested), reason, (lowest_with(form, self.chip),))


def lower(chip: PtxChip, requested: Request) -> Sequence:
    """The instructions for one request on one chip.

    A PTX version of None stands for ``default_version(chip)``, which has every form that
    the newest version has. Raises ``UnsupportedError``, naming the lowest that would do.
    """
    _check_features(chip, requested)
    shown = _without_promises(requested)
    _check(chip, shown)
    context = _normalise(chip, shown, requested.target)
    instructions: list[Instruction] = []
    for step in _steps(context):
        instructions += _EMIT[step](context) if step in _EMIT else _fence(context, step)
    return Sequence(tuple(instructions), _remarks(context, instructions))


def _without_promises(requested: Request) -> Request:
    """The request as messages show it: promises make nothing unsupported."""
    if not requested.target.features:
        return requested
    return replace(requested, target=replace(requested.target, features=frozenset()))


def chip_named(name: str) -> PtxChip:
    """The chip called ``name``. Raises ``UnsupportedError`` that names the known ones."""
    for chip in CHIPS:
        if chip.name == name:
            return chip
    reason = "unknown target; PTX has a memory consistency model from sm_70 on"
    raise UnsupportedError(f"target {name}", reason, tuple(chip.name for chip in CHIPS))


def _check_features(chip: PtxChip, request: Request) -> None:
    unknown = request.target.features - FEATURES
    if unknown:
        reason = f"{chip.name} has no feature {', '.join(sorted(unknown))}"
        raise UnsupportedError(str(request), reason, tuple(sorted(FEATURES)))


def _check(chip: PtxChip, request: Request) -> None:
    if request.target.compat is not None:
        reason = f"compat={request.target.compat} is for CDNA; LLVM drops orderings of PTX atomics"
        raise UnsupportedError(str(request), reason, ("no compat",))
    if request.target.l2_per_agent is not L2PerAgent.MANY:
        raise UnsupportedError(str(request), "partition modes are CDNA's", ("many",))
    if request.op.is_access and request.width not in rows.WIDTHS:
        widths = tuple(f"i{width}" for width in rows.WIDTHS)
        raise UnsupportedError(str(request), f"PTX has no {request.width}-bit access", widths)
    if request.space is None:
        return
    atomic = request.ordering is not Ordering.WEAK
    _raise_illegal(request, rows.LEGAL[request.op, atomic, request.volatile, request.space].value)


def _raise_illegal(request: Request, value: object) -> None:
    if isinstance(value, Illegal):
        raise UnsupportedError(str(request), value.reason, value.accepted)


def _version(chip: PtxChip, request: Request) -> Version:
    version = request.target.ptx_version
    if version is None:
        return default_version(chip)
    last = VERSIONS[-1] if chip.last is None else chip.last
    if version in VERSIONS and chip.first <= version <= last:
        return version
    reason = f"PTX {version[0]}.{version[1]} does not assemble for {chip.name}"
    accepted = (with_version(chip, chip.first), f"up to {last[0]}.{last[1]}")
    raise UnsupportedError(str(request), reason, accepted)


def _normalise(chip: PtxChip, requested: Request, target: Target) -> _Context:
    """Both outcomes of a compare-exchange in one ordering; no ordering without other threads."""
    forms = forms_of(chip, _version(chip, requested))
    clusters = PtxForm.CLUSTER in forms
    space = rows.SPACE[requested.space or AddressSpace.GENERIC,]
    reach = SpaceReach.SHARED if _orders_shared_memory_alone(requested) else space.value.reach
    scope = rows.SCOPE[requested.scope, reach, clusters]
    ordering = requested.ordering
    if requested.failure_ordering is not None:
        ordering = merged_ordering(ordering, requested.failure_ordering)
    if space.value.reach is SpaceReach.OWN:
        ordering = Ordering.WEAK
    elif requested.op.is_access and ordering is not Ordering.WEAK and not scope.value.synchronises:
        ordering = Ordering.RELAXED
    request = requested.put(ordering=ordering, target=target)
    context = _Context(chip, requested, request, forms, scope, space)
    context.need(space.value.form)
    for each in requested.spaces or ():
        context.need(rows.SPACE[each,].value.form)
    return context


def _orders_shared_memory_alone(request: Request) -> bool:
    """True if a fence is not observable beyond the cluster; seq_cst is one order of everything."""
    if request.op is not Operation.FENCE or request.ordering is Ordering.SEQ_CST:
        return False
    return request.spaces is not None and request.spaces & rows.SHAREABLE <= rows.WITHIN_CLUSTER


def _steps(context: _Context) -> Steps:
    request = context.request
    if context.space.value.reach is SpaceReach.OWN:
        return (SkeletonStep.ACCESS,)
    if request.op is Operation.FENCE and not _orders_anything(context):
        return ()
    return SKELETON[request.op, request.ordering]


def _orders_anything(context: _Context) -> bool:
    """True if a fence can order accesses for another thread."""
    if not context.scope.value.synchronises:
        return False
    spaces = context.request.spaces
    if spaces is None or context.request.ordering is Ordering.SEQ_CST:
        return True
    return bool(spaces & rows.SHAREABLE)


def _hint(request: Request) -> AccessHint:
    if request.volatile:
        return AccessHint.VOLATILE
    return AccessHint.NONTEMPORAL if request.nontemporal else AccessHint.NONE


def _fence(context: _Context, step: SkeletonStep) -> list[Instruction]:
    request = context.request
    one_sided = PtxForm.ONE_SIDED_FENCE in context.forms
    found = rows.FENCE[step, (request.op, request.ordering), request.volatile, one_sided]
    if not found.value:
        return []
    restricted = _restricted(context)
    if restricted is not None:
        source = f"{found.source}; {restricted.source}"
        return [
            Instruction(f"fence.{each}", phase=step.phase, source=source)
            for each in restricted.qualifiers
        ]
    scope = context.scope
    mnemonic = f"fence.{found.value}.{scope.value.qualifier}"
    return [Instruction(mnemonic, phase=step.phase, source=f"{found.source}; {scope.source}")]


def _restricted(context: _Context) -> rows.Restricted | None:
    """The fence of shared memory alone that is enough for a request, if there is one."""
    request = context.request
    found = rows.RESTRICTED.get(request.ordering)
    if found is None or not _orders_shared_memory_alone(request):
        return None
    if NO_RELAXED_BARRIER not in request.target.features:
        return None
    if PtxForm.RESTRICTED_FENCE not in context.forms or context.scope.value.qualifier != "cluster":
        return None
    assert request.spaces is not None
    return found if request.spaces & rows.SHAREABLE <= found.spaces else None


def _access(context: _Context) -> list[Instruction]:
    return _ACCESS[context.request.op](context)


def _load_or_store(context: _Context) -> list[Instruction]:
    request = context.request
    found = rows.SEMANTICS[
        (request.op, request.ordering), _hint(request), context.space.value.reach
    ]
    semantics, width = found.value, rows.WIDTHS[request.width]
    context.need(width.form)
    scoped = f".{context.scope.value.qualifier}" if semantics.scoped else ""
    if scoped == ".sys":
        context.need(width.system_form)
    source = "; ".join((found.source, context.space.source, context.scope.source))
    # ptxas has no .volatile for .local before PTX 9.1; a generic address reaches it always.
    if request.space is AddressSpace.PRIVATE and request.volatile:
        return loops.generic_private(request.op, width.type, source)
    suffix = f"{semantics.qualifier}{scoped}{context.space.value.suffix}{semantics.cache}"
    return [loops.access(request.op, suffix, width.type, source)]


def _rmw(context: _Context) -> list[Instruction]:
    request = context.request
    found = _rmw_row(context)
    _raise_illegal(context.requested, found.value)
    if context.space.value.reach is SpaceReach.OWN:
        _reject_128(context)
        compute = _computed(context)
        return loops.private_rmw(compute, request.width, request.returns, found.source)
    access = _strong_access(context, found.source)
    if isinstance(found.value, Native):
        return _native_rmw(context, found.value, access)
    swapped = LOOP_WIDTH[request.width, PtxForm.CAS_16 in context.forms].value
    return loops.rmw(access, _computed(context), request.width, swapped, request.returns)


def _rmw_row(context: _Context) -> Row[Native | Loop | Illegal] | Row[Native | Loop]:
    request = context.request
    if not _is_of_halves(request):
        return RMW[request.kind, request.width]
    bf16_atom = PtxForm.ATOMIC_BF16 in context.forms
    return RMW_OF_HALVES[request.kind, request.type, request.elementwise, bf16_atom]


def _computed(context: _Context) -> Compute:
    """The computation of a loop, or of plain code; or ``UnsupportedError`` for the chip."""
    request = context.request
    if not _is_of_halves(request) or request.type is None:
        return COMPUTE[request.kind]
    compute = COMPUTE_OF_HALVES[request.kind, request.type]
    context.need(compute.form)
    return compute


def _is_of_halves(request: Request) -> bool:
    return request.kind in FLOAT_KINDS and request.type in HALVES


def _native_rmw(context: _Context, native: Native, access: AtomicAccess) -> list[Instruction]:
    _need_native(context, native)
    request = context.request
    operand = "{negated}" if native.negate else "{data}"
    negation = loops.negation(native.negate, request.width, access.source)
    if not request.returns and native.reduces and _may_reduce(context):
        suffix = access.suffix(native.operation)
        return [
            *negation,
            loops.instruction(f"red{suffix}", f"[{{addr}}], {operand}", access.source),
        ]
    if request.returns or native.sinks:
        return [*negation, access.atom(native.operation, operand, returns=request.returns)]
    unused = loops.instruction(".reg", f".b{request.width} {{dst}}", access.source)
    return [*negation, unused, access.atom(native.operation, operand, returns=True)]


def _may_reduce(context: _Context) -> bool:
    """True if a ``red`` can stand for the whole read-modify-write.

    It cannot acquire, and its read starts no acquire pattern with a later fence.
    """
    if context.request.ordering.acquires:
        return False
    alone = context.request.scope is Scope.SINGLETHREAD
    return alone or NO_ACQUIRE_FENCE_AFTER in context.request.target.features


def _cmpxchg(context: _Context) -> list[Instruction]:
    request = context.request
    found = CMPXCHG[request.width, PtxForm.CAS_16 in context.forms]
    if context.space.value.reach is SpaceReach.OWN:
        _reject_128(context)
        return loops.private_cmpxchg(request.width, found.source)
    access = _strong_access(context, found.source)
    if isinstance(found.value, Loop):
        return loops.cmpxchg(access, request.width)
    _need_native(context, found.value)
    return [access.atom(found.value.operation, "{compare}, {data}", returns=True)]


def _reject_128(context: _Context) -> None:
    if context.request.width <= 64:
        return
    reason = "private memory has no atom, and PTX computes and compares nothing on 128 bits"
    raise UnsupportedError(str(context.requested), reason, ("i64", "a load and a store"))


def _need_native(context: _Context, native: Native) -> None:
    context.need(native.form)
    if context.scope.value.qualifier == "sys":
        context.need(native.system_form)


def _strong_access(context: _Context, source: str) -> AtomicAccess:
    request = context.request
    found = rows.SEMANTICS[
        (request.op, request.ordering), _hint(request), context.space.value.reach
    ]
    failure = request.failure_ordering
    acquires = failure is not None and failure.acquires and context.scope.value.synchronises
    return AtomicAccess(
        semantics=found.value.qualifier,
        first_read=".acquire" if acquires else ".relaxed",
        place=f".{context.scope.value.qualifier}{context.space.value.suffix}",
        source="; ".join((source, found.source, context.space.source, context.scope.source)),
    )


def _barrier(context: _Context) -> list[Instruction]:
    found = _barrier_row(context)
    _raise_illegal(context.requested, found.value)
    assert isinstance(found.value, rows.BarrierRow)
    return [
        Instruction(each.mnemonic, each.operands, phase=Phase.ACCESS, source=found.source)
        for each in map(read_line, found.value.instructions)
    ]


def _barrier_row(context: _Context) -> Row[rows.BarrierRow | Illegal]:
    request = context.request
    clusters = PtxForm.CLUSTER in context.forms
    ordered = PtxForm.CLUSTER_BARRIER_ORDERING in context.forms
    converged = CONVERGED in request.target.features
    return rows.BARRIER[request.scope, request.ordering, clusters, ordered, converged]


def _remarks(context: _Context, instructions: list[Instruction]) -> tuple[str, ...]:
    """Remarks where the sequence does more than the request."""
    request, requested = context.request, context.requested
    remarks: list[str | None] = []
    if request.op is Operation.BARRIER:
        barrier = _barrier_row(context).value
        remarks.append(barrier.remark if isinstance(barrier, rows.BarrierRow) else None)
    elif instructions and request.ordering is not Ordering.WEAK:
        remarks.append(context.scope.value.remark)
    if request.volatile and request.op in (Operation.LOAD, Operation.STORE):
        remarks.append(rows.VOLATILE_REMARK)
    limited = requested.one_as or (requested.spaces is not None and _restricted(context) is None)
    if _orders(request) and instructions and limited:
        remarks.append(rows.ALL_SPACES_REMARK)
    if _orders(request) and instructions and requested.availability is Availability.NONE:
        remarks.append(rows.AVAILABILITY_REMARK)
    cas = "cas", WORD
    if request.width < WORD and any(
        (each.update, each.width) == cas for each in _decoded(instructions)
    ):
        remarks.append(rows.SUBWORD_REMARK)
    packed = request.type is not None and request.type.is_packed
    if packed and any("noftz" in each.words for each in _decoded(instructions)):
        remarks.append(rows.ELEMENTWISE_REMARK)
    return tuple(remark for remark in remarks if remark is not None)


def _decoded(instructions: list[Instruction]) -> "Iterator[Opcode]":
    # The decoder is loaded for what is smaller than a word, or packed.
    from fencewright.lowering.ptx.code.statements import opcode_of

    return (opcode_of(each.mnemonic) for each in instructions)


def _orders(request: Request) -> bool:
    return request.ordering not in (Ordering.WEAK, Ordering.RELAXED)


_ACCESS: dict[Operation, Callable[[_Context], list[Instruction]]] = {
    Operation.LOAD: _load_or_store,
    Operation.STORE: _load_or_store,
    Operation.ATOMIC_RMW: _rmw,
    Operation.CMPXCHG: _cmpxchg,
    Operation.BARRIER: _barrier,
}

_EMIT: dict[SkeletonStep, Callable[[_Context], list[Instruction]]] = {SkeletonStep.ACCESS: _access}
