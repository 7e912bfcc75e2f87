"""lower-scoped-llvm-ir: ordered accesses in LLVM IR to explicit synchronisation.

On CDNA each ordered ``scoped`` operation becomes the instructions of its release, the access as
relaxed (LLVM's ``monotonic``: LLVM sets the cache policy bits of the scope, and nothing else; what
reads has a wider scope where it needs that scope's bits),
and the instructions of its wait and acquire: operations of ``cdna``, which LLVM gets as inline
assembly. LLVM's own wait insertion knows nothing of the assembly, so it takes nothing away;
it waits for the operands of assembly, though, which may be all the wait that an acquire needs.

Three things limit what LLVM itself may do with other accesses. A fence of scope
``singlethread``, which no instruction implements, stands before a release and after an acquire:
no access moves past it, also not one through a ``noalias`` pointer. A clobber stands after
whatever acquires, and ``noalias`` pointers escape where the function begins, for a fence does not
stop LLVM from loading through the scalar cache, which nothing empties: see ``llvm_ir_acquires``.
And since LLVM may load so before a release, a release waits for scalar loads too.

In PTX the access carries its ordering and scope, which LLVM drops from ``atomicrmw``, so
the access becomes an operation of ``ptx`` too, with all that is around it. LLVM has no fence there
that no instruction implements: ``noalias`` pointers escape where the function begins instead, so
that the assembly may change what they point to.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.llvm.architecture import ARCHITECTURES, Architecture, triples_in
from fencewright.lowering.sequence import Instruction, Target, UnsupportedError
from fencewright.lowering.skeleton import SKELETON, SkeletonStep, merged_ordering
from fencewright.lowering.targets import backend_of, parse_target
from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, Phase, Scope
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES
from fencewright.mlir_dialects.leaf_operation import operations
from fencewright.mlir_dialects.llvm_ir.dialect import (
    UNORDERED,
    FuncOp,
    InstOp,
    TopLevelOp,
    debug_attributes,
    text_of,
)
from fencewright.mlir_dialects.llvm_ir.text import groups_in, with_group
from fencewright.mlir_dialects.scoped import (
    AccessOperation,
    AtomicRmwOp,
    CmpxchgOp,
    LoadOp,
    ScopedOperation,
)
from fencewright.passes.analysis.control_flow import block_of, reachable_blocks
from fencewright.passes.llvm_ir.data_layout import pointer_widths
from fencewright.passes.llvm_ir.optimiser import compiler_fence

_SINGLETHREAD = SCOPES[Scope.SINGLETHREAD]
_RELAXED = ORDERINGS[Ordering.RELAXED]
_ORDERING_PROPERTIES = ("spaces", "availability")
"""The properties of an operation's ordering, which a relaxed one does not have."""

_IN_MEMORY = frozenset({AddressSpace.GENERIC, AddressSpace.GLOBAL})
"""The address spaces in which scalar loads read memory that others may write."""

_GROUP = re.compile(r"attributes (#[0-9]+) = ")
_CPU = re.compile(r'"target-cpu"="([^"]*)"')
_FEATURES = re.compile(r'"target-features"="([^"]*)"')
_UNREAD_ATOMIC = re.compile(r"(?:(?:load|store) atomic|atomicrmw|cmpxchg|fence)\b")
"""An atomic that the ``scoped`` dialect has no words for and that is carried as text."""


@dataclass(frozen=True, slots=True)
class _Synchronisation:
    """The synchronisation around an access, a fence or a barrier, the latter two being empty.

    ``before`` and ``after`` are instructions; ``releases`` and ``acquires`` say whether LLVM has to
    keep accesses on their side. ``waits_for_scalar_loads``: whether others may write, after what is
    ``before``, where LLVM has put scalar loads.
    """

    before: tuple[Instruction, ...]
    after: tuple[Instruction, ...]
    releases: bool
    acquires: bool
    waits_for_scalar_loads: bool


