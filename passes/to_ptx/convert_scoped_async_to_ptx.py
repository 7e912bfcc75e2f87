"""The asynchronous operations of ``scoped`` in ``convert-scoped-to-ptx``: one row of PTX each."""

from collections.abc import Callable, Iterable, Mapping
from string import Template
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.ptx.async_rows import AsyncRow, Key, select
from fencewright.lowering.ptx.chip import PtxChip, Version
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace, Phase
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.attributes import WordAttribute
from fencewright.mlir_dialects.ptx import PHASES, LinesAttr, SequenceOp
from fencewright.passes.kernels.accept import unsupported
from fencewright.passes.to_ptx.arithmetic import PtxBuilder, register_type


class Conversion(Protocol):
    """The parts of the conversion that these handlers use."""

    @property
    def chip(self) -> PtxChip: ...
    @property
    def version(self) -> Version: ...
    @property
    def values(self) -> dict[SSAValue, SSAValue]: ...
    @property
    def build(self) -> PtxBuilder: ...
    @property
    def entry(self) -> Block: ...


Handler = Callable[[Conversion, Operation], None]


class RowRequest(NamedTuple):
    """The request of an operation to the rows.

    ``key`` is of ``async_rows.ROWS``; ``places`` are the row's names for the operands,
    ``words`` what its ``$names`` stand for.
    """

    key: Key
    places: Iterable[tuple[str, SSAValue]]
    words: Mapping[str, str] = MappingProxyType({})
    phase: Phase = Phase.ACCESS


def convert_async(conversion: Conversion, op: Operation) -> None:
    """Append the instructions of ``op``; an error at ``op`` if the target has no such ones."""
    requested = _ROW_REQUESTS[type(op)](op)
    row = _row(conversion, op, requested.key)
    result = _append(conversion, op, row, requested)
    if op.results and result is not None:
        conversion.values[op.results[0]] = result


def _row(conversion: Conversion, op: Operation, key: Key) -> AsyncRow:
    try:
        return select(conversion.chip, conversion.version, key)
    except UnsupportedError as error:
        op.emit_error(str(error), DiagnosticException(str(error)))


def _append(
    conversion: Conversion, op: Operation, row: AsyncRow, requested: RowRequest
) -> SSAValue | None:
    lines = LinesAttr.read(Template(line).substitute(requested.words) for line in row.lines)
    results: tuple[Attribute, ...] = ()
    if any("dst" in line.names for line in lines.data):
        type_ = register_type(op.results[0].type)
        if type_ is None:
            unsupported(op, f"a value of {op.results[0].type} is not supported on the PTX path")
        results = (type_,)
    places = tuple(requested.places)
    built = SequenceOp.create(
        operands=[_register(conversion, value) for _, value in places],
        result_types=results,
        properties={
            "places": ArrayAttr([StringAttr(name) for name, _ in places]),
            "lines": lines,
            "phase": PHASES[requested.phase],
            "source": StringAttr(row.source),
        },
        location=op.location,
    )
    conversion.build.block.add_op(built)
    return built.results[0] if results else None


def _register(conversion: Conversion, value: SSAValue) -> SSAValue:
    """The register of an operand; addresses of tensor memory are 32 bits wide."""
    register = conversion.values[value]
    if isinstance(value.type, LLVMPointerType) and ops.space_number(value) == ops.TENSOR_MEMORY:
        return conversion.build.truncate(register, 32)
    return register


# The request of each operation


def _word(op: Operation, name: str) -> str:
    return str(cast(WordAttribute[Any], op.properties[name]).data)


def _space(pointer: SSAValue) -> str:
    return str(AddressSpace.from_number(ops.space_number(pointer)))


def _name(op: Operation) -> str:
    return op.name.removeprefix("scoped.")


def _numbers(op: Operation, *names: str) -> dict[str, str]:
    return {
        name: str(cast("IntegerAttr[Any]", op.properties[name]).value.data)
        for name in names
        if name in op.properties
    }


