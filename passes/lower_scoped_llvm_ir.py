"""lower-scoped-llvm-ir: ordered accesses in LLVM IR to relaxed ones and explicit synchronisation.

Each ordered ``scoped`` operation becomes the instructions of its release as inline
assembly, the access as relaxed (LLVM's ``monotonic``: LLVM sets the cache policy bits of
the scope, and nothing else), and the instructions of its wait and acquire as inline
assembly. LLVM's own wait insertion knows nothing of the assembly, so it takes nothing away.

What LLVM itself may move is said by a fence of scope ``singlethread``, which no instruction
implements: a memory clobber alone does not stop it from moving accesses through ``noalias``
pointers that do not escape, or from reading through them with scalar loads.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import Instruction, UnsupportedError
from fencewright.lowering.skeleton import SKELETON, Step, merged_ordering
from fencewright.lowering.targets import known_targets, load_target
from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, Phase, Scope
from fencewright.mlir_dialects.attributes import ORDERINGS, SCOPES
from fencewright.mlir_dialects.llvm_ir import METADATA, FuncOp, InstOp, TopLevelOp
from fencewright.mlir_dialects.scoped import (
    AccessOperation,
    BarrierOp,
    CmpxchgOp,
    FenceOp,
    ScopedOperation,
)

_ARCHITECTURE = "cdna"
"""Whose instructions LLVM IR can carry as inline assembly: PTX has them as instructions of LLVM."""

_SINGLETHREAD = SCOPES[Scope.SINGLETHREAD]
_RELAXED = ORDERINGS[Ordering.RELAXED]
_ORDERING_PROPERTIES = ("spaces", "availability")
"""What says how an operation orders others, which a relaxed one does not."""

_KNOWN_FEATURES = frozenset({"tgsplit"})

_TRIPLE = re.compile(r'target triple = "([^"]*)"')
_DEBUG_LOCATION = re.compile(r"!dbg ![0-9]+")
_GROUP = re.compile(r"attributes (#[0-9]+) = ")
_GROUP_REFERENCE = re.compile(r"#[0-9]+")
_CPU = re.compile(r'"target-cpu"="([^"]*)"')
_FEATURES = re.compile(r'"target-features"="([^"]*)"')


@dataclass(frozen=True, slots=True)
class _Synchronisation:
    """What goes around an access, a fence or a barrier being one that is empty.

    ``before`` and ``after`` are inline assembly, None where no instruction is needed;
    ``releases`` and ``acquires`` say whether LLVM has to keep accesses on their side.
    """

    before: StringAttr | None
    after: StringAttr | None
    releases: bool
    acquires: bool


@lru_cache(maxsize=1 << 12)
def _synchronisation(operation: type[ScopedOperation], **request: Any) -> _Synchronisation:
    sequence = lower(op=operation.OPERATION, **request).instructions
    ordering, failure = request["ordering"], request["failure_ordering"]
    merged = ordering if failure is None else merged_ordering(ordering, failure)
    steps = SKELETON[operation.OPERATION, merged]
    if not operation.OPERATION.is_access:
        # All waves of a work-group have to meet at one and the same barrier.
        attributes = " convergent" if operation is BarrierOp else ""
        assembly = _assembly(sequence, attributes)
        return _Synchronisation(assembly, None, merged.releases, merged.acquires)
    access = [instruction.phase for instruction in sequence].index(Phase.ACCESS)
    return _Synchronisation(
        before=_assembly(sequence[:access]),
        after=_assembly(sequence[access + 1 :]),
        releases=steps[0] is not Step.ACCESS,
        acquires=steps[-1] is not Step.ACCESS,
    )


def _assembly(instructions: tuple[Instruction, ...], attributes: str = "") -> StringAttr | None:
    if not instructions:
        return None
    text = "\\0A".join(instruction.text for instruction in instructions)
    return StringAttr(f'call void asm sideeffect "{text}", "~{{memory}}"(){attributes}')


@dataclass(frozen=True)
class LowerScopedLLVMIRPass(ModulePass):
    """Make the synchronisation of ordered ``scoped`` operations in ``llvm_ir.func`` explicit.

    ``target``: a chip as ``gfx942``. ``tgsplit`` is added to the ``target-features`` of each
    function. Private memory is left to LLVM, no other thread sees it; weak accesses too,
    also volatile ones. Raises ``UnsupportedError`` at the operation that the target lacks,
    ``VerifyException`` where the module is for another target.
    """

    name = "lower-scoped-llvm-ir"

    target: str
    tgsplit: bool = False
    l2_per_agent: Literal["one", "many"] = "many"
    compat: Literal["llvm"] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if load_target(self.target).architecture != _ARCHITECTURE:
            accepted = tuple(name for name in known_targets() if name.startswith("gfx"))
            reason = "LLVM lowers its atomics by itself, there is nothing to make explicit"
            raise UnsupportedError(f"LLVM IR for {self.target}", reason, accepted)
        lines = [line.text.data for line in op.ops if isinstance(line, TopLevelOp)]
        for line in filter(None, map(_TRIPLE.fullmatch, lines)):
            if not _is_triple_of(line[1], self.target):
                _refuse(op, f"the module is for '{line[1]}', but {self.target} was asked for")
        groups = {group[1]: line for line in lines if (group := _GROUP.match(line))}
        for function in op.ops:
            if isinstance(function, FuncOp):
                self._lower_function(function, groups)

    def _lower_function(self, function: FuncOp, groups: dict[str, str]) -> None:
        header = function.text.data
        attributes = " ".join(
            [header, *(groups.get(name, "") for name in _GROUP_REFERENCE.findall(header))]
        )
        for cpu in _CPU.findall(attributes):
            if cpu != self.target:
                name = function.sym_name.data
                _refuse(function, f"@{name} is for '{cpu}', but {self.target} was asked for")
        features = self._features(attributes)
        for block in function.body.blocks:
            for op in tuple(block.ops):
                if isinstance(op, ScopedOperation) and op.scope is not None:
                    self._lower_operation(op, features)

    def _features(self, attributes: str) -> tuple[str, ...]:
        """The features of the chip that change its lowering and that the function has."""
        tgsplit = self.tgsplit or '"amdgpu-tg-split"' in attributes
        for features in _FEATURES.findall(attributes):
            for feature in features.split(","):
                if feature[1:] == "tgsplit":
                    tgsplit = self.tgsplit or feature[0] == "+"
        return ("tgsplit",) if tgsplit else ()

    def _lower_operation(self, op: ScopedOperation, features: tuple[str, ...]) -> None:
        if op.scope == _SINGLETHREAD or _is_private(op):
            return
        try:
            around = _synchronisation(type(op), **self._request(op, features))
        except UnsupportedError as problem:
            op.emit_error(str(problem), problem)
        if around.releases:
            _insert_before(op, _compiler_fence(op, Ordering.RELEASE))
        if around.before is not None:
            _insert_before(op, _instruction(op, around.before))
        if around.acquires:
            _insert_after(op, _compiler_fence(op, Ordering.ACQUIRE))
        if around.after is not None:
            _insert_after(op, _instruction(op, around.after))
        if not op.OPERATION.is_access:
            _block_of(op).erase_op(op)
            return
        op.properties["ordering"] = _RELAXED
        if isinstance(op, CmpxchgOp):
            op.properties["failure_ordering"] = _RELAXED
        for name in _ORDERING_PROPERTIES:
            op.properties.pop(name, None)

    def _request(self, op: ScopedOperation, features: tuple[str, ...]) -> dict[str, Any]:
        """What to ask of ``lower``: what is accessed matters to LLVM only, its space excepted."""
        assert op.scope is not None
        return {
            "ordering": op.ordering.data,
            "scope": op.scope.data,
            "space": op.space if isinstance(op, AccessOperation) else None,
            "target": self.target,
            "failure_ordering": op.failure_ordering.data if isinstance(op, CmpxchgOp) else None,
            "one_as": op.one_as is not None,
            "spaces": None if op.spaces is None else frozenset(s.data for s in op.spaces),
            "availability": op.availability.data if op.availability else Availability.FULL,
            "features": features,
            "l2_per_agent": self.l2_per_agent,
            "compat": self.compat,
        }


def _is_private(op: ScopedOperation) -> bool:
    return isinstance(op, AccessOperation) and op.space is AddressSpace.PRIVATE


def _compiler_fence(op: ScopedOperation, ordering: Ordering) -> FenceOp:
    """A fence for LLVM's optimiser alone, at the debug location of ``op``."""
    properties = {"ordering": ORDERINGS[ordering], "scope": _SINGLETHREAD}
    line = _debug_location(op)
    attributes = {METADATA: StringAttr(line)} if line else {}
    return FenceOp.create(properties=properties, attributes=attributes)