@lru_cache(maxsize=1 << 12)
def _synchronisation(
    operation: type[ScopedOperation], target: Target, **request: Any
) -> _Synchronisation:
    from fencewright.lowering.cdna.generations.common import NARROW
    from fencewright.passes.llvm_ir.split_counters import explicit_sequence

    sequence = explicit_sequence(target, operation.OPERATION, request)
    merged = _merged(request)
    steps = SKELETON[operation.OPERATION, merged]
    shared = request["scope"] not in NARROW and SkeletonStep.RELEASE_WAIT in steps
    spaces = request["spaces"]
    shared = shared and (spaces is None or not _IN_MEMORY.isdisjoint(spaces))
    if not operation.OPERATION.is_access:
        return _Synchronisation(sequence, (), merged.releases, merged.acquires, shared)
    access = [instruction.phase for instruction in sequence].index(Phase.ACCESS)
    return _Synchronisation(
        before=sequence[:access],
        after=sequence[access + 1 :],
        releases=steps[0] is not SkeletonStep.ACCESS,
        acquires=steps[-1] is not SkeletonStep.ACCESS,
        waits_for_scalar_loads=shared,
    )


def _merged(request: Mapping[str, Any]) -> Ordering:
    """The ordering of a request, for a compare-exchange that of both outcomes."""
    ordering, failure = request["ordering"], request["failure_ordering"]
    return ordering if failure is None else merged_ordering(ordering, failure)


@dataclass(frozen=True)
class LowerScopedLLVMIRPass(ModulePass):
    """Make the synchronisation of ordered ``scoped`` operations in ``llvm_ir.func`` explicit.

    ``mcpu``: a chip as ``gfx942`` or ``sm_90``. ``tgsplit`` is added to the
    ``target-features`` of each function. ``ptx_version``: as ``8.6``, for PTX only; absent, it
    is that of the function's ``target-features``, or the lowest with all that the chip has.
    Weak accesses are left to LLVM, also volatile ones; on CDNA so is private memory, which
    no other thread sees. Raises ``UnsupportedError`` at the operation that the target lacks,
    ``VerifyException`` where the module is for another target.
    """

    name = "lower-scoped-llvm-ir"

    mcpu: str
    tgsplit: bool = False
    l2_per_agent: Literal["one", "many"] = "many"
    compat: Literal["llvm"] | None = None
    ptx_version: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        architecture = ARCHITECTURES[backend_of(self.mcpu).architecture]
        self._check_options(architecture)
        lines = [line.text.data for line in op.ops if isinstance(line, TopLevelOp)]
        for triple in triples_in(lines):
            if not architecture.is_triple_of(triple, self.mcpu):
                _refuse(op, f"the module is for '{triple}', but {self.mcpu} was asked for")
        lowering = _Lowering(self, architecture, lines)
        found = () if architecture.access_orders else _acquirers(op)
        for function in op.ops:
            if isinstance(function, FuncOp):
                lowering.lower_function(function)
        op.body.block.add_ops(lowering.new_groups())
        for function, calls in found:
            _keep_fresh(function, calls)

    def _check_options(self, architecture: Architecture) -> None:
        requested = f"LLVM IR for {self.mcpu}"
        if self.tgsplit and "tgsplit" not in architecture.features:
            reason = "unknown feature 'tgsplit'"
            raise UnsupportedError(requested, reason, tuple(architecture.features))
        if self.ptx_version is not None and architecture.version is None:
            raise UnsupportedError(requested, f"there is no PTX {self.ptx_version} of it")


