"""Input of the kernel paths for any target: functions, variables, scoped operations.

A path leads from ``scoped`` on ``func``, ``cf``, ``arith``, ``gpu`` and ``llvm`` to one
target's instructions. What it does not accept, LLVM IR does, and the errors say so.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeGuard, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    ModuleOp,
    UnitAttr,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.lower import lower_for
from fencewright.lowering.sequence import Sequence, Target, UnsupportedError
from fencewright.lowering.vocabulary import FLOAT_KINDS, MOST_THREADS, AddressSpace, ValueType
from fencewright.lowering.vocabulary import Operation as ScopedOperation
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.attributes import (
    AddressSpaceAttr,
    AvailabilityAttr,
    OrderingAttr,
    RmwKindAttr,
    ScopeAttr,
)
from fencewright.mlir_dialects.scoped import float_type, width_of
from fencewright.passes.analysis.control_flow import is_mlir_function, top_level

if TYPE_CHECKING:
    from xdsl.dialects import func, gpu

    from fencewright.mlir_dialects.litmus import TestOp

LLVM_IR_PATH = "LLVM IR has no such limit: fence-opt --import-llvm"
"""The advice for programs that a kernel path does not accept."""

SCF_FIRST = "-p convert-scf-to-cf makes blocks of it: put it before the chip's pipeline"
"""The advice for structured control flow, which LLVM IR does not have."""

Function: TypeAlias = "func.FuncOp | gpu.FuncOp"
Bits = Callable[[Attribute], int | None]
"""The width in bits of a value; None for a type that registers do not hold."""


def unsupported(op: Operation, what: str) -> NoReturn:
    """Raise the error at ``op``: the unsupported feature, and the path that handles it."""
    handled = SCF_FIRST if op.name.startswith("scf.") else LLVM_IR_PATH
    message = f"{what}; {handled}"
    op.emit_error(message, DiagnosticException(message))


# Modules and functions


def no_kernel(module: ModuleOp, kernels: str, conversions: str) -> DiagnosticException:
    """The reason for no ``kernels``, as ``cdna.kernel``, to print; ``conversions`` make them."""
    if any(op.name.startswith("llvm_ir.") for op in module.ops):
        return DiagnosticException(
            f"LLVM IR has no {kernels}; write it with -t llvm, and compile that with LLVM"
        )
    if any(is_mlir_function(op) or isinstance(op, scoped.ScopedOperation) for op in module.walk()):
        chip = "name a chip with --mcpu, as --mcpu gfx942"
        return DiagnosticException(f"there is no {kernels}; {chip}, or run {conversions} first")
    if any(op.name in ("cdna.kernel", "ptx.kernel") for op in module.ops):
        return DiagnosticException(f"there is no {kernels}: write kernels of this chip with -t asm")
    return DiagnosticException(f"there is no {kernels}, nor any function to make one of")


_CODE = frozenset({"func.func", "gpu.func", "llvm.func", "builtin.module"})
"""Operations with code in a module or a ``gpu.module`` that are no lowered kernels."""


def check_top_level(module: ModuleOp, path: str) -> None:
    """Raise an error at an operation that synchronises in a function or module that the ``path``
    passes over."""
    for each in top_level(module):
        if each.name in _CODE and not is_mlir_function(each):
            for op in each.walk():
                if isinstance(op, scoped.ScopedOperation):
                    what = (
                        f"the {path} path lowers func.func and gpu.func of one module, no "
                        f"{each.name}"
                    )
                    unsupported(op, what)


def kernels_of(module: ModuleOp) -> list[Function]:
    """The functions of a module that become kernels.

    Functions of the host and declarations beside kernels are left out: those without scoped
    operations that no litmus test runs and that are no kernels, or are not marked where others are.
    Without a kernel all are taken, for ``check_kernel`` to say why.
    """
    functions = [each for each in top_level(module) if is_mlir_function(each)]
    is_marked = any(map(is_marked_kernel, functions))
    run = set(_run_by_tests(module)) if is_marked else set[str]()
    kernels = [
        each for each in functions if each.sym_name.data in run or not _is_of_host(each, is_marked)
    ]
    return kernels if any(each.body.blocks for each in kernels) else functions


def _run_by_tests(module: ModuleOp) -> Iterator[str]:
    """The names of the functions that the threads of litmus tests run."""
    for test in module.ops:
        if test.name == "litmus.test":
            threads = cast("TestOp", test).threads
            yield from (each.kernel.string_value() for each in threads if each.kernel)


def _is_of_host(function: Function, is_marked: bool) -> bool:
    """True of a function that no kernel path lowers; ``is_marked``: some kernels are."""
    if _is_scoped(function):
        return False
    if is_marked:
        return not is_marked_kernel(function)
    return not (function.body.blocks and _is_kernel(function))


def _is_scoped(op: Operation) -> bool:
    return any(isinstance(each, scoped.ScopedOperation) for each in op.walk())


def check_printed(module: ModuleOp) -> None:
    """Raise an error at code beside kernels that assembly would leave out.

    Functions of the host are no part of it.
    """
    for each in top_level(module):
        if is_mlir_function(each) and not is_marked_kernel(each) and not _is_scoped(each):
            continue
        if each.name in _CODE and any(
            block.ops for region in each.regions for block in region.blocks
        ):
            message = (
                f"this {each.name} is no kernel, and assembly has kernels alone: lower it or leave "
                "it out"
            )
            each.emit_error(message, DiagnosticException(message))


def check_kernel(function: Function, path: str) -> None:
    """Raise an error unless ``function`` is a kernel with a body."""
    if not function.body.blocks:
        unsupported(function, "a function without a body cannot be called or lowered")
    if not _is_kernel(function):
        unsupported(
            function,
            f"'{function.sym_name.data}' is not a kernel (public without results, or marked "
            f"gpu.kernel), and the {path} path has no calls",
        )
    _check_block_size(function)


def _check_block_size(function: Function) -> None:
    known = function.attributes.get("gpu.known_block_size")
    sizes = known_block_size(function)
    if known is not None and (sizes is None or min(sizes) < 1 or prod(sizes) > MOST_THREADS):
        kind = f"array<i32: x, y, z> of 1 to {MOST_THREADS} threads"
        message = f"gpu.known_block_size is no {kind}: {known}"
        function.emit_error(message, DiagnosticException(message))


def is_marked_kernel(function: Function) -> bool:
    """True if ``function`` is marked as a kernel.

    Both functions may carry the attribute ``gpu.kernel``; the word ``kernel`` of ``gpu.func`` is
    its property. Source: MLIR, 'gpu' dialect, gpu.func.
    """
    if function.name == "gpu.func" and cast("gpu.FuncOp", function).kernel is not None:
        return True
    return "gpu.kernel" in function.attributes


def _is_kernel(function: Function) -> bool:
    if is_marked_kernel(function):
        return True
    if function.name == "gpu.func":
        return False
    visibility = cast("func.FuncOp", function).sym_visibility
    is_public = visibility is None or visibility.data == "public"
    return is_public and not function.function_type.outputs.data


def known_block_size(function: Function) -> tuple[int, ...] | None:
    """The threads of a work-group in x, y and z; None if they are not known."""
    known = function.attributes.get("gpu.known_block_size")
    if not isinstance(known, DenseArrayBase):
        return None
    sizes = tuple(int(n) for n in known.get_values())
    return (*sizes, 1, 1)[:3]


MOST_CLUSTERED = 16
"""The most work-groups of a cluster. Source: LLVM AMDGPUUsage, amdgpu-cluster-dims."""


def known_cluster_size(function: Function) -> tuple[int, ...] | None:
    """The work-groups of a cluster in x, y and z; None if the kernel says nothing of clusters."""
    known = function.attributes.get("gpu.known_cluster_size")
    if known is None:
        return None
    sizes = [int(n) for n in known.get_values()] if isinstance(known, DenseArrayBase) else [0]
    if min(sizes) < 1 or prod(sizes) > MOST_CLUSTERED:
        kind = f"array<i32: x, y, z> of 1 to {MOST_CLUSTERED} work-groups"
        message = f"gpu.known_cluster_size is no {kind}: {known}"
        function.emit_error(message, DiagnosticException(message))
    return (*sizes, 1, 1)[:3]


def dimension_of(op: Operation) -> int:
    """The number of the dimension that a ``gpu`` operation asks about."""
    return _DIMENSIONS[str(cast("gpu.ThreadIdOp", op).dimension.data)]


_DIMENSIONS: Mapping[str, int] = MappingProxyType({"x": 0, "y": 1, "z": 2})


# Values and variables


def bits_of(type: Attribute, pointer_width: Callable[[LLVMPointerType], int]) -> int | None:
    """The width in bits of a value; None for a type that registers do not hold."""
    if isinstance(type, LLVMPointerType):
        return pointer_width(type)
    if isinstance(type, IndexType):
        return 64
    return width_of(type)


def float_bits(value: FloatAttr) -> int:
    """The bit pattern of a float constant."""
    import struct

    number, bits = value.value.data, width_of(value.type)
    if bits == 16 and value.type.name == "bf16":
        return int.from_bytes(struct.pack("<f", number)[2:], "little")
    formats = {16: "<e", 32: "<f", 64: "<d"}
    return int.from_bytes(struct.pack(formats[bits or 32], number), "little")


def byte_size(op: Operation, type: Attribute, bits: Bits, path: str) -> int:
    """The bytes of a value of ``type`` in memory; an error at ``op`` if it has no size."""
    if isinstance(type, llvm.LLVMArrayType):
        return type.size.data * byte_size(op, type.type, bits, path)
    width = bits(type)
    if width is None:
        unsupported(op, f"the size of {type} is not known on the {path} path")
    return -(-width // 8)


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """A variable in LDS (shared memory); sizes in bytes."""

    op: llvm.GlobalOp
    size: int
    alignment: int


@dataclass(slots=True)
class SharedVariables:
    """The module's variables in LDS (shared memory), by name."""

    bits: Bits
    path: str
    variables: dict[str, SharedVariable] = field(default_factory=dict[str, SharedVariable])

    def add(self, op: llvm.GlobalOp) -> None:
        """Take a variable; an error at ``op`` if it is not in LDS."""
        if op.addr_space.value.data != AddressSpace.LOCAL.number:
            unsupported(op, "a global variable outside LDS (addr_space 3) is not supported")
        if op.value is not None:
            message = "a variable in LDS starts undefined: leave out its initial value, store it"
            op.emit_error(message, DiagnosticException(message))
        size = byte_size(op, op.global_type, self.bits, self.path)
        alignment = 16 if op.alignment is None else max(op.alignment.value.data, 1)
        self.variables[op.sym_name.data] = SharedVariable(op, size, alignment)

    def name_at(self, op: Operation) -> str:
        """The name of the variable whose address ``op`` takes; an error if it is not in LDS."""
        name = cast(llvm.AddressOfOp, op).global_name.root_reference.data
        if name not in self.variables:
            unsupported(op, f"'{name}' is not a variable in LDS")
        return name


