"""Sequences of the lowering to PTX as steps that build operations of ``ptx``."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.sequence import Instruction, Sequence
from fencewright.lowering.vocabulary import Phase
from fencewright.mlir_dialects import ptx
from fencewright.mlir_dialects.attributes import opcode_attr
from fencewright.passes.kernels.conversion import ConversionStep


def steps_of(
    sequence: Sequence, result: ptx.RegisterType | None, *, ordered: bool
) -> tuple[ConversionStep, ...]:
    """The steps that build ``sequence``, whose operands are ``addr``, ``data``, ``compare``.

    ``result``: the register of its result, if any; ``ordered``: whether it synchronises.
    """
    steps = [
        _step(instructions, ordered, result) for instructions in _grouped(sequence.instructions)
    ]
    if sequence.remarks and steps:
        remarks = ArrayAttr([StringAttr(each) for each in sequence.remarks])
        steps[-1].properties["remarks"] = remarks
    return tuple(steps)


_OPERANDS = ("addr", "data", "compare")
_KNOWN_PLACES = frozenset({"dst", *_OPERANDS})


def _grouped(instructions: tuple[Instruction, ...]) -> list[tuple[Instruction, ...]]:
    """One instruction each, but an access with registers or labels of its own stays together."""
    access = tuple(each for each in instructions if each.phase is Phase.ACCESS)
    if all(_KNOWN_PLACES.issuperset(each.names) for each in access):
        return [(each,) for each in instructions]
    first = instructions.index(access[0])
    assert instructions[first : first + len(access)] == access
    before, after = instructions[:first], instructions[first + len(access) :]
    return [*((each,) for each in before), access, *((each,) for each in after)]


def _step(
    instructions: tuple[Instruction, ...], ordered: bool, result: ptx.RegisterType | None
) -> ConversionStep:
    first = instructions[0]
    places = dict.fromkeys(place for each in instructions for place in each.names)
    results: tuple[Attribute, ...] = ()
    if "dst" in places and "dst" not in _declared(instructions):
        assert result is not None
        results = (result,)
    operands = tuple(place for place in places if place in _OPERANDS)
    properties: dict[str, Attribute] = {}
    if ordered:
        properties = {"phase": ptx.PHASES[first.phase], "source": StringAttr(first.source)}
    if len(instructions) > 1:
        properties["places"] = ArrayAttr([StringAttr(place) for place in operands])
        properties["lines"] = ptx.LinesAttr.of(instructions)
        return ConversionStep(ptx.SequenceOp.create, properties, operands, results)
    create = _OPERATION_OF_KIND[read_opcode(first.mnemonic).kind]
    is_barrier = create == ptx.BarrierOp.create
    properties["opcode"] = opcode_attr(first.text if is_barrier else first.mnemonic)
    return ConversionStep(create, properties, operands, results)


def _declared(instructions: tuple[Instruction, ...]) -> set[str]:
    """The registers that the instructions declare for themselves."""
    return {place for each in instructions if each.mnemonic == ".reg" for place in each.names}


_OPERATION_OF_KIND: Mapping[Kind, Callable[..., Operation]] = MappingProxyType(
    {
        Kind.LOAD: ptx.LoadOp.create,
        Kind.STORE: ptx.StoreOp.create,
        Kind.RMW: ptx.AtomicOp.create,
        Kind.FENCE: ptx.FenceOp.create,
        **dict.fromkeys((Kind.BARRIER, Kind.SIGNAL, Kind.WAIT), ptx.BarrierOp.create),
    }
)