class _Lowering:
    """Lowers the functions of one module."""

    def __init__(
        self, requested: LowerScopedLLVMIRPass, architecture: Architecture, lines: list[str]
    ):
        self.requested = requested
        self.architecture = architecture
        self.groups = {group[1]: line for line in lines if (group := _GROUP.match(line))}
        self.pointer_widths = pointer_widths(lines)
        self.made: dict[str, str] = {}
        self.known: dict[object, tuple[_Surroundings, object]] = {}

    def new_groups(self) -> list[TopLevelOp]:
        """The groups of attributes that lowered functions refer to."""
        return [
            TopLevelOp(f'attributes {name} = {{ "target-features"="{features}" }}')
            for features, name in self.made.items()
        ]

    def lower_function(self, function: FuncOp) -> None:
        header = function.text.data
        named = groups_in(header)
        attributes = " ".join([header, *(self.groups.get(name, "") for name in named)])
        for cpu in _CPU.findall(attributes):
            if cpu != self.requested.mcpu:
                name = function.sym_name.data
                reason = f"@{name} is for '{cpu}', but {self.requested.mcpu} was asked for"
                _refuse(function, reason)
        options = self._options(attributes)
        self._switch_on(function, attributes, options["features"])
        accesses = self.architecture.access_orders
        lower_operation = self._replace if accesses else self._surround
        promised = _promises(function) if accesses else {}
        if accesses:
            self._escape_noalias(function)
        target: Target | None = None
        for block in function.body.blocks:
            for op in operations(block):
                if isinstance(op, ScopedOperation):
                    if op.scope is not None and text_of(op) is None:
                        try:
                            target = target or parse_target(**options)
                            lower_operation(op, target.promising(*promised.get(op, ())))
                        except UnsupportedError as problem:
                            op.emit_error(str(problem), problem)
                elif accesses and isinstance(op, InstOp):
                    _require_no_atomic(op)
        if not accesses:
            function.set_lowered_for(options)

    def _escape_noalias(self, function: FuncOp) -> None:
        from fencewright.passes.llvm_ir.escape_noalias import escape_noalias

        escape_noalias(function, self.pointer_widths)

    def _switch_on(self, function: FuncOp, attributes: str, features: Iterable[str]) -> None:
        """Make LLVM compile ``function`` for the ``features`` that it is lowered for.

        Of several groups of attributes the last one that says something holds, over what
        the header itself says (LLVM LLParser, validateEndOfModule).
        """
        said = _FEATURES.findall(attributes)
        switches = [each for each in (said[-1].split(",") if said else ()) if each]
        state = {each[1:]: each[0] for each in switches}
        missing = [each for each in features if state.get(each) != "+"]
        if not missing:
            return
        kept = [each for each in switches if each[1:] not in missing]
        wanted = ",".join([*kept, *(f"+{each}" for each in missing)])
        last = max((int(name[1:]) for name in self.groups), default=-1)
        name = self.made.setdefault(wanted, f"#{last + 1 + len(self.made)}")
        function.properties["text"] = StringAttr(with_group(function.text.data, name))

    def _options(self, attributes: str) -> dict[str, Any]:
        """The words of the target, as ``parse_target`` takes them, in a function of
        ``attributes``."""
        requested, architecture = self.requested, self.architecture
        switches = [
            each for found in _FEATURES.findall(attributes) for each in found.split(",") if each
        ]
        on = {
            feature
            for feature, attribute in architecture.features.items()
            if f'"{attribute}"' in attributes
        }
        for each in switches:
            if each[1:] in architecture.features:
                (on.add if each[0] == "+" else on.discard)(each[1:])
        if requested.tgsplit:
            on.add("tgsplit")
        version = requested.ptx_version
        if version is None and architecture.version is not None:
            named = filter(None, map(architecture.version.fullmatch, switches))
            version = next((f"{each[1]}.{each[2]}" for each in named), None)
        return {
            "target": requested.mcpu,
            "features": tuple(sorted(on)),
            "l2_per_agent": requested.l2_per_agent,
            "compat": requested.compat,
            "ptx_version": version,
        }

    def _replace(self, op: ScopedOperation, target: Target) -> None:
        """Put ``ptx`` operations in the place of ``op``."""
        from fencewright.passes.llvm_ir.ptx import replace

        replace(op, target, _request(op), self.pointer_widths)

    def _surroundings(self, op: ScopedOperation, target: Target) -> "_Surroundings":
        """The surroundings of ``op``, found once for operations that are alike."""
        likeness, kept = op.likeness()
        key = target, likeness, UNORDERED in op.attributes
        if key not in self.known:
            self.known[key] = _surroundings(op, target), kept
        return self.known[key][0]

    def _surround(self, op: ScopedOperation, target: Target) -> None:
        """Put ``cdna`` operations around ``op``, and clobbers that forbid LLVM to move accesses."""
        from fencewright.passes.llvm_ir.cdna import WITHIN, cdna_operations
        from fencewright.passes.llvm_ir.optimiser import clobber
        from fencewright.passes.llvm_ir.split_counters import also_for_scalar_loads

        if op.scope == _SINGLETHREAD or _is_private(op):
            return
        around, within, read_at = self._surroundings(op, target)
        if around.releases:
            block_of(op).insert_op_before(compiler_fence(op, Ordering.RELEASE), op)
        attributes = debug_attributes(op)
        before = cdna_operations(around.before, attributes)
        if around.waits_for_scalar_loads:
            before = also_for_scalar_loads(before, attributes)
        if within is not None:
            for each in before:
                each.attributes[WITHIN] = within
        after: list[Operation] = cdna_operations(around.after, attributes, own=True)
        for each in (*before, *after):
            each.location = op.location
        block_of(op).insert_ops_before(before, op)
        if around.acquires:
            block_of(op).insert_op_after(compiler_fence(op, Ordering.ACQUIRE), op)
            after.append(clobber(op))
        block_of(op).insert_ops_after(after, op)
        if not op.OPERATION.is_access:
            Rewriter.erase_op(op)
            return
        if read_at is not None:
            op.properties["scope"] = read_at
        op.properties["ordering"] = _RELAXED
        if isinstance(op, CmpxchgOp):
            op.properties["failure_ordering"] = _RELAXED
        for name in _ORDERING_PROPERTIES:
            op.properties.pop(name, None)