def _instruction(op: ScopedOperation, text: StringAttr) -> InstOp:
    line = _debug_location(op)
    return InstOp.create(properties={"text": StringAttr(f"{text.data}, {line}") if line else text})


def _debug_location(op: Operation) -> str | None:
    """The ``!dbg`` of the instruction that ``op`` was."""
    metadata = op.attributes.get(METADATA)
    place = _DEBUG_LOCATION.search(metadata.data) if isinstance(metadata, StringAttr) else None
    return place[0] if place else None


def _block_of(op: Operation) -> Block:
    assert op.parent is not None
    return op.parent


def _insert_before(op: Operation, new: Operation) -> None:
    _block_of(op).insert_op_before(new, op)


def _insert_after(op: Operation, new: Operation) -> None:
    _block_of(op).insert_op_after(new, op)


def _is_triple_of(triple: str, target: str) -> bool:
    """Whether LLVM's ``triple`` is for the chip: ``amdgcn`` for any, ``amdgpu9.42`` for gfx942."""
    architecture = triple.partition("-")[0]
    chip = f"gfx{architecture.removeprefix('amdgpu').replace('.', '')}"
    return architecture in ("amdgcn", "amdgpu") or chip == target


def _refuse(op: Operation, reason: str) -> NoReturn:
    op.emit_error(reason, VerifyException(reason))


