"""The asynchronous operations of the ``scoped`` dialect: mbarriers, async copies, tensor cores.

An asynchronous operation is issued by a thread and carried out by a unit beside it, in a
proxy of its own. A program says when it starts, how its end is noticed and which thread
waits for whom; which proxy fences, tensor fences and waits that takes is worked out by
the pass ``insert-proxy-fences``, whose operations are at the end of this file.

    scoped.mbarrier_init %full count 1 : !llvm.ptr<3>
    scoped.barrier workgroup
    scoped.mbarrier_arrive release workgroup %full expect_tx 128 : !llvm.ptr<3>
    scoped.bulk_copy %tile, %data size 128 mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>
    scoped.mbarrier_wait acquire workgroup %full, %parity : !llvm.ptr<3>, i32

Pointers are ``!llvm.ptr<N>`` with LLVM's numbers; tensor memory, which no other operation
accesses, is 6. Source of the operations: PTX ISA, "Asynchronous operations", "mbarrier",
"cp.async.bulk", "tcgen05", "wgmma".
"""

from abc import ABC
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import (
    I64,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    f32,
    f64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Ordering, Scope
from fencewright.mlir_dialects.attributes import (
    ORDERINGS,
    SCOPES,
    AddressSpaceAttr,
    OrderingAttr,
    RmwKindAttr,
    ScopeAttr,
    WordAttribute,
    parse_word,
)
from fencewright.mlir_dialects.leaf_operation import defined_in
from fencewright.mlir_dialects.scoped import Asynchronous

TENSOR_MEMORY = 6
"""LLVM's address space number of tensor memory. Source: LLVM NVPTXUsage, "Address Spaces"."""

_GLOBAL = AddressSpace.GLOBAL.number
_LOCAL = AddressSpace.LOCAL.number
_SHARED_CLUSTER = AddressSpace.SHARED_CLUSTER.number

i1, i32, i64 = IntegerType(1), IntegerType(32), IntegerType(64)


def space_number(pointer: SSAValue) -> int:
    """LLVM's number of the address space that a pointer points to."""
    type_ = pointer.type
    assert isinstance(type_, LLVMPointerType)
    return type_.addr_space.data if isinstance(type_.addr_space, IntAttr) else 0


# Accesses of an operation


class Proxy(FastStrEnum):
    """The path on which an access reaches memory. Source: PTX ISA, "Proxies"; tcgen05's own for
    tensor memory.
    """

    GENERIC = "generic"
    ASYNC = "async"
    TENSORMAP = "tensormap"
    TENSOR = "tensor"


class Group(FastStrEnum):
    """The groups that an asynchronous operation can be committed to and waited for with."""

    COPY = "copy"
    BULK = "bulk"
    WGMMA = "wgmma"


@dataclass(frozen=True, slots=True)
class AsyncAccess:
    """One access of an operation: where, how many bytes (None: not known), read or write.

    ``pointer`` is None where a descriptor hides the address. ``group`` is set if the access
    is done only when that kind of group is waited for.
    """

    pointer: SSAValue | None
    space: int
    writes: bool
    size: int | None = None
    proxy: Proxy = Proxy.ASYNC
    group: Group | None = None


class Side(FastStrEnum):
    """The side of a synchronisation between threads on which a tensor fence stands."""

    BEFORE = "before"
    AFTER = "after"


class Direction(FastStrEnum):
    """The direction of the thread's accesses of tensor memory that are waited for."""

    LOADS = "loads"
    STORES = "stores"


@irdl_attr_definition
class ProxyAttr(WordAttribute[Proxy]):
    """A proxy: ``#scoped<proxy async>``."""

    name = "scoped.proxy"
    word_type = Proxy
    noun = "proxy"


@irdl_attr_definition
class SideAttr(WordAttribute[Side]):
    """The side of a synchronisation: ``#scoped<side before>``."""

    name = "scoped.side"
    word_type = Side
    noun = "side"


@irdl_attr_definition
class DirectionAttr(WordAttribute[Direction]):
    """Loads or stores: ``#scoped<direction loads>``."""

    name = "scoped.direction"
    word_type = Direction
    noun = "direction"


PROXIES: Mapping[str, ProxyAttr] = MappingProxyType({w: ProxyAttr(w) for w in Proxy})
SIDES: Mapping[str, SideAttr] = MappingProxyType({w: SideAttr(w) for w in Side})
DIRECTIONS: Mapping[str, DirectionAttr] = MappingProxyType({w: DirectionAttr(w) for w in Direction})


class AsyncMemoryEffect(MemoryEffect):
    """Reads and writes: no other pass may move, merge or drop synchronisation or pending ones."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return _READ_AND_WRITE


_READ_AND_WRITE = frozenset(
    (EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE))
)


Spaces: TypeAlias = Mapping[str, tuple[int, ...]]


class AsyncOperation(IRDLOperation, Asynchronous, ABC):
    """The base of all operations of this file: effects, and the accesses that they stand for."""

    SPACES: ClassVar[Spaces] = MappingProxyType({})
    """The address spaces that an operand may point to."""

    traits = traits_def(AsyncMemoryEffect())
    irdl_options = (ParsePropInAttrDict(),)

    def accesses(self) -> tuple[AsyncAccess, ...]:
        """Accesses to the program's data; mbarriers themselves are not among them."""
        return ()

    def verify_(self) -> None:
        for name, accepted in self.SPACES.items():
            pointer = getattr(self, name)
            if pointer is not None and space_number(pointer) not in accepted:
                listed = " or ".join(f"!llvm.ptr<{n}>" if n else "!llvm.ptr" for n in accepted)
                raise VerifyException(f"{name} must be {listed}, not {pointer.type}")


def _require_positive(op: Operation, *names: str) -> None:
    for name in names:
        number = op.properties.get(name)
        if isinstance(number, IntegerAttr) and number.value.data < 1:
            raise VerifyException(f"{name} must be at least 1, not {number.value.data}")


def _size(number: IntegerAttr) -> int:
    return number.value.data


# mbarriers

_OWN = MappingProxyType({"mbarrier": (_LOCAL,)})
_OWN_OR_PEER = MappingProxyType({"mbarrier": (_LOCAL, _SHARED_CLUSTER)})
_MBARRIER_SCOPES = (Scope.WORKGROUP, Scope.CLUSTER)


class MbarrierOperation(AsyncOperation, ABC):
    """An operation on an mbarrier: 8 bytes in LDS (shared memory)."""

    SPACES: ClassVar[Spaces] = _OWN
    mbarrier = operand_def(LLVMPointerType)

    def verify_(self) -> None:
        super().verify_()
        scope = self.properties.get("scope")
        if isinstance(scope, ScopeAttr) and scope.data not in _MBARRIER_SCOPES:
            raise VerifyException(
                f"an mbarrier is reached from its cluster only, not at {scope.data} scope; "
                f"accepted: {', '.join(_MBARRIER_SCOPES)}"
            )


@irdl_op_definition
class MbarrierInitOp(MbarrierOperation):
    """Make an mbarrier whose every phase takes ``count`` arrivals. Source: PTX ISA, mbarrier.init.

    scoped.mbarrier_init %bar count 1 : !llvm.ptr<3>
    """

    name = "scoped.mbarrier_init"
    count = prop_def(IntegerAttr[I64])
    assembly_format = "$mbarrier `count` $count attr-dict `:` type($mbarrier)"

    def verify_(self) -> None:
        super().verify_()
        _require_positive(self, "count")


@irdl_op_definition
class MbarrierInvalOp(MbarrierOperation):
    """End an mbarrier, so that its memory can be used otherwise. Source: PTX ISA,
    mbarrier.inval."""

    name = "scoped.mbarrier_inval"
    assembly_format = "$mbarrier attr-dict `:` type($mbarrier)"


class MbarrierTxOperation(MbarrierOperation, ABC):
    """A change of the ``bytes`` of async copies that a phase waits for."""

    SPACES: ClassVar[Spaces] = _OWN_OR_PEER
    scope = prop_def(ScopeAttr)
    bytes = prop_def(IntegerAttr[I64])
    assembly_format = "$scope $mbarrier `bytes` $bytes attr-dict `:` type($mbarrier)"


@irdl_op_definition
class MbarrierExpectTxOp(MbarrierTxOperation):
    """Let the phase also wait for ``bytes`` of async copies. Source: PTX ISA,
    mbarrier.expect_tx."""

    name = "scoped.mbarrier_expect_tx"


@irdl_op_definition
class MbarrierCompleteTxOp(MbarrierTxOperation):
    """Count ``bytes`` of those that a phase waits for as arrived. Source: PTX ISA,
    mbarrier.complete_tx.

    Relaxed: it makes nothing visible, so that only what was synchronised otherwise may rest on it.
    """

    name = "scoped.mbarrier_complete_tx"


@irdl_op_definition
class MbarrierArriveOp(MbarrierOperation):
    """Arrive at an mbarrier, the peer's too; ``release`` the accesses before, or ``relaxed``.

    ``expect_tx`` bytes of async copies are added to what the phase waits for. ``spaces
    [local]`` (at cluster scope) releases accesses of the thread's own work-group's LDS only.
    ``drop`` also leaves the later phases. The ``token`` (i64; own mbarrier only) names the
    phase for a wait. Source: PTX ISA, mbarrier.arrive, mbarrier.arrive_drop.

        scoped.mbarrier_arrive release cluster %peer spaces [local] : !llvm.ptr<7>
        %token = scoped.mbarrier_arrive release workgroup %bar : !llvm.ptr<3> -> i64
    """

    name = "scoped.mbarrier_arrive"
    SPACES: ClassVar[Spaces] = _OWN_OR_PEER
    ordering = prop_def(OrderingAttr)
    scope = prop_def(ScopeAttr)
    count = opt_prop_def(IntegerAttr[I64])
    expect_tx = opt_prop_def(IntegerAttr[I64])
    space = opt_prop_def(AddressSpaceAttr)
    drop = opt_prop_def(UnitAttr)
    token = opt_result_def(i64)
    assembly_format = """
    (`drop` $drop^)? $ordering $scope $mbarrier (`count` $count^)? (`expect_tx` $expect_tx^)?
    (`spaces` ` ` `[` $space^ `]`)? attr-dict `:` type($mbarrier) (`->` type($token)^)?
    """

    def verify_(self) -> None:
        super().verify_()
        _require_positive(self, "count", "expect_tx")
        _verify_ordering(self.ordering, Ordering.RELEASE, "an arrival")
        _verify_restriction(self, Ordering.RELEASE, AddressSpace.LOCAL)
        if self.token is not None and space_number(self.mbarrier) == _SHARED_CLUSTER:
            raise VerifyException("arriving at a peer's mbarrier gives no token")
        if self.count is not None and self.expect_tx is not None:
            raise VerifyException("an arrival with expect_tx counts as one; leave out count")


def _verify_ordering(ordering: OrderingAttr, ordered: Ordering, what: str) -> None:
    if ordering.data not in (Ordering.RELAXED, ordered):
        raise VerifyException(
            f"{what} cannot be {ordering.data}; accepted: {Ordering.RELAXED}, {ordered}"
        )


def _verify_restriction(
    op: "MbarrierArriveOp | MbarrierWaitOp", ordered: Ordering, space: AddressSpace
) -> None:
    if op.space is None:
        return
    if (op.ordering.data, op.scope.data, op.space.data) != (ordered, Scope.CLUSTER, space):
        raise VerifyException(f"spaces is for '{ordered} {Scope.CLUSTER}' and [{space}] only")


class MbarrierTestOperation(MbarrierOperation, ABC):
    """A look at an mbarrier's phase: of a parity (i32, 0 or 1), or of an arrival's token (i64)."""

    ordering = prop_def(OrderingAttr)
    scope = prop_def(ScopeAttr)
    phase = operand_def(IntegerType)

    def verify_(self) -> None:
        super().verify_()
        _verify_ordering(self.ordering, Ordering.ACQUIRE, "a wait")
        if self.phase.type not in (i32, i64):
            raise VerifyException(
                f"the phase is a parity (i32) or an arrival's token (i64), not {self.phase.type}"
            )


@irdl_op_definition
class MbarrierWaitOp(MbarrierTestOperation):
    """Wait until a phase of an mbarrier is complete; ``acquire`` the releases of its arrivals.

    ``spaces [shared_cluster]`` (at cluster scope) acquires accesses of the cluster's LDS only,
    the other half of an arrival's ``spaces [local]``. Source: PTX ISA, mbarrier.try_wait.

        scoped.mbarrier_wait acquire workgroup %bar, %parity : !llvm.ptr<3>, i32
    """

    name = "scoped.mbarrier_wait"
    space = opt_prop_def(AddressSpaceAttr)
    assembly_format = """
    $ordering $scope $mbarrier `,` $phase (`spaces` ` ` `[` $space^ `]`)? attr-dict
    `:` type($mbarrier) `,` type($phase)
    """

    def verify_(self) -> None:
        super().verify_()
        _verify_restriction(self, Ordering.ACQUIRE, AddressSpace.SHARED_CLUSTER)


class MbarrierQueryOperation(MbarrierTestOperation, ABC):
    """True if a phase is complete; acquires if so."""

    complete = result_def(i1)
    assembly_format = (
        "$ordering $scope $mbarrier `,` $phase attr-dict `:` type($mbarrier) `,` type($phase)"
    )


@irdl_op_definition
class MbarrierTestWaitOp(MbarrierQueryOperation):
    """True if a phase is complete, without waiting; acquires if so. Source: mbarrier.test_wait."""

    name = "scoped.mbarrier_test_wait"


@irdl_op_definition
class MbarrierTryWaitOp(MbarrierQueryOperation):
    """The same after a wait of limited time. Source: PTX ISA, mbarrier.try_wait."""

    name = "scoped.mbarrier_try_wait"


# Named barriers


class BarrierPart(FastStrEnum):
    """The action of a thread at a named barrier: arrive and wait, or arrive alone."""

    SYNC = "sync"
    ARRIVE = "arrive"


@irdl_attr_definition
class BarrierPartAttr(WordAttribute[BarrierPart]):
    """Arrive and wait, or arrive alone: ``#scoped<part sync>``."""

    name = "scoped.part"
    word_type = BarrierPart
    noun = "part of a barrier"


@irdl_op_definition
class NamedBarrierOp(AsyncOperation):
    """Meet ``threads`` threads of the work-group at one of its 16 barriers; orders memory.

    ``sync`` arrives and waits, ``arrive`` does not wait: a producer arrives, a consumer syncs.
    ``threads`` counts both, in whole wavefronts of 32. Barrier 0 is that of ``scoped.barrier``.
    Source: PTX ISA, bar, barrier.

        scoped.named_barrier sync 1 threads 64
    """

    name = "scoped.named_barrier"
    part = prop_def(BarrierPartAttr)
    number = prop_def(IntegerAttr[I64])
    threads = prop_def(IntegerAttr[I64])
    assembly_format = "$part $number `threads` $threads attr-dict"

    def verify_(self) -> None:
        if not 0 <= _size(self.number) < 16:
            raise VerifyException(f"a work-group has barriers 0 to 15, not {_size(self.number)}")
        count = _size(self.threads)
        if count < 32 or count % 32:
            raise VerifyException(f"threads must be a multiple of 32, not {count}")


# Clusters


@irdl_op_definition
class MapSharedOp(IRDLOperation):
    """The same place in the LDS of the cluster's work-group ``rank``. Source: PTX ISA, mapa."""

    name = "scoped.map_shared"
    pointer = operand_def(LLVMPointerType)
    rank = operand_def(i32)
    peer = result_def(LLVMPointerType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$pointer `,` $rank attr-dict `:` type($pointer) `->` type($peer)"

    def verify_(self) -> None:
        if space_number(self.pointer) != _LOCAL or space_number(self.peer) != _SHARED_CLUSTER:
            raise VerifyException("maps !llvm.ptr<3> to !llvm.ptr<7>")


@irdl_op_definition
class ClusterArriveOp(AsyncOperation):
    """Arrive at the cluster's barrier; ``release`` the accesses before, or ``relaxed``."""

    name = "scoped.cluster_arrive"
    ordering = prop_def(OrderingAttr)
    assembly_format = "$ordering attr-dict"

    def verify_(self) -> None:
        _verify_ordering(self.ordering, Ordering.RELEASE, "an arrival")


@irdl_op_definition
class ClusterWaitOp(AsyncOperation):
    """Wait until every thread of the cluster has arrived; acquires. Source:
    barrier.cluster.wait."""

    name = "scoped.cluster_wait"
    assembly_format = "attr-dict"


# Election


@irdl_op_definition
class ElectOp(AsyncOperation):
    """True if this thread is the one that its wavefront elects; all 32 threads together.

    It orders nothing. Source: PTX ISA, elect.sync.

        %leader = scoped.elect : i1
    """

    name = "scoped.elect"
    leader = result_def(i1)
    assembly_format = "attr-dict `:` type($leader)"


# Asynchronous copies


class CompletingOperation(AsyncOperation, ABC):
    """An operation that a unit beside the thread carries out, and whose end something signals."""

    def completes_on(self) -> SSAValue | None:
        """The mbarrier that its end is signalled on; None: it is committed to a group."""
        return getattr(self, "mbarrier", None)


class BulkOperation(CompletingOperation, ABC):
    """``size`` bytes between two places: the spaces of both and of the mbarrier are a row of
    ``ACCEPTED``."""

    ACCEPTED: ClassVar[tuple[tuple[int, int, int | None], ...]]
    NOUN: ClassVar[str]
    destination = operand_def(LLVMPointerType)
    source = operand_def(LLVMPointerType)
    mbarrier = opt_operand_def(LLVMPointerType)
    size = prop_def(IntegerAttr[I64])

    def accesses(self) -> tuple[AsyncAccess, ...]:
        group = Group.BULK if self.mbarrier is None else None
        size = _size(self.size)
        return (
            AsyncAccess(self.source, space_number(self.source), False, size, group=group),
            AsyncAccess(self.destination, space_number(self.destination), True, size, group=group),
        )

    def verify_(self) -> None:
        size = _size(self.size)
        if size < 16 or size % 16:
            raise VerifyException(f"size must be a multiple of 16 bytes, not {size}")
        to, of = space_number(self.destination), space_number(self.source)
        on = None if self.mbarrier is None else space_number(self.mbarrier)
        if (to, of, on) not in self.ACCEPTED:
            listed = "; ".join(
                f"!llvm.ptr<{a}> from !llvm.ptr<{b}>"
                + ("" if c is None else f" with an mbarrier in !llvm.ptr<{c}>")
                for a, b, c in self.ACCEPTED
            )
            raise VerifyException(f"there is no such {self.NOUN}; accepted: {listed}")


@irdl_op_definition
class BulkCopyOp(BulkOperation):
    """Copy ``size`` bytes between global memory and LDS, or to a peer's LDS, in the async proxy.

    Into LDS (own or a peer's) it completes on ``mbarrier``, beside the destination; into
    global memory with the bulk group that it is committed to. Source: PTX ISA, cp.async.bulk.

        scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    """

    name = "scoped.bulk_copy"
    NOUN: ClassVar[str] = "copy"
    ACCEPTED: ClassVar[tuple[tuple[int, int, int | None], ...]] = (
        (_LOCAL, _GLOBAL, _LOCAL),
        (_SHARED_CLUSTER, _GLOBAL, _SHARED_CLUSTER),
        (_SHARED_CLUSTER, _LOCAL, _SHARED_CLUSTER),
        (_GLOBAL, _LOCAL, None),
    )
    assembly_format = """
    $destination `,` $source `size` $size (`mbarrier` $mbarrier^)? attr-dict
    `:` type($destination) `,` type($source) (`,` type($mbarrier)^)?
    """


@irdl_op_definition
class BulkReduceOp(BulkOperation):
    """Combine ``size`` bytes of LDS, element by element, into global memory or a peer's LDS.

    ``element`` is their type. Each element by itself is relaxed at agent scope; all else is as of
    ``bulk_copy``. Source: PTX ISA, cp.reduce.async.bulk.

        scoped.bulk_reduce add i32 %sums, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>
    """

    name = "scoped.bulk_reduce"
    NOUN: ClassVar[str] = "reduction"
    ACCEPTED: ClassVar[tuple[tuple[int, int, int | None], ...]] = (
        (_SHARED_CLUSTER, _LOCAL, _SHARED_CLUSTER),
        (_GLOBAL, _LOCAL, None),
    )
    kind = prop_def(RmwKindAttr)
    element = prop_def(Attribute)
    assembly_format = """
    $kind $element $destination `,` $source `size` $size (`mbarrier` $mbarrier^)? attr-dict
    `:` type($destination) `,` type($source) (`,` type($mbarrier)^)?
    """


@irdl_op_definition
class TensorLoadOp(CompletingOperation):
    """Copy a tile of a tensor, as ``map`` describes it, into LDS; completes on ``mbarrier``.

    ``map``: a generic pointer to a tensor map. ``written`` says that a thread of that scope
    wrote the map with no kernel boundary between; writes by tensor-map operations of this
    function are seen without it. Source: PTX ISA, cp.async.bulk.tensor.

        scoped.tensor_load %tile, %map [%x, %y] mbarrier %full
            : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32, i32
    """

    name = "scoped.tensor_load"
    SPACES: ClassVar[Spaces] = MappingProxyType(
        {"destination": (_LOCAL,), "map": (0,), "mbarrier": (_LOCAL,)}
    )
    destination = operand_def(LLVMPointerType)
    map = operand_def(LLVMPointerType)
    mbarrier = operand_def(LLVMPointerType)
    coordinates = var_operand_def(i32)
    written = opt_prop_def(ScopeAttr)
    assembly_format = """
    $destination `,` $map `[` $coordinates `]` `mbarrier` $mbarrier (`written` $written^)?
    attr-dict `:` type($destination) `,` type($map) `,` type($mbarrier) `,` type($coordinates)
    """

    def accesses(self) -> tuple[AsyncAccess, ...]:
        return (
            AsyncAccess(self.map, 0, False, 128, Proxy.TENSORMAP),
            AsyncAccess(None, _GLOBAL, False),
            AsyncAccess(self.destination, space_number(self.destination), True),
        )

    def verify_(self) -> None:
        super().verify_()
        _verify_coordinates(len(self.coordinates))


@irdl_op_definition
class TensorStoreOp(CompletingOperation):
    """Copy a tile in LDS to a tensor; completes with its bulk group. Source: cp.async.bulk.tensor.

    ``reduce``: combine it with what is there, element by element, each relaxed at agent scope. The
    map says of which type they are. Source: PTX ISA, cp.reduce.async.bulk.tensor.

        scoped.tensor_store %map [%x], %tile reduce add : !llvm.ptr, !llvm.ptr<3>, i32
    """

    name = "scoped.tensor_store"
    SPACES: ClassVar[Spaces] = MappingProxyType({"source": (_LOCAL,), "map": (0,)})
    map = operand_def(LLVMPointerType)
    source = operand_def(LLVMPointerType)
    coordinates = var_operand_def(i32)
    kind = opt_prop_def(RmwKindAttr)
    written = opt_prop_def(ScopeAttr)
    assembly_format = """
    $map `[` $coordinates `]` `,` $source (`reduce` $kind^)? (`written` $written^)? attr-dict
    `:` type($map) `,` type($source) `,` type($coordinates)
    """

    def accesses(self) -> tuple[AsyncAccess, ...]:
        return (
            AsyncAccess(self.map, 0, False, 128, Proxy.TENSORMAP),
            AsyncAccess(None, _GLOBAL, True, group=Group.BULK),
            AsyncAccess(self.source, space_number(self.source), False, group=Group.BULK),
        )

    def verify_(self) -> None:
        super().verify_()
        _verify_coordinates(len(self.coordinates))


def _verify_coordinates(count: int) -> None:
    if not 1 <= count <= 5:
        raise VerifyException(f"a tensor has 1 to 5 coordinates, not {count}")


class PeerOperation(CompletingOperation, ABC):
    """A write of 4 or 8 bytes of a peer's LDS that completes on an mbarrier of that peer."""

    SPACES: ClassVar[Spaces] = MappingProxyType(
        {"pointer": (_SHARED_CLUSTER,), "mbarrier": (_SHARED_CLUSTER,)}
    )
    value = operand_def(IntegerType)
    pointer = operand_def(LLVMPointerType)
    mbarrier = operand_def(LLVMPointerType)

    def accesses(self) -> tuple[AsyncAccess, ...]:
        size = 4 if self.value.type == i32 else 8
        return (AsyncAccess(self.pointer, _SHARED_CLUSTER, True, size, Proxy.GENERIC),)

    def verify_(self) -> None:
        super().verify_()
        if self.value.type not in (i32, i64):
            raise VerifyException(f"the value must be i32 or i64, not {self.value.type}")


@irdl_op_definition
class StoreAsyncOp(PeerOperation):
    """Write 4 or 8 bytes to a peer's LDS, asynchronously in the generic proxy.

    Completes on an mbarrier of that peer. Source: PTX ISA 9.2, st.async: "performed in the
    generic proxy", a weak write; its complete-tx releases at cluster scope.
    """

    name = "scoped.store_async"
    assembly_format = """
    $value `,` $pointer `mbarrier` $mbarrier attr-dict
    `:` type($value) `,` type($pointer) `,` type($mbarrier)
    """


@irdl_op_definition
class ReduceAsyncOp(PeerOperation):
    """Combine a value into 4 or 8 bytes of a peer's LDS, asynchronously in the generic proxy.

    Relaxed at cluster scope; completes on an mbarrier of that peer. Source: PTX ISA, red.async.

        scoped.reduce_async add %v, %sum mbarrier %full : i32, !llvm.ptr<7>, !llvm.ptr<7>
    """

    name = "scoped.reduce_async"
    kind = prop_def(RmwKindAttr)
    assembly_format = """
    $kind $value `,` $pointer `mbarrier` $mbarrier attr-dict
    `:` type($value) `,` type($pointer) `,` type($mbarrier)
    """


@irdl_op_definition
class StoreBulkOp(AsyncOperation):
    """Store zeros to ``size`` bytes of own LDS: a weak store. Source: PTX ISA, st.bulk.

    scoped.store_bulk %tile size 128 : !llvm.ptr<3>
    """

    name = "scoped.store_bulk"
    SPACES: ClassVar[Spaces] = MappingProxyType({"pointer": (_LOCAL,)})
    pointer = operand_def(LLVMPointerType)
    size = prop_def(IntegerAttr[I64])
    assembly_format = "$pointer `size` $size attr-dict `:` type($pointer)"

    def accesses(self) -> tuple[AsyncAccess, ...]:
        return (AsyncAccess(self.pointer, _LOCAL, True, _size(self.size), Proxy.GENERIC),)

    def verify_(self) -> None:
        super().verify_()
        size = _size(self.size)
        if size % 8 or not 0 < size <= _MOST_ZEROS:
            raise VerifyException(f"size must be a multiple of 8 up to {_MOST_ZEROS}, not {size}")


_MOST_ZEROS = 1 << 24


@irdl_op_definition
class PrefetchOp(AsyncOperation):
    """Bring global memory to L2: a line, or ``size`` bytes. A hint, which orders nothing.

    Source: PTX ISA, prefetch, cp.async.bulk.prefetch.

        scoped.prefetch %data size 128 : !llvm.ptr<1>
    """

    name = "scoped.prefetch"
    SPACES: ClassVar[Spaces] = MappingProxyType({"pointer": (_GLOBAL,)})
    pointer = operand_def(LLVMPointerType)
    size = opt_prop_def(IntegerAttr[I64])
    assembly_format = "$pointer (`size` $size^)? attr-dict `:` type($pointer)"

    def verify_(self) -> None:
        super().verify_()
        if self.size is not None and (_size(self.size) < 16 or _size(self.size) % 16):
            raise VerifyException(f"size must be a multiple of 16 bytes, not {_size(self.size)}")


# Multicast addresses


@irdl_custom_directive
class OrderedAt(CustomDirective):
    """An ordering and, if the access is not weak, its scope: ``acquire system``."""

    ordering: AttributeVariable
    scope: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        ordering = parse_word(parser, ORDERINGS, "ordering")
        self.ordering.set(state, ordering)
        if ordering.data is not Ordering.WEAK:
            self.scope.set(state, parse_word(parser, SCOPES, "scope"))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        for each in (self.ordering, self.scope):
            if isinstance(attribute := each.get(op), OrderingAttr | ScopeAttr):
                state.print_whitespace(printer)
                printer.print_string(attribute.data)


class MulticastOperation(AsyncOperation, ABC):
    """An access of the same place in each GPU's memory, by its multicast address.

    It is one access of each place, in no order. Weak, without a scope, or with both.
    Source: PTX ISA, multimem.ld_reduce, multimem.st, multimem.red.
    """

    SPACES: ClassVar[Spaces] = MappingProxyType({"pointer": (_GLOBAL,)})
    ACCEPTED: ClassVar[tuple[Ordering, ...]]
    custom_directives = (OrderedAt,)
    pointer = operand_def(LLVMPointerType)
    ordering = prop_def(OrderingAttr)
    scope = opt_prop_def(ScopeAttr)

    @property
    def value_type(self) -> Attribute:
        """The type of the value in each place."""
        value = self.results[0] if self.results else self.operands[0]
        return value.type

    def accesses(self) -> tuple[AsyncAccess, ...]:
        size = 4 if self.value_type in (i32, f32) else 8
        writes = not isinstance(self, MultimemLoadOp)
        return (AsyncAccess(self.pointer, _GLOBAL, writes, size, Proxy.GENERIC),)

    def verify_(self) -> None:
        super().verify_()
        ordering = self.ordering.data
        if ordering not in self.ACCEPTED:
            listed = ", ".join(self.ACCEPTED)
            raise VerifyException(f"'{self.name}' cannot be {ordering}; accepted: {listed}")
        if (ordering is Ordering.WEAK) != (self.scope is None):
            raise VerifyException("a weak access has no scope, any other has one")
        if self.value_type not in (i32, i64, f32, f64):
            raise VerifyException(f"the value must be i32, i64, f32 or f64, not {self.value_type}")


@irdl_op_definition
class MultimemLoadOp(MulticastOperation):
    """The reduction of the values in all places.

    %sum = scoped.multimem_load add acquire system %p : !llvm.ptr<1> -> i32
    """

    name = "scoped.multimem_load"
    ACCEPTED: ClassVar[tuple[Ordering, ...]] = (Ordering.WEAK, Ordering.RELAXED, Ordering.ACQUIRE)
    kind = prop_def(RmwKindAttr)
    value = result_def()
    assembly_format = (
        "$kind custom<OrderedAt>($ordering, $scope) $pointer attr-dict "
        "`:` type($pointer) `->` type($value)"
    )


@irdl_op_definition
class MultimemStoreOp(MulticastOperation):
    """Store a value in each place: ``scoped.multimem_store weak %v, %p : i32, !llvm.ptr<1>``."""

    name = "scoped.multimem_store"
    ACCEPTED: ClassVar[tuple[Ordering, ...]] = (Ordering.WEAK, Ordering.RELAXED, Ordering.RELEASE)
    value = operand_def()
    pointer = operand_def(LLVMPointerType)
    assembly_format = (
        "custom<OrderedAt>($ordering, $scope) $value `,` $pointer attr-dict "
        "`:` type($value) `,` type($pointer)"
    )


@irdl_op_definition
class MultimemReduceOp(MulticastOperation):
    """Combine a value into each place, whose old values are not returned.

    scoped.multimem_reduce add release system %v, %p : i32, !llvm.ptr<1>
    """

    name = "scoped.multimem_reduce"
    ACCEPTED: ClassVar[tuple[Ordering, ...]] = (Ordering.RELAXED, Ordering.RELEASE)
    kind = prop_def(RmwKindAttr)
    value = operand_def()
    pointer = operand_def(LLVMPointerType)
    assembly_format = (
        "$kind custom<OrderedAt>($ordering, $scope) $value `,` $pointer attr-dict "
        "`:` type($value) `,` type($pointer)"
    )


@irdl_op_definition
class AsyncCopyOp(CompletingOperation):
    """Copy 4, 8 or 16 bytes from global memory to LDS, asynchronously in the generic proxy.

    With ``source_size`` only so many are read, and zeros written for the rest: a number of bytes
    that need not be known, at most ``size``. Completes with the copy group that it is committed to.
    Source: PTX ISA, cp.async.

        scoped.async_copy %tile, %data size 16 read %bytes : !llvm.ptr<3>, !llvm.ptr<1>
    """

    name = "scoped.async_copy"
    SPACES: ClassVar[Spaces] = MappingProxyType({"destination": (_LOCAL,), "source": (_GLOBAL,)})
    destination = operand_def(LLVMPointerType)
    source = operand_def(LLVMPointerType)
    source_size = opt_operand_def(i32)
    size = prop_def(IntegerAttr[I64])
    assembly_format = """
    $destination `,` $source `size` $size (`read` $source_size^)? attr-dict
    `:` type($destination) `,` type($source)
    """

    def accesses(self) -> tuple[AsyncAccess, ...]:
        size, generic = _size(self.size), Proxy.GENERIC
        return (
            AsyncAccess(self.source, _GLOBAL, False, size, generic, Group.COPY),
            AsyncAccess(self.destination, _LOCAL, True, size, generic, Group.COPY),
        )

    def verify_(self) -> None:
        super().verify_()
        if _size(self.size) not in (4, 8, 16):
            raise VerifyException(f"size must be 4, 8 or 16 bytes, not {_size(self.size)}")


@irdl_op_definition
class AsyncArriveOp(MbarrierOperation):
    """Arrive when the thread's async copies so far are done. Source: cp.async.mbarrier.arrive.

    ``noinc``: the arrival is among those that the mbarrier was made for.
    """

    name = "scoped.async_arrive"
    noinc = opt_prop_def(UnitAttr)
    assembly_format = "(`noinc` $noinc^)? $mbarrier attr-dict `:` type($mbarrier)"


class CommitOperation(AsyncOperation, ABC):
    """Close a group: the thread's operations of its kind so far can be waited for."""

    GROUP: ClassVar[Group]
    assembly_format = "attr-dict"


class WaitGroupOperation(AsyncOperation, ABC):
    """Wait until at most ``pending`` of the thread's latest groups of a kind are not done."""

    GROUP: ClassVar[Group]
    pending = prop_def(IntegerAttr[I64])
    assembly_format = "$pending attr-dict"

    @property
    def reads_only(self) -> bool:
        """True if only the sources are waited for."""
        return False

    def verify_(self) -> None:
        if _size(self.pending) < 0:
            raise VerifyException(f"pending must not be negative: {_size(self.pending)}")


@irdl_op_definition
class AsyncCommitGroupOp(CommitOperation):
    """Commit async copies. Source: PTX ISA, cp.async.commit_group."""

    name = "scoped.async_commit_group"
    GROUP: ClassVar[Group] = Group.COPY


@irdl_op_definition
class AsyncWaitGroupOp(WaitGroupOperation):
    """Wait for async copies. Source: PTX ISA, cp.async.wait_group."""

    name = "scoped.async_wait_group"
    GROUP: ClassVar[Group] = Group.COPY


@irdl_op_definition
class BulkCommitGroupOp(CommitOperation):
    """Commit bulk copies. Source: PTX ISA, cp.async.bulk.commit_group."""

    name = "scoped.bulk_commit_group"
    GROUP: ClassVar[Group] = Group.BULK


@irdl_op_definition
class BulkWaitGroupOp(WaitGroupOperation):
    """Wait for bulk copies, or (``read``) until their sources may be overwritten."""

    name = "scoped.bulk_wait_group"
    GROUP: ClassVar[Group] = Group.BULK
    read = opt_prop_def(UnitAttr)
    assembly_format = "(`read` $read^)? $pending attr-dict"

    @property
    def reads_only(self) -> bool:
        return self.read is not None


# Tensor maps


@irdl_op_definition
class TensormapReplaceOp(AsyncOperation):
    """Replace a tensor map's ``global_address``, in LDS or global memory. Source:
    tensormap.replace."""

    name = "scoped.tensormap_replace"
    SPACES: ClassVar[Spaces] = MappingProxyType({"map": (_LOCAL, _GLOBAL)})
    map = operand_def(LLVMPointerType)
    value = operand_def(i64)
    assembly_format = "$map `,` $value attr-dict `:` type($map) `,` type($value)"

    def accesses(self) -> tuple[AsyncAccess, ...]:
        space = space_number(self.map)
        proxy = Proxy.GENERIC if space == _LOCAL else Proxy.TENSORMAP
        return (AsyncAccess(self.map, space, True, 128, proxy),)


@irdl_op_definition
class TensormapCopyOp(AsyncOperation):
    """Copy a tensor map from LDS to global memory and release it at ``scope`` to tensor copies.

    All 32 threads of a wavefront together. Source: PTX ISA, tensormap.cp_fenceproxy.
    """

    name = "scoped.tensormap_copy"
    SPACES: ClassVar[Spaces] = MappingProxyType({"destination": (_GLOBAL,), "source": (_LOCAL,)})
    scope = prop_def(ScopeAttr)
    destination = operand_def(LLVMPointerType)
    source = operand_def(LLVMPointerType)
    assembly_format = """
    `release` $scope $destination `,` $source attr-dict `:` type($destination) `,` type($source)
    """

    def accesses(self) -> tuple[AsyncAccess, ...]:
        return (
            AsyncAccess(self.source, _LOCAL, False, 128, Proxy.GENERIC),
            AsyncAccess(self.destination, _GLOBAL, True, 128, Proxy.TENSORMAP),
        )


# Tensor cores, as far as memory is concerned


class Tcgen05Operation(AsyncOperation, ABC):
    """An operation of the fifth-generation tensor core on tensor memory."""


class Tcgen05Producer(Tcgen05Operation, ABC):
    """Reads LDS, named by descriptors, and writes tensor memory at its first operand."""

    SPACES: ClassVar[Spaces] = MappingProxyType({"destination": (TENSOR_MEMORY,)})

    def accesses(self) -> tuple[AsyncAccess, ...]:
        destination = self.operands[0]
        return AsyncAccess(None, _LOCAL, False), AsyncAccess(destination, TENSOR_MEMORY, True)


@irdl_op_definition
class Tcgen05MmaOp(Tcgen05Producer):
    """Multiply two tiles of LDS, named by descriptors (i64), into tensor memory.

    ``kind`` as in ``kind::f16``. Its end is signalled by a later commit. Source: tcgen05.mma.
    """

    name = "scoped.tcgen05_mma"
    destination = operand_def(LLVMPointerType)
    a = operand_def(i64)
    b = operand_def(i64)
    instruction = operand_def(i32)
    accumulate = operand_def(i1)
    kind = prop_def(StringAttr)
    assembly_format = """
    $kind $destination `,` $a `,` $b `,` $instruction `,` $accumulate attr-dict
    `:` type($destination)
    """


@irdl_op_definition
class Tcgen05CopyOp(Tcgen05Producer):
    """Copy a tile of LDS, named by a descriptor (i64), to tensor memory. Source: tcgen05.cp."""

    name = "scoped.tcgen05_copy"
    destination = operand_def(LLVMPointerType)
    source = operand_def(i64)
    shape = prop_def(StringAttr)
    assembly_format = "$shape $destination `,` $source attr-dict `:` type($destination)"


@irdl_op_definition
class Tcgen05LoadOp(Tcgen05Operation):
    """Read a thread's 32 bits of tensor memory; the value is there after a wait. tcgen05.ld."""

    name = "scoped.tcgen05_load"
    SPACES: ClassVar[Spaces] = MappingProxyType({"pointer": (TENSOR_MEMORY,)})
    pointer = operand_def(LLVMPointerType)
    value = result_def(i32)
    assembly_format = "$pointer attr-dict `:` type($pointer) `->` type($value)"


@irdl_op_definition
class Tcgen05StoreOp(Tcgen05Operation):
    """Write a thread's 32 bits of tensor memory. Source: PTX ISA, tcgen05.st."""

    name = "scoped.tcgen05_store"
    SPACES: ClassVar[Spaces] = MappingProxyType({"pointer": (TENSOR_MEMORY,)})
    value = operand_def(i32)
    pointer = operand_def(LLVMPointerType)
    assembly_format = "$value `,` $pointer attr-dict `:` type($value) `,` type($pointer)"


@irdl_op_definition
class Tcgen05CommitOp(MbarrierOperation):
    """Arrive at ``mbarrier`` when the thread's tensor-core operations so far are done.

    Also orders them before what synchronises with the mbarrier. Source: tcgen05.commit.
    """

    name = "scoped.tcgen05_commit"
    assembly_format = "$mbarrier attr-dict `:` type($mbarrier)"


@irdl_op_definition
class WgmmaOp(AsyncOperation):
    """Multiply two tiles of LDS, named by descriptors, into a warp group's accumulator registers.

    ``accumulator`` names the registers, of which every thread has ``registers``; ``shape`` is
    the shape and types, as in ``m64n8k16.f32.f16.f16``. Completes with its group.
    Source: PTX ISA, wgmma.mma_async.

        scoped.wgmma "m64n8k16.f32.f16.f16" "acc" registers 4 %a, %b
    """

    name = "scoped.wgmma"
    shape = prop_def(StringAttr)
    accumulator = prop_def(StringAttr)
    registers = prop_def(IntegerAttr[I64])
    a = operand_def(i64)
    b = operand_def(i64)
    assembly_format = "$shape $accumulator `registers` $registers $a `,` $b attr-dict"

    def accesses(self) -> tuple[AsyncAccess, ...]:
        return (AsyncAccess(None, _LOCAL, False, group=Group.WGMMA),)

    def verify_(self) -> None:
        _require_positive(self, "registers")
        if not self.accumulator.data.isidentifier():
            raise VerifyException(f"'{self.accumulator.data}' is not a name")


@irdl_op_definition
class WgmmaReadOp(AsyncOperation):
    """The thread's accumulator register number ``index``, once the multiplications are done."""

    name = "scoped.wgmma_read"
    accumulator = prop_def(StringAttr)
    index = prop_def(IntegerAttr[I64])
    value = result_def(i32)
    assembly_format = "$accumulator `[` $index `]` attr-dict `:` type($value)"


@irdl_op_definition
class WgmmaCommitGroupOp(CommitOperation):
    """Commit multiplications. Source: PTX ISA, wgmma.commit_group."""

    name = "scoped.wgmma_commit_group"
    GROUP: ClassVar[Group] = Group.WGMMA


@irdl_op_definition
class WgmmaWaitGroupOp(WaitGroupOperation):
    """Wait for multiplications. Source: PTX ISA, wgmma.wait_group."""

    name = "scoped.wgmma_wait_group"
    GROUP: ClassVar[Group] = Group.WGMMA


# Operations that insert-proxy-fences inserts


class AsyncFence(AsyncOperation, ABC):
    """Orders the thread's accesses through one proxy against those through another."""


@irdl_op_definition
class ProxyFenceOp(AsyncFence):
    """Order generic against async accesses of one address space, in both directions; all without
    one.

    Source: PTX ISA, fence.proxy.async.

        scoped.proxy_fence async spaces [local]
    """

    name = "scoped.proxy_fence"
    space = opt_prop_def(AddressSpaceAttr)
    assembly_format = "`async` (`spaces` ` ` `[` $space^ `]`)? attr-dict"


@irdl_op_definition
class AliasFenceOp(AsyncFence):
    """Orders accesses of one memory through different addresses, such as a multicast one.

    No pass inserts it: which addresses are of one memory is for the program to know. Source: PTX
    ISA, fence.proxy.alias.
    """

    name = "scoped.alias_fence"
    assembly_format = "attr-dict"


@irdl_op_definition
class ClusterFenceOp(AsyncFence):
    """Release own LDS, or acquire the cluster's, for relaxed arrivals and waits of the cluster.

    ``async``: between the proxies, not within the generic one. Source: PTX ISA,
    fence.{acquire,release}.sync_restrict, fence.proxy.async::generic.
    """

    name = "scoped.cluster_fence"
    ordering = prop_def(OrderingAttr)
    proxy = prop_def(ProxyAttr)
    assembly_format = "$ordering $proxy attr-dict"

    def verify_(self) -> None:
        if self.ordering.data not in (Ordering.ACQUIRE, Ordering.RELEASE):
            raise VerifyException("a cluster fence acquires or releases")
        if self.proxy.data not in (Proxy.GENERIC, Proxy.ASYNC):
            raise VerifyException("a cluster fence is for the generic or the async proxy")


@irdl_op_definition
class MbarrierInitFenceOp(AsyncFence):
    """Release the thread's mbarrier inits to the cluster and to the async proxy.

    Source: PTX ISA, fence.mbarrier_init.release.cluster.
    """

    name = "scoped.mbarrier_init_fence"
    assembly_format = "attr-dict"


@irdl_op_definition
class TensormapFenceOp(AsyncFence):
    """Release tensor maps written, or acquire the one at ``map``, for tensor copies.

    Source: PTX ISA, fence.proxy.tensormap::generic.
    """

    name = "scoped.tensormap_fence"
    SPACES: ClassVar[Spaces] = MappingProxyType({"map": (0,)})
    ordering = prop_def(OrderingAttr)
    scope = prop_def(ScopeAttr)
    map = opt_operand_def(LLVMPointerType)
    assembly_format = "$ordering $scope ($map^ `:` type($map))? attr-dict"

    def verify_(self) -> None:
        super().verify_()
        wanted = Ordering.RELEASE if self.map is None else Ordering.ACQUIRE
        if self.ordering.data is not wanted:
            raise VerifyException("an acquire names its map, a release names none")


@irdl_op_definition
class Tcgen05FenceOp(AsyncFence):
    """Order tensor-core operations before, or after, a synchronisation of threads.

    Source: PTX ISA, tcgen05.fence::before_thread_sync, ::after_thread_sync.
    """

    name = "scoped.tcgen05_fence"
    side = prop_def(SideAttr)
    assembly_format = "$side attr-dict"


@irdl_op_definition
class Tcgen05WaitOp(AsyncFence):
    """Wait for the thread's loads, or stores, of tensor memory. Source: tcgen05.wait."""

    name = "scoped.tcgen05_wait"
    direction = prop_def(DirectionAttr)
    assembly_format = "$direction attr-dict"


@irdl_op_definition
class WgmmaFenceOp(AsyncFence):
    """Order accesses of accumulator registers before multiplications. Source: wgmma.fence."""

    name = "scoped.wgmma_fence"
    assembly_format = "attr-dict"


ASYNC_OPERATIONS = defined_in(globals())
"""The operations of this file, which belong to the dialect ``scoped``."""

OF_UNITS = frozenset(ASYNC_OPERATIONS) - {ClusterArriveOp, ClusterFenceOp, ClusterWaitOp}
"""Those that the threads alone do not carry out: with a part for units and mbarriers."""

ASYNCHRONOUS = Dialect(
    "scoped", [*ASYNC_OPERATIONS], [ProxyAttr, SideAttr, DirectionAttr, BarrierPartAttr]
)
"""The part of the dialect ``scoped`` that is in this file."""