class _Surroundings(NamedTuple):
    """The synchronisation around an operation; its ordering, if it is within the work-group; and
    the scope of a read."""

    around: _Synchronisation
    within: Attribute | None
    read_at: Attribute | None


def _surroundings(op: ScopedOperation, target: Target) -> _Surroundings:
    from fencewright.passes.llvm_ir.caches import scope_of_read

    request = _request(op)
    reads = isinstance(op, (LoadOp, AtomicRmwOp))
    return _Surroundings(
        _synchronisation(type(op), target, **request),
        ORDERINGS[_merged(request)] if _is_within_workgroup(request) else None,
        SCOPES[scope_of_read(op, target)] if reads else None,
    )


def _is_within_workgroup(request: Mapping[str, Any]) -> bool:
    """True if an operation only releases and acquires, and to its work-group alone."""
    within = request["scope"] is Scope.WORKGROUP
    return within and _merged(request) is not Ordering.SEQ_CST


def _request(op: ScopedOperation) -> dict[str, Any]:
    """The arguments of ``lower_for`` for the ordering of ``op``."""
    assert op.scope is not None
    return {
        "ordering": op.ordering.data,
        "scope": op.scope.data,
        "space": op.space if isinstance(op, AccessOperation) else None,
        "failure_ordering": op.failure_ordering.data if isinstance(op, CmpxchgOp) else None,
        "one_as": op.one_as is not None,
        "spaces": None if op.spaces is None else frozenset(s.data for s in op.spaces),
        "availability": op.availability.data if op.availability else Availability.FULL,
    }


def _promises(function: FuncOp) -> dict[Operation, tuple[str, ...]]:
    """The promises about operations, as PTX's features: that no acquire fence comes after them."""
    from fencewright.lowering.ptx.select import NO_ACQUIRE_FENCE_AFTER
    from fencewright.passes.analysis.acquire_fences import unfenced_updates
    from fencewright.passes.analysis.llvm_ir_memory import is_kernel

    blocks = reachable_blocks(function.body)
    found = unfenced_updates(blocks, ends_thread=is_kernel(function))
    return dict.fromkeys(found, (NO_ACQUIRE_FENCE_AFTER,))


def _acquirers(module: ModuleOp) -> list[tuple[FuncOp, list[Operation]]]:
    """The functions that acquire, or may, each with the calls by which it may."""
    from fencewright.passes.llvm_ir.acquires import Acquirers

    found = Acquirers(module)
    functions = [op for op in module.ops if isinstance(op, FuncOp) and found.are_in(op)]
    return [(each, found.calls_in(each)) for each in functions]


def _keep_fresh(function: FuncOp, calls: Iterable[Operation]) -> None:
    """Let LLVM load nothing through the scalar cache after an acquire or one of ``calls``."""
    from fencewright.passes.llvm_ir.acquires import clobber_after, let_escape

    for call in calls:
        clobber_after(call)
    let_escape(function)


def _require_no_atomic(op: InstOp) -> None:
    """Raise ``UnsupportedError`` at an atomic that LLVM would lower by itself."""
    if _UNREAD_ATOMIC.match(op.text.data) is None:
        return
    reason = "the scoped dialect has no words for it, and LLVM would drop its ordering or scope"
    problem = UnsupportedError(op.text.data, reason)
    op.emit_error(str(problem), problem)


def _is_private(op: ScopedOperation) -> bool:
    return isinstance(op, AccessOperation) and op.space is AddressSpace.PRIVATE


def _refuse(op: Operation, reason: str) -> NoReturn:
    op.emit_error(reason, VerifyException(reason))