def lower_llvm_ir(
    text: str,
    target: str,
    features: Iterable[str] = (),
    l2_per_agent: str = "many",
    compat: str | None = None,
    *,
    file: str = "<string>",
) -> str:
    """LLVM IR whose ordered atomics and fences are explicit synchronisation for ``target``.

    ``text`` and the result are LLVM IR; ``features`` as ``("tgsplit",)``, added to the
    ``target-features`` of each function. ``file`` is named in messages. Raises
    ``ParseError`` for text that LLVM rejects or that cannot be carried, ``UnsupportedError``
    for what the target lacks, ``VerifyException`` for a module for another target.
    """
    # The translation imports llvmlite's users; the pass itself does not need them.
    from fencewright.lowering.llvm_ir import export_llvm_ir, import_llvm_ir

    features = frozenset(features)
    for unknown in sorted(features - _KNOWN_FEATURES):
        raise UnsupportedError(
            f"LLVM IR for {target}", f"unknown feature '{unknown}'", tuple(_KNOWN_FEATURES)
        )
    load_target(target)
    module = import_llvm_ir(text, file)
    LowerScopedLLVMIRPass(
        target=target,
        tgsplit="tgsplit" in features,
        l2_per_agent=cast(Literal["one", "many"], l2_per_agent),
        compat=cast(Literal["llvm"] | None, compat),
    ).apply(Context(), module)
    return export_llvm_ir(module)
