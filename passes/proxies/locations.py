"""Locations of the accesses of a function, and the accesses that a proxy fence orders."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, cast

from xdsl.dialects import func, llvm
from xdsl.dialects.llvm import GEP_USE_SSA_VAL, LLVMPointerType
from xdsl.ir import BlockArgument, Operation, SSAValue

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.scoped_async import AsyncAccess, Proxy, space_number
from fencewright.passes.kernels.accept import byte_size
from fencewright.passes.to_ptx.arithmetic import PATH, bits_of

Mask: TypeAlias = int
"""Accesses, by number, or bits of a state."""

GENERIC = AddressSpace.GENERIC.number
GLOBAL = AddressSpace.GLOBAL.number
LOCAL = AddressSpace.LOCAL.number
CLUSTER = AddressSpace.SHARED_CLUSTER.number
SHARED = (LOCAL, CLUSTER)
FENCED = (GLOBAL, LOCAL, CLUSTER)
_UNSHARED = (AddressSpace.CONSTANT.number, AddressSpace.PRIVATE.number, ops.TENSOR_MEMORY)


@dataclass(frozen=True, slots=True)
class AccessLocation:
    """Bytes ``low`` up to ``high`` from ``root``; None where it is not known.

    ``root`` is a variable's name, or the argument that the address is computed from.
    """

    space: int
    root: object = None
    low: int | None = None
    high: int | None = None

    def may_overlap(self, other: "AccessLocation") -> bool:
        """True if the two may share a byte, a peer's copy of a variable counting as the same."""
        if not spaces_meet(self.space, other.space):
            return False
        if self.root is None or other.root is None:
            return True
        if self.root != other.root:
            return not _are_distinct(self.root, other.root)
        return not (_is_before(self, other) or _is_before(other, self))


@dataclass(frozen=True, slots=True)
class _Restricted:
    """A ``llvm.noalias`` argument: its memory is reached through it alone."""

    number: int


def _are_distinct(a: object, b: object) -> bool:
    """True if two different roots are certainly of different memory."""
    both_variables = isinstance(a, str) and isinstance(b, str)
    return both_variables or isinstance(a, _Restricted) or isinstance(b, _Restricted)


def spaces_meet(a: int, b: int) -> bool:
    return a == b or GENERIC in (a, b) or (a in SHARED and b in SHARED)


def _is_before(a: AccessLocation, b: AccessLocation) -> bool:
    return a.high is not None and b.low is not None and a.high <= b.low


def location_of(pointer: SSAValue | None, space: int, size: int | None) -> AccessLocation:
    """The location of an access of ``size`` bytes through ``pointer``."""
    if pointer is None:
        return AccessLocation(space)
    root, offset = _root_of(pointer)
    known = offset is not None and size is not None
    return AccessLocation(space, root, offset, cast(int, offset) + size if known and size else None)


def _root_of(pointer: SSAValue) -> tuple[object, int | None]:
    """The root of an address and its offset from there, None if it is not constant."""
    offset: int | None = 0
    while True:
        owner = pointer.owner
        if isinstance(owner, llvm.GEPOp):
            step = _constant_offset(owner)
            offset = None if offset is None or step is None else offset + step
            pointer = owner.ptr
        elif isinstance(owner, ops.MapSharedOp):
            pointer = owner.pointer
        elif isinstance(owner, llvm.AddressOfOp):
            return owner.global_name.string_value(), offset
        else:
            return _argument(pointer), offset


def _argument(pointer: SSAValue) -> object:
    """An argument of the function, which is the same wherever it is used; None for others."""
    if not isinstance(pointer, BlockArgument):
        return None
    region = pointer.block.parent
    if region is None or region.blocks[0] is not pointer.block:
        return None
    function = pointer.block.parent_op()
    attributes = function.arg_attrs if isinstance(function, func.FuncOp) else None
    if attributes is not None and "llvm.noalias" in attributes.data[pointer.index].data:
        return _Restricted(pointer.index)
    return pointer


def _constant_offset(gep: llvm.GEPOp) -> int | None:
    indices = tuple(gep.rawConstantIndices.get_values())
    if len(indices) != 1 or indices[0] == GEP_USE_SSA_VAL:
        return None
    return int(indices[0]) * byte_size(gep, gep.elem_type, bits_of, PATH)


@dataclass(frozen=True, slots=True)
class Entry:
    """One access of the function; ``number`` is its place in every mask."""

    number: int
    op: Operation
    access: AsyncAccess
    location: AccessLocation

    @property
    def is_generic(self) -> bool:
        """True if it is in the proxy of ordinary loads and stores."""
        return self.access.proxy is Proxy.GENERIC


def is_of_cluster(op: Operation) -> bool:
    """True if an operation makes or has an address in the cluster's LDS, or meets its threads."""
    if isinstance(op, ops.ClusterArriveOp | ops.ClusterWaitOp):
        return True
    values = (*op.operands, *op.results)
    pointers = (each for each in values if isinstance(each.type, LLVMPointerType))
    return any(space_number(each) == CLUSTER for each in pointers)


def accesses_of(op: Operation, in_cluster: bool) -> tuple[AsyncAccess, ...]:
    """The accesses of an operation to memory that other threads or proxies can access.

    An access through a generic address is one of global memory and one of LDS: of the
    cluster's where the function is ``in_cluster``, else of the CTA's own.
    """
    shared = CLUSTER if in_cluster else LOCAL
    return tuple(
        replace(each, space=space)
        for each in _accesses_of(op)
        for space in ((GLOBAL, shared) if _is_anywhere(each) else (each.space,))
    )


def _is_anywhere(access: AsyncAccess) -> bool:
    return access.space == GENERIC and access.proxy is Proxy.GENERIC


def _accesses_of(op: Operation) -> tuple[AsyncAccess, ...]:
    if isinstance(op, ops.AsyncOperation):
        found = op.accesses()
    elif isinstance(op, scoped.AccessOperation):
        bits = bits_of(op.value_type)
        access = partial(
            AsyncAccess,
            op.pointer,
            space_number(op.pointer),
            size=None if bits is None else -(-bits // 8),
            proxy=Proxy.GENERIC,
        )
        found = (access(writes=not isinstance(op, scoped.LoadOp)),)
    else:
        return ()
    return tuple(each for each in found if each.space not in _UNSHARED)


def fence_space(generic: int, asynchronous: int) -> int:
    """The address space whose proxy fence orders a generic and an async access."""
    if asynchronous in SHARED:
        return CLUSTER if CLUSTER in (generic, asynchronous) else LOCAL
    return asynchronous


def covers(fence: int | None, space: int) -> bool:
    """True if a proxy fence of an address space orders accesses of another."""
    if fence is None:
        return True
    if fence == CLUSTER:
        return space in SHARED
    return fence == space


def reaches_other_cta(generic: int, asynchronous: int) -> bool:
    """True if a generic access of one CTA and an async one of another can meet."""
    return asynchronous in (GLOBAL, CLUSTER) or generic in (GLOBAL, CLUSTER)
