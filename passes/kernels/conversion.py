"""The common base of the conversions of ``scoped`` kernels to a target's instructions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

from xdsl.dialects.builtin import IntegerAttr, LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.leaf_operation import append, operands_of, operations
from fencewright.passes.analysis.dominance import check_definitions
from fencewright.passes.kernels.accept import Function, byte_size, is_used, unsupported

if TYPE_CHECKING:
    from xdsl.dialects import cf, llvm


class BlockBuilder(Protocol):
    """A builder that appends instructions to a block."""

    block: Block


BuilderT = TypeVar("BuilderT", bound=BlockBuilder)
RegisterT = TypeVar("RegisterT", bound=Attribute)
PlanT = TypeVar("PlanT")

Handler = Callable[[Any, Operation], None]
"""Appends the instructions of an operation to a conversion."""
Arithmetic = Callable[[Any, Operation, tuple[SSAValue, ...]], SSAValue]
"""Appends the instructions of an operation on these registers to a builder; the result."""


class ConversionStep(NamedTuple):
    """One instruction to build: its class, properties, operand places and result types."""

    make: Callable[..., Operation]
    properties: dict[str, Attribute]
    operands: tuple[str, ...]
    results: tuple[Attribute, ...]


def build_steps(
    steps: Iterable[ConversionStep],
    places: Mapping[str, SSAValue],
    insert: Callable[[Operation], None],
    attributes: Mapping[str, Attribute] = MappingProxyType({}),
    location: LocationAttr | None = None,
) -> SSAValue | None:
    """Build the instructions and ``insert`` each; returns the result of the last one that has one.

    ``places`` names their operands; each is built with ``attributes`` and ``location``.
    """
    result: SSAValue | None = None
    for make, properties, names, results in steps:
        op = make(
            operands=[places[name] for name in names],
            result_types=results,
            properties=properties,
            attributes=attributes,
            location=location,
        )
        insert(op)
        if results:
            (result,) = op.results
    return result


class Plans(Generic[PlanT]):
    """Plans to build the instructions of scoped operations for one target, one for all that are
    alike."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[object, tuple[PlanT, tuple[Attribute, ...]]] = {}

    def find(
        self,
        op: scoped.ScopedOperation,
        features: tuple[str, ...],
        make: Callable[[scoped.ScopedOperation, tuple[str, ...], bool], PlanT],
    ) -> PlanT:
        """The result of ``make`` for ``op``, ``features`` of it, and the use of its result."""
        used = is_used(op)
        likeness, named = op.likeness()
        key = (likeness, used, features)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = make(op, features, used), named
        return known[0]