def _operands(op: Operation) -> list[tuple[str, SSAValue]]:
    """Every operand under the name that it has in the operation."""
    names = [name for name, _ in cast(Any, op).get_irdl_definition().operands]
    return [
        (name, value)
        for name in names
        if (value := getattr(op, name)) is not None and isinstance(value, SSAValue)
    ]


def _plain(*properties: str, phase: Phase = Phase.ACCESS) -> Callable[[Operation], RowRequest]:
    """An operation whose key is its name and the words of ``properties`` that it has."""

    def requested(op: Operation) -> RowRequest:
        words = [_word(op, name) for name in properties if name in op.properties]
        numbers = _numbers(op, "count", "bytes", "pending", "size")
        return RowRequest((_name(op), *words), _operands(op), numbers, phase)

    return requested


def _named_barrier(op: Operation) -> RowRequest:
    key = ("named_barrier", _word(op, "part"))
    return RowRequest(key, (), _numbers(op, "number", "threads"), Phase.RELEASE)


def _transactions(op: Operation) -> RowRequest:
    transactions = cast(ops.MbarrierExpectTxOp | ops.MbarrierCompleteTxOp, op)
    key = (_name(op), str(transactions.scope.data), _space(transactions.mbarrier))
    return RowRequest(key, _operands(op), _numbers(op, "bytes"))


def _arrive(op: Operation) -> RowRequest:
    arrive = cast(ops.MbarrierArriveOp, op)
    name = "mbarrier_arrive" if arrive.drop is None else "mbarrier_arrive_drop"
    token = "sink" if arrive.token is None or arrive.token.first_use is None else "token"
    carried = [each for each in ("count", "expect_tx") if each in op.properties]
    ordering = "relaxed" if arrive.space is not None else str(arrive.ordering.data)
    scope, space = str(arrive.scope.data), _space(arrive.mbarrier)
    key = (name, ordering, scope, space, token, *carried)
    return RowRequest(key, _operands(op), _numbers(op, *carried), Phase.RELEASE)


def _wait(op: Operation) -> RowRequest:
    wait = cast(ops.MbarrierTestOperation, op)
    by = "parity" if wait.phase.type == ops.i32 else "token"
    ordering = "relaxed" if "space" in op.properties else str(wait.ordering.data)
    key = (_name(op), ordering, str(wait.scope.data), by)
    return RowRequest(key, _operands(op), phase=Phase.ACQUIRE)


def _bulk_copy(op: Operation) -> RowRequest:
    copy = cast(ops.BulkCopyOp, op)
    key = ("bulk_copy", _space(copy.destination), _space(copy.source))
    return RowRequest(key, _operands(op), _numbers(op, "size"))


def _tensor_copy(op: Operation) -> RowRequest:
    copy = cast(ops.TensorLoadOp | ops.TensorStoreOp, op)
    coordinates = [(f"c{n}", value) for n, value in enumerate(copy.coordinates)]
    kinds = [_word(op, name) for name in ("kind",) if name in op.properties]
    return RowRequest((_name(op), str(len(coordinates)), *kinds), [*_operands(op), *coordinates])


def _store_async(op: Operation) -> RowRequest:
    store = cast(ops.StoreAsyncOp, op)
    return RowRequest(("store_async", "32" if store.value.type == ops.i32 else "64"), _operands(op))


def _bulk_reduce(op: Operation) -> RowRequest:
    reduce = cast(ops.BulkReduceOp, op)
    key = (_name(op), _space(reduce.destination), _word(op, "kind"), str(reduce.element))
    return RowRequest(key, _operands(op), _numbers(op, "size"))


def _reduce_async(op: Operation) -> RowRequest:
    value = cast(ops.ReduceAsyncOp, op).value
    return RowRequest((_name(op), _word(op, "kind"), str(value.type)), _operands(op))


def _prefetch(op: Operation) -> RowRequest:
    key = (_name(op), *["bulk"] * ("size" in op.properties))
    return RowRequest(key, _operands(op), _numbers(op, "size"))