# Scoped operations


def is_used(op: Operation) -> bool:
    """True if a result is used."""
    return any(map(_FIRST_USE, op.results))


_FIRST_USE = attrgetter("first_use")


def lower_operation(
    op: scoped.ScopedOperation,
    bits: Bits,
    used: bool,
    path: str,
    floats: Collection[ValueType] = frozenset(ValueType),
    *,
    target: Target,
) -> Sequence:
    """The sequence of a scoped operation; an error at ``op`` if the target cannot do it.

    ``floats``: what the path has floating-point arithmetic on. The error prints the whole module:
    who does without a sequence asks ``sequence_of``.
    """
    if (type := _other_float(op, floats)) is not None:
        what = f"'{op.name}' {cast(scoped.AtomicRmwOp, op).kind.data} on {type}"
        unsupported(op, f"{what} is not supported on the {path} path")
    try:
        return sequence_of(op, bits, used, target)
    except UnsupportedError as error:
        op.emit_error(str(error), DiagnosticException(str(error)))


def sequence_of(op: scoped.ScopedOperation, bits: Bits, used: bool, target: Target) -> Sequence:
    """The sequence of a scoped operation. Raises ``UnsupportedError`` if the target cannot do it.

    ``used``: whether the old value of a read-modify-write is.
    """
    request = dict[str, object](
        op=op.OPERATION, returns=used or op.OPERATION is ScopedOperation.LOAD
    )
    for name, attribute in op.properties.items():
        match attribute:
            case OrderingAttr() | ScopeAttr() | RmwKindAttr() | AvailabilityAttr():
                request[name] = attribute.data
            case UnitAttr() if name in ("volatile", "nontemporal", "one_as"):
                request[name] = True
            case ArrayAttr() if name == "spaces":
                spaces = cast(ArrayAttr[AddressSpaceAttr], attribute)
                request[name] = tuple(each.data for each in spaces)
            case _:
                continue
    if isinstance(op, scoped.AccessOperation):
        request["space"] = op.space
        request["width"] = bits(op.value_type)
    if _computes_floats(op):
        request["type"] = float_type(op.value_type)
        if request["type"] is None:
            raise UnsupportedError(op.name, f"there is no sequence for {op.value_type}")
    return cast(Callable[..., Sequence], lower_for)(target, **request)


def _other_float(op: scoped.ScopedOperation, floats: Collection[ValueType]) -> Attribute | None:
    """The type of an arithmetic read-modify-write on floats that is none of ``floats``."""
    if not _computes_floats(op):
        return None
    return None if float_type(op.value_type) in floats else op.value_type


def _computes_floats(op: scoped.ScopedOperation) -> TypeGuard[scoped.AtomicRmwOp]:
    return isinstance(op, scoped.AtomicRmwOp) and op.kind.data in FLOAT_KINDS