class KernelConversion(ABC, Generic[BuilderT, RegisterT]):
    """One function that becomes a kernel.

    ``values`` maps each value of the function to the registers that hold it, ``blocks`` each
    block to its new one, but the entry block. Handlers append to ``build.block``.
    """

    PATH: ClassVar[str]
    """The path's name in errors."""
    HANDLERS: ClassVar[Mapping[str, Handler]]
    """The converter of each operation, by its name; others cannot be converted."""
    ARITHMETIC: ClassVar[Mapping[str, Arithmetic]]
    BRANCH: ClassVar[type[Operation]]
    COND_BRANCH: ClassVar[type[IRDLOperation]]

    def __init__(self, function: Function, entry: Block, build: BuilderT):
        self.function = function
        self.entry = entry
        self.build = build
        self.values: dict[SSAValue, SSAValue] = {}
        self.blocks: dict[Block, Block] = {}
        self.location = function.location

    @abstractmethod
    def register_type(self, type: Attribute) -> RegisterT | None:
        """The registers that hold a value; None if none do."""

    @abstractmethod
    def bits_of(self, type: Attribute) -> int | None:
        """The width in bits of a value; None for a type that registers do not hold."""

    def width(self, type: Attribute) -> int:
        """The width in bits of a value that registers hold."""
        bits = self.bits_of(type)
        assert bits is not None
        return bits

    @abstractmethod
    def element(self, gep: "llvm.GEPOp", index: SSAValue | int, size: int) -> SSAValue:
        """The address of an element of an array whose elements have ``size`` bytes."""

    @abstractmethod
    def end_op(self) -> Operation:
        """The operation that ends a thread."""

    # Blocks

    def map_blocks(self, source: Iterable[Block]) -> None:
        """Make the new blocks, with their arguments, of all but the first of ``source``."""
        for block in islice(source, 1, None):
            types = [self.registers_for(block.parent_op(), arg.type) for arg in block.args]
            self.blocks[block] = Block(arg_types=types)
            self.values.update(zip(block.args, self.blocks[block].args, strict=True))

    def convert_blocks(self, source: Sequence[Block]) -> Region:
        """Convert the operations of the blocks; the kernel's body, in the function's order."""
        if len(source) > 1:
            check_definitions(source)
        try:
            for block in source:
                self.build.block = self.blocks.get(block, self.entry)
                for op in operations(block):
                    self.convert(op)
        except KeyError:
            # In a single block what is not defined in time is not in ``values`` yet.
            check_definitions(source)
            raise
        after = (self.blocks[b] for b in self.function.body.blocks if b in self.blocks)
        return Region([self.entry, *after])

    # Operations

    def convert(self, op: Operation) -> None:
        """Append the conversion of ``op``."""
        handler = self.HANDLERS.get(op.name) or self.rare_handler(op.name)
        if handler is None:
            unsupported(op, f"'{op.name}' is not supported on the {self.PATH} path")
        self.location = op.location
        handler(self, op)

    def rare_handler(self, name: str) -> Handler | None:
        """The converter of an operation that few programs have: it is imported when one is met."""
        return None

    def operands(self, op: Operation) -> tuple[SSAValue, ...]:
        """The registers of the operands."""
        values = self.values
        return tuple([values[operand] for operand in operands_of(op)])

    def registers_for(self, op: Operation | None, type: Attribute) -> RegisterT:
        """The registers that hold a value of ``op``, which is refused if none do."""
        registers = self.register_type(type)
        if registers is None:
            what = f"a value of {type} is not supported on the {self.PATH} path"
            unsupported(op or self.function, what)
        return registers

    def emit(
        self, steps: Iterable[ConversionStep], places: Mapping[str, SSAValue]
    ) -> SSAValue | None:
        """Append the instructions; ``places`` names their operands. What the access returned."""
        return build_steps(steps, places, partial(append, self.build.block), location=self.location)

    # Handlers that all paths share

    def arithmetic(self, op: Operation) -> None:
        """Append an operation of ``ARITHMETIC``."""
        self.values[op.results[0]] = self.ARITHMETIC[op.name](self.build, op, self.operands(op))

    def getelementptr(self, op: Operation) -> None:
        """Append the address of an element."""
        gep = cast("llvm.GEPOp", op)
        indices = tuple(gep.rawConstantIndices.get_values())
        if len(indices) != 1:
            unsupported(op, "a getelementptr of more than one index is not supported")
        size = byte_size(op, gep.elem_type, self.bits_of, self.PATH)
        index = gep.ssa_indices[0] if gep.ssa_indices else int(indices[0])
        self.values[gep.result] = self.element(gep, index, size)

    def allocated(self, alloca: "llvm.AllocaOp", is_private: bool) -> tuple[int, int]:
        """The bytes that ``alloca`` takes, and their alignment."""
        count = alloca.size.owner
        value = count.properties.get("value") if isinstance(count, Operation) else None
        if not is_private or not isinstance(value, IntegerAttr):
            unsupported(alloca, "an alloca needs a constant size and a pointer to private memory")
        if value.value.data < 0:
            unsupported(alloca, "an alloca of a negative size")
        size = value.value.data * byte_size(alloca, alloca.elem_type, self.bits_of, self.PATH)
        return size, 16 if alloca.alignment is None else max(alloca.alignment.value.data, 1)

    def branch(self, op: Operation) -> None:
        """Append an unconditional branch."""
        target = cast("cf.BranchOp", op).successor
        self.build.block.add_op(
            self.BRANCH.create(operands=self.operands(op), successors=(self.blocks[target],))
        )

    def cond_branch(self, op: Operation) -> None:
        """Append a conditional branch."""
        branch = cast("cf.ConditionalBranchOp", op)
        values = self.values
        self.build.block.add_op(
            self.COND_BRANCH.build(
                operands=[
                    values[branch.cond],
                    [values[each] for each in branch.then_arguments],
                    [values[each] for each in branch.else_arguments],
                ],
                successors=[self.blocks[branch.then_block], self.blocks[branch.else_block]],
            )
        )

    def end(self, op: Operation) -> None:
        """Append the end of the thread."""
        if op.operands:
            unsupported(op, "a kernel returns nothing")
        self.build.block.add_op(self.end_op())


def shared_handlers(
    conversion: type[KernelConversion[Any, Any]],
) -> Mapping[str, Handler]:
    """The rows of ``HANDLERS`` that all paths have."""
    return MappingProxyType(
        {
            **dict.fromkeys(conversion.ARITHMETIC, conversion.arithmetic),
            "llvm.getelementptr": conversion.getelementptr,
            "cf.br": conversion.branch,
            "cf.cond_br": conversion.cond_branch,
            "func.return": conversion.end,
            "gpu.return": conversion.end,
        }
    )


def replace(old: Operation, new: Operation) -> None:
    """Put ``new`` where ``old`` is."""
    block = old.parent
    assert block is not None
    block.insert_op_before(new, old)
    old.detach()