def _multicast(op: Operation) -> RowRequest:
    access = cast(ops.MulticastOperation, op)
    words = (_word(op, name) for name in ("ordering", "scope", "kind") if name in op.properties)
    return RowRequest((_name(op), *words, str(access.value_type)), _operands(op))


def _async_copy(op: Operation) -> RowRequest:
    reads = ["read"] * (cast(ops.AsyncCopyOp, op).source_size is not None)
    return RowRequest(("async_copy", _numbers(op, "size")["size"], *reads), _operands(op))


def _flagged(property_name: str) -> Callable[[Operation], RowRequest]:
    """An operation whose key is its name, and a unit property's name if it is set."""

    def requested(op: Operation) -> RowRequest:
        flags = [property_name] if property_name in op.properties else []
        return RowRequest((_name(op), *flags), _operands(op), _numbers(op, "pending"), Phase.WAIT)

    return requested


def _tensormap_replace(op: Operation) -> RowRequest:
    replace = cast(ops.TensormapReplaceOp, op)
    return RowRequest(("tensormap_replace", _space(replace.map)), _operands(op))


def _mma(op: Operation) -> RowRequest:
    kind = cast(ops.Tcgen05MmaOp, op).kind.data
    return RowRequest(("tcgen05_mma",), _operands(op), {"kind": kind})


def _tcgen05_copy(op: Operation) -> RowRequest:
    shape = cast(ops.Tcgen05CopyOp, op).shape.data
    return RowRequest(("tcgen05_copy",), _operands(op), {"shape": shape})


def _register_name(accumulator: str) -> str:
    return f"%acc_{accumulator}_"


def _wgmma(op: Operation) -> RowRequest:
    wgmma = cast(ops.WgmmaOp, op)
    prefix = _register_name(wgmma.accumulator.data)
    registers = ", ".join(f"{prefix}{n}" for n in range(wgmma.registers.value.data))
    words = {"shape": wgmma.shape.data, "accumulators": registers}
    return RowRequest(("wgmma",), _operands(op), words)


def _wgmma_read(op: Operation) -> RowRequest:
    read = cast(ops.WgmmaReadOp, op)
    register = f"{_register_name(read.accumulator.data)}{read.index.value.data}"
    return RowRequest(("wgmma_read",), (), {"accumulator": register})


