"""Base classes of the operations of ``scoped`` and ``cdna``: operations without regions, fast.

xDSL makes an operation in 5 us and verifies it in 25 us. A module has tens of thousands, most
of them alike, and both are half of a run.

The fields that are set here are private to xDSL, whose version is pinned; a test compares what
is made with what xDSL makes.
"""

# pyright: reportPrivateUsage=false

from abc import ABC
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import (
    Attribute,
    Block,
    ErasedSSAValue,
    Operation,
    OpResult,
    Region,
    SSAValue,
    SSAValues,
    Use,
)
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from fencewright.mlir_dialects.verification import stands_well

T = TypeVar("T")


def defined_in(module: Mapping[str, object]) -> tuple[type[Operation], ...]:
    """The operations that a module has defined so far, in their order, of its ``globals()``."""
    return tuple(
        each
        for each in module.values()
        if isinstance(each, type)
        and issubclass(each, Operation)
        and each.__module__ == module["__name__"]
        and "name" in vars(each)
    )


_verified: dict[tuple[object, ...], tuple[Attribute, ...]] = {}
"""A cache: the likenesses of operations that verify, with the attributes of each."""

_MOST_VERIFIED = 1 << 14
"""The number of kinds of operations remembered, lest unusual input fill the memory."""


class QuickOperation(IRDLOperation, ABC):
    """An operation of which no property has a default: it is made in a third of xDSL's time.

    Its hash, by identity, is a method in Python in xDSL.
    """

    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]

    def __post_init__(self) -> None:
        """Nothing to fill in: no property has a default."""

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        if regions:
            return super().create(
                operands=operands,
                result_types=result_types,
                properties=properties,
                attributes=attributes,
                location=location,
                successors=successors,
                regions=regions,
            )
        op = cls.__new__(cls)
        op.properties = dict(properties)
        op.attributes = dict(attributes)
        op.location = UNKNOWN_LOC if location is None else location
        if operands:
            op._operands = SSAValues(operands)
            op._operand_uses = uses = tuple([Use(op, n) for n in range(len(operands))])
            for operand, use in zip(op._operands, uses, strict=True):
                operand.add_use(use)
        else:
            op._operands, op._operand_uses = _NO_VALUES, ()
        if result_types:
            op.results = SSAValues([OpResult(type, op, n) for n, type in enumerate(result_types)])
        else:
            op.results = _NO_VALUES
        if successors:
            op._successors = tuple(successors)
            op._successor_uses = uses = tuple([Use(op, n) for n in range(len(successors))])
            for successor, use in zip(op._successors, uses, strict=True):
                successor.add_use(use)
        return op


class LeafOperation(QuickOperation, ABC):
    """A quick operation without regions that is also verified once for all that are alike.

    What its verifier looks at must be its properties, attributes and types alone.
    """

    def verify(self, verify_nested_ops: bool = True) -> None:
        block = self.parent
        stands_alone = block is None or block.last_op is self or self._successors
        if stands_alone or self.attributes or self.regions:
            self._verify_alone(verify_nested_ops)
            return
        likeness, named = self.likeness()
        if likeness in _verified and ErasedSSAValue not in map(type, self._operands):
            return
        super().verify(verify_nested_ops)
        if len(_verified) < _MOST_VERIFIED:
            _verified[likeness] = named

    def _verify_alone(self, verify_nested_ops: bool) -> None:
        # xDSL counts all blocks of the region for every terminator.
        if not self.regions and stands_well(self):
            try:
                self.verify_()
            except VerifyException:
                pass
            else:
                return
        super().verify(verify_nested_ops)

    def likeness(self) -> tuple[tuple[object, ...], tuple[Attribute, ...]]:
        """The common parts of operations of one class with the same properties and types.

        Attributes are in it by identity, which is cheap: it means something as long as these, which
        come second, are kept. Discardable attributes are left out.
        """
        properties = self.properties
        operands = [value.type for value in self._operands]
        results = [value.type for value in self.results]
        named = (*properties.values(), *operands, *results)
        return (type(self), *properties, len(operands), *map(id, named)), named


class OfAlike(Generic[T]):
    """A fact of operations that ``make`` finds once for all that are alike.

    These are of one class, with the same properties, discardable attributes and number of results.
    Attributes are compared by identity, as in ``LeafOperation.likeness``.
    """

    def __init__(self, make: Callable[[Any], T]):
        self._make = make
        self._known: dict[tuple[object, ...], tuple[T, tuple[Attribute, ...]]] = {}

    def __call__(self, op: Operation) -> T:
        properties, attributes = op.properties, op.attributes
        key = (type(op), len(op.results), *properties, *map(id, properties.values()))
        if attributes:
            key = (*key, None, *attributes, *map(id, attributes.values()))
        found = self._known.get(key)
        if found is None:
            named = (*properties.values(), *attributes.values())
            if len(self._known) >= _MOST_VERIFIED:
                self._known.clear()
            found = self._known[key] = self._make(op), named
        return found[0]


def append(block: Block, op: Operation) -> None:
    """Add ``op``, which has just been made, at the end of ``block``.

    Without xDSL's questions, whether it is in a block already, or ``block`` within it.
    """
    last = block._last_op
    op.parent = block
    block._last_op = op
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
        op._prev_op = last


def operations(block: Block) -> list[Operation]:
    """The operations of ``block`` as it is now, in order: three times as fast as by
    ``block.ops``."""
    found: list[Operation] = []
    op = block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def walk(op: Operation) -> Iterator[Operation]:
    """``op`` and all that is in it, in the order of ``op.walk()``, in a third of its time."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for each in operations(block):
                if each.regions:
                    yield from walk(each)
                else:
                    yield each


def operands_of(op: Operation) -> tuple[SSAValue, ...]:
    """The operands that ``op`` has now: where they change, it gets another tuple."""
    return op._operands


def successors_of(op: Operation) -> tuple[Block, ...]:
    """The successors that ``op`` has now: where they change, it gets another tuple."""
    return op._successors


def set_type(value: SSAValue, type: Attribute) -> None:
    """Let ``value``, made before its type was known, have ``type``."""
    value._type = type


_NO_VALUES = SSAValues[Any]()