_ROW_REQUESTS: Mapping[type[Operation], Callable[[Operation], RowRequest]] = MappingProxyType(
    {
        ops.MbarrierInitOp: _plain(),
        ops.MbarrierInvalOp: _plain(),
        ops.MbarrierExpectTxOp: _transactions,
        ops.MbarrierCompleteTxOp: _transactions,
        ops.MbarrierArriveOp: _arrive,
        ops.MbarrierWaitOp: _wait,
        ops.MbarrierTestWaitOp: _wait,
        ops.MbarrierTryWaitOp: _wait,
        ops.NamedBarrierOp: _named_barrier,
        ops.MapSharedOp: _plain(),
        ops.ClusterArriveOp: _plain("ordering", phase=Phase.RELEASE),
        ops.ClusterWaitOp: _plain(phase=Phase.ACQUIRE),
        ops.ElectOp: _plain(),
        ops.BulkCopyOp: _bulk_copy,
        ops.BulkReduceOp: _bulk_reduce,
        ops.TensorLoadOp: _tensor_copy,
        ops.TensorStoreOp: _tensor_copy,
        ops.StoreAsyncOp: _store_async,
        ops.ReduceAsyncOp: _reduce_async,
        ops.StoreBulkOp: _plain(),
        ops.PrefetchOp: _prefetch,
        ops.MultimemLoadOp: _multicast,
        ops.MultimemStoreOp: _multicast,
        ops.MultimemReduceOp: _multicast,
        ops.AsyncCopyOp: _async_copy,
        ops.AsyncArriveOp: _flagged("noinc"),
        ops.AsyncCommitGroupOp: _plain(),
        ops.AsyncWaitGroupOp: _flagged("read"),
        ops.BulkCommitGroupOp: _plain(),
        ops.BulkWaitGroupOp: _flagged("read"),
        ops.TensormapReplaceOp: _tensormap_replace,
        ops.TensormapCopyOp: _plain("scope", phase=Phase.RELEASE),
        ops.Tcgen05MmaOp: _mma,
        ops.Tcgen05CopyOp: _tcgen05_copy,
        ops.Tcgen05LoadOp: _plain(),
        ops.Tcgen05StoreOp: _plain(),
        ops.Tcgen05CommitOp: _plain(phase=Phase.RELEASE),
        ops.WgmmaOp: _wgmma,
        ops.WgmmaReadOp: _wgmma_read,
        ops.WgmmaCommitGroupOp: _plain(),
        ops.WgmmaWaitGroupOp: _flagged("read"),
        ops.ProxyFenceOp: _plain("space", phase=Phase.RELEASE),
        ops.AliasFenceOp: _plain(phase=Phase.RELEASE),
        ops.ClusterFenceOp: _plain("ordering", "proxy", phase=Phase.RELEASE),
        ops.MbarrierInitFenceOp: _plain(phase=Phase.RELEASE),
        ops.TensormapFenceOp: _plain("ordering", "scope", phase=Phase.RELEASE),
        ops.Tcgen05FenceOp: _plain("side", phase=Phase.RELEASE),
        ops.Tcgen05WaitOp: _plain("direction", phase=Phase.WAIT),
        ops.WgmmaFenceOp: _plain(phase=Phase.RELEASE),
    }
)
"""The request of each operation to the rows."""


# Operations that become more than their row


def _restricted_arrive(conversion: Conversion, op: Operation) -> None:
    """An arrival that releases own LDS only is a restricted fence and a relaxed arrival."""
    if "space" in op.properties:
        _restricted_fence(conversion, op, "release")
    convert_async(conversion, op)


def _restricted_wait(conversion: Conversion, op: Operation) -> None:
    convert_async(conversion, op)
    if "space" in op.properties:
        _restricted_fence(conversion, op, "acquire")


def _restricted_fence(conversion: Conversion, op: Operation, ordering: str) -> None:
    phase = Phase.RELEASE if ordering == "release" else Phase.ACQUIRE
    requested = RowRequest(("cluster_fence", ordering, "generic"), (), phase=phase)
    _append(conversion, op, _row(conversion, op, requested.key), requested)


def _multiplication(conversion: Conversion, op: Operation) -> None:
    """The accumulators are declared where the kernel begins, each name once."""
    wgmma = cast(ops.WgmmaOp, op)
    count = wgmma.registers.value.data
    declared = f"{_register_name(wgmma.accumulator.data)}<{count}>"
    requested = RowRequest(("wgmma_accumulator",), (), {"accumulators": declared})
    row = _row(conversion, op, requested.key)
    lines = LinesAttr.read((Template(row.lines[0]).substitute(requested.words),))
    if not any(isinstance(op, SequenceOp) and op.lines == lines for op in conversion.entry.ops):
        declaration = SequenceOp.create(
            properties={
                "places": ArrayAttr[StringAttr]([]),
                "lines": lines,
                "source": StringAttr(row.source),
            }
        )
        _insert_first(conversion.entry, declaration)
    convert_async(conversion, op)


def _insert_first(entry: Block, op: Operation) -> None:
    if entry.first_op is None:
        entry.add_op(op)
    else:
        entry.insert_op_before(op, entry.first_op)


ASYNC_HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        **dict.fromkeys((each.name for each in _ROW_REQUESTS), convert_async),
        ops.MbarrierArriveOp.name: _restricted_arrive,
        ops.MbarrierWaitOp.name: _restricted_wait,
        ops.WgmmaOp.name: _multiplication,
    }
)
"""The converter of each asynchronous operation in ``convert-scoped-to-ptx``."""
