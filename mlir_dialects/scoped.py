"""The ``scoped`` dialect: loads, stores, atomics, fences and barriers with ordering and scope.

Target-independent; the input of every lowering. Pointers are ``!llvm.ptr<N>`` where N is
LLVM's address space number. The meaning is C++20's with LLVM's inclusive scopes
(LLVM LangRef, "Memory Model for Concurrent Operations"; AMDGPUUsage, "Memory Model").

    %v      = scoped.load acquire agent %p : !llvm.ptr<1> -> i32
              scoped.store release agent %v, %p : i32, !llvm.ptr<1>
    %old    = scoped.atomic_rmw add acq_rel system %p, %v : !llvm.ptr<1>, i32
    %o, %ok = scoped.cmpxchg acq_rel relaxed agent %p, %c, %n : !llvm.ptr<1>, i32
              scoped.fence acquire workgroup spaces [local]
              scoped.barrier workgroup
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, partial
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    NoReturn,
    Self,
    TypeAlias,
    TypedDict,
    Unpack,
    cast,
)

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from fencewright.lowering import vocabulary
from fencewright.lowering.skeleton import ILLEGAL, ILLEGAL_FAILURE
from fencewright.lowering.table import Illegal
from fencewright.lowering.vocabulary import (
    FLOAT_KINDS,
    AddressSpace,
    Availability,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.mlir_dialects.attributes import (
    ADDRESS_SPACES,
    AVAILABILITIES,
    ORDERINGS,
    RMW_KINDS,
    SCOPES,
    AddressSpaceAttr,
    AvailabilityAttr,
    OrderingAttr,
    RmwKindAttr,
    ScopeAttr,
    WordAttribute,
    find_word,
    parse_word,
)
from fencewright.mlir_dialects.leaf_operation import LeafOperation, defined_in

_UNIT = UnitAttr()
_WEAK = ORDERINGS[Ordering.WEAK]
_ACQ_REL = ORDERINGS[Ordering.ACQ_REL]

ATOMIC_WIDTHS = (8, 16, 32, 64, 128)
"""The widths in bits of one atomic access that some target has."""


# Memory effects

_READ = frozenset((EffectInstance(MemoryEffectKind.READ),))
_WRITE = frozenset((EffectInstance(MemoryEffectKind.WRITE),))
_READ_AND_WRITE = _READ | _WRITE


class OrderedMemoryEffect(MemoryEffect):
    """The effect of an operation on memory, as far as other operations may move or vanish.

    Only a weak, non-volatile load just reads, and only such a store just writes. All
    others do both: an ordered operation stands for what other threads do meanwhile,
    so that deleting an unused acquire load or merging two relaxed ones is a miscompile.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        properties = op.properties
        if properties.get("ordering") != _WEAK or "volatile" in properties:
            return _READ_AND_WRITE
        return _WEAK_EFFECTS.get(type(op), _READ_AND_WRITE)


# Types


@cache
def address_space_of(pointer: LLVMPointerType) -> AddressSpace:
    """The address space of ``!llvm.ptr<N>``; ``!llvm.ptr`` is generic.

    Raises ``ValueError``, naming the known ones, for any other number.
    """
    number = pointer.addr_space
    return AddressSpace.from_number(number.data if isinstance(number, IntAttr) else 0)


_INTEGERS = tuple(IntegerType(width) for width in ATOMIC_WIDTHS)
_FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)

Vector: TypeAlias = VectorType[Attribute]


@cache
def width_of(value_type: Attribute) -> int | None:
    """The width in bits of a value type; None where it depends on the target (pointers)."""
    if isinstance(value_type, (IntegerType, *_FLOATS)):
        return value_type.bitwidth
    if isa(value_type, Vector):
        element = width_of(value_type.element_type)
        return None if element is None else element * math.prod(value_type.get_shape())
    return None


_FLOAT_TYPES: Mapping[Attribute, vocabulary.ValueType] = MappingProxyType(
    {
        Float16Type(): vocabulary.ValueType.F16,
        BFloat16Type(): vocabulary.ValueType.BF16,
        Float32Type(): vocabulary.ValueType.F32,
        Float64Type(): vocabulary.ValueType.F64,
        VectorType(Float16Type(), (2,)): vocabulary.ValueType.F16X2,
        VectorType(BFloat16Type(), (2,)): vocabulary.ValueType.BF16X2,
    }
)


def float_type(value_type: Attribute) -> vocabulary.ValueType | None:
    """The lowering's name of a type of floats; None for other types."""
    return _FLOAT_TYPES.get(value_type)


def _is_scalar(value_type: Attribute) -> bool:
    return value_type in _INTEGERS or isinstance(value_type, (*_FLOATS, LLVMPointerType))


def _listed(words: Iterable[object]) -> str:
    return ", ".join(map(str, words))


@cache
def _space_problem(
    operation: vocabulary.Operation, weak: bool, pointer: LLVMPointerType
) -> str | None:
    """The reason that no such operation exists on the memory of ``pointer``; None if one does."""
    try:
        space = address_space_of(pointer)
    except ValueError as error:
        return str(error)
    if space is not AddressSpace.CONSTANT:
        return None
    if operation is not vocabulary.Operation.LOAD:
        return "constant memory cannot be written"
    return None if weak else "constant memory never changes, so a load from it must be weak"


@cache
def _value_problem(value_type: Attribute, weak: bool) -> str | None:
    """The reason that memory cannot be accessed as ``value_type``; None if it can."""
    if _is_scalar(value_type):
        return None
    if not isa(value_type, Vector):
        return (
            f"memory cannot be accessed as {value_type}; accepted: "
            f"{_listed(_INTEGERS)}, f16, bf16, f32, f64, !llvm.ptr and vectors of them"
        )
    shape = value_type.get_shape()
    if value_type.get_num_scalable_dims() or len(shape) != 1 or shape[0] < 1:
        return f"memory cannot be accessed as {value_type}: a vector has one fixed dimension"
    if (problem := _value_problem(value_type.element_type, weak)) is not None:
        return problem
    if weak or width_of(value_type) in ATOMIC_WIDTHS:
        return None
    return (
        f"{value_type} cannot be accessed atomically, its width must be one of "
        f"{_listed(ATOMIC_WIDTHS)} bits; make the access weak or split it"
    )


@cache
def _rmw_problem(kind: RmwKind, value_type: Attribute) -> str | None:
    """The reason that ``kind`` does not apply to ``value_type``; None if it does. Source: LLVM
    LangRef, atomicrmw.
    """
    if kind in FLOAT_KINDS:
        scalar = value_type.element_type if isa(value_type, Vector) else value_type
        return (
            None
            if isinstance(scalar, _FLOATS)
            else f"{kind} needs a float or floats, not {value_type}"
        )
    if kind is RmwKind.XCHG:
        if _is_scalar(value_type):
            return None
        return f"xchg needs an integer, a float or a pointer, not {value_type}; bitcast it"
    return None if value_type in _INTEGERS else f"{kind} needs an integer, not {value_type}"


# Custom syntax

_IN_DICTIONARY = ("volatile", "nontemporal", "invariant", "one_as", "weak", "alignment")
"""The properties that the custom syntax writes in the attribute dictionary, in this order."""

_WITH_A_PLACE = ("ordering", "failure_ordering", "scope", "kind", "spaces", "availability")
"""The properties that have a place of their own in the custom syntax."""

_RESERVED = frozenset((*_IN_DICTIONARY, *_WITH_A_PLACE))


class _WordPlace(NamedTuple):
    """A word that the custom syntax begins with: its property, its values, and the noun."""

    name: str
    words: Mapping[str, Attribute]
    noun: str


_ORDERING = _WordPlace("ordering", ORDERINGS, "ordering")
_FAILURE_ORDERING = _WordPlace("failure_ordering", ORDERINGS, "failure ordering")
_KIND = _WordPlace("kind", RMW_KINDS, "read-modify-write kind")


def _parse_access_scope(parser: Parser, properties: dict[str, Attribute]) -> None:
    """Parse the scope, if there is one: whether there must be is for the verifier to say."""
    start = parser.pos
    if (text := parser.parse_optional_identifier()) is not None:
        properties["scope"] = find_word(parser, SCOPES, "scope", text, start)


def _parse_tail(
    parser: Parser, op_type: type[IRDLOperation], properties: dict[str, Attribute]
) -> dict[str, Attribute]:
    """Parse ``spaces [..]``, ``av(..)`` and the dictionary; returns the discardable attributes."""
    if parser.parse_optional_keyword("spaces") is not None:
        properties["spaces"] = ArrayAttr(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE,
                lambda: parse_word(parser, ADDRESS_SPACES, "address space"),
                " in list of address spaces",
            )
        )
    if parser.parse_optional_keyword("av") is not None:
        with parser.in_parens():
            properties["availability"] = parse_word(parser, AVAILABILITIES, "availability")
    start = parser.pos
    attributes = parser.parse_optional_attr_dict()
    if not attributes:
        return attributes
    defined = op_type.get_irdl_definition().properties
    for name in _WITH_A_PLACE:
        if name in attributes and name in defined:
            parser.raise_error(f"'{name}' is not written in the dictionary", start, start + 1)
    for name in _IN_DICTIONARY:
        if name not in attributes or name not in defined:
            continue
        value = properties[name] = attributes.pop(name)
        if name != "alignment" and not isinstance(value, UnitAttr):
            parser.raise_error(f"'{name}' takes no value", start, start + 1)
    return attributes


def _print_tail(printer: Printer, op: "ScopedOperation") -> None:
    """Print the words that ``_parse_tail`` parses; nothing where all is at its default."""
    properties = op.properties
    if (spaces := op.spaces) is not None:
        printer.print_string(f" spaces [{', '.join(space.data for space in spaces)}]")
    if (availability := op.availability) is not None:
        printer.print_string(f" av({availability.data})")
    entries = {name: properties[name] for name in _IN_DICTIONARY if name in properties}
    if entries or op.attributes:
        printer.print_string(" ")
        with printer.in_braces():
            printer.print_list({**entries, **op.attributes}.items(), partial(_print_entry, printer))


def _print_entry(printer: Printer, entry: tuple[str, Attribute]) -> None:
    name, value = entry
    printer.print_identifier_or_string_literal(name)
    if isinstance(value, UnitAttr):
        return
    printer.print_string(" = ")
    if name == "alignment" and isinstance(value, IntegerAttr):
        printer.print_int(value.value.data)  # parses as the i64 that it is
    else:
        printer.print_attribute(value)


def _print_word(printer: Printer, op: "ScopedOperation", name: str) -> None:
    if (word := op.properties.get(name)) is not None:
        printer.print_string(f" {cast('WordAttribute[vocabulary.FastStrEnum]', word).data.value}")


def _parse_operands(parser: Parser, count: int) -> list[UnresolvedOperand]:
    operands = [parser.parse_unresolved_operand()]
    for _ in range(count - 1):
        parser.parse_characters(",")
        operands.append(parser.parse_unresolved_operand())
    return operands


# Construction


class OrderOptions(TypedDict, total=False):
    """Options about the memory that an operation orders."""

    one_as: bool
    spaces: Iterable[AddressSpace | str] | None
    availability: Availability | str | None


class AccessOptions(OrderOptions, total=False):
    """Options of an access; ``alignment`` in bytes."""

    volatile: bool
    alignment: int | None


class StoreOptions(AccessOptions, total=False):
    """Options of a store."""

    nontemporal: bool


class LoadOptions(StoreOptions, total=False):
    """Options of a load."""

    invariant: bool


class CmpxchgOptions(AccessOptions, total=False):
    """Options of a compare-exchange."""

    weak: bool


def _flag(_: bool) -> UnitAttr:
    return _UNIT


def _spaces(spaces: Iterable[AddressSpace | str]) -> Attribute:
    # Sets come in any order; what is printed does not.
    order = [*ADDRESS_SPACES]
    return ArrayAttr(
        ADDRESS_SPACES[space] for space in sorted(map(AddressSpace, spaces), key=order.index)
    )


_OPTIONS: Mapping[str, Callable[[Any], Attribute]] = MappingProxyType(
    {
        "one_as": _flag,
        "spaces": _spaces,
        "availability": AVAILABILITIES.__getitem__,
        "volatile": _flag,
        "alignment": lambda alignment: IntegerAttr(alignment, i64),
        "nontemporal": _flag,
        "invariant": _flag,
        "weak": _flag,
    }
)
"""The properties that constructors take as options; None and False leave them out."""


def _properties(
    op_type: type[IRDLOperation],
    ordering: Ordering | str,
    scope: Scope | str | None,
    options: Mapping[str, object],
) -> dict[str, Attribute]:
    """The properties of an operation; ``TypeError`` for an option that it does not have."""
    unknown = options.keys() - op_type.get_irdl_definition().properties.keys()
    if unknown:
        raise TypeError(f"{op_type.__name__} has no option {', '.join(sorted(unknown))}")
    properties: dict[str, Attribute] = {"ordering": ORDERINGS[ordering]}
    if scope is not None:
        properties["scope"] = SCOPES[scope]
    for name, make in _OPTIONS.items():
        value = options.get(name)
        if value is not None and value is not False:
            properties[name] = make(value)
    return properties


# Verification


def _refuse(illegal: Illegal) -> NoReturn:
    raise VerifyException(f"{illegal.reason}; accepted: {_listed(illegal.accepted)}")


_ABOUT_ORDER = (("one_as", "one_as"), ("spaces", "spaces"), ("availability", "av"))
"""The properties that say something about the memory that is ordered, and how they are written."""


def _verify_reserved(op: "ScopedOperation") -> None:
    """Refuse discardable attributes that read like a property: they would be ignored silently."""
    for name in sorted(_RESERVED & op.attributes.keys()):
        if name in op.get_irdl_definition().properties:
            raise VerifyException(f"'{name}' must be a property, not a discardable attribute")
        raise VerifyException(f"'{name}' has no meaning on {op.OPERATION}")


def _verify_spaces(spaces: ArrayAttr[AddressSpaceAttr]) -> None:
    if not spaces.data:
        raise VerifyException("an empty list of address spaces orders nothing; leave it out")
    seen: set[AddressSpace] = set()
    for space in spaces:
        if space.data in seen:
            raise VerifyException(f"address space {space.data} is listed twice")
        seen.add(space.data)


class Asynchronous:
    """Marks the operations of ``scoped_async``, so that a search for one need not import them."""


class ScopedOperation(LeafOperation, ABC):
    """The base of every operation of the dialect: an ordering, a scope, and the ordered memory.

    ``scope`` is absent exactly when the ordering is weak. ``one_as`` orders each address
    space on its own, not one against another (LLVM's ``-one-as`` scopes). ``spaces``
    limits what is ordered to these address spaces (LLVM's ``amdgpu-synchronize-as``).
    ``availability`` none orders without write-back or invalidate; absent is full.
    """

    OPERATION: ClassVar[vocabulary.Operation]
    """The word for this operation in the lowering tables."""

    ordering = prop_def(OrderingAttr)
    scope = opt_prop_def(ScopeAttr)
    one_as = opt_prop_def(UnitAttr)
    spaces = opt_prop_def(ArrayAttr[AddressSpaceAttr])
    availability = opt_prop_def(AvailabilityAttr)

    traits = traits_def(OrderedMemoryEffect())

    def verify_(self) -> None:
        properties = self.properties
        ordering = self.ordering.data
        if (illegal := ILLEGAL.get((self.OPERATION, ordering))) is not None:
            _refuse(illegal)
        if ordering is Ordering.WEAK:
            if "scope" in properties:
                raise VerifyException(
                    f"weak {self.OPERATION} synchronises with no other thread, "
                    "so it takes no scope; leave it out or use relaxed"
                )
            self._refuse_what_orders()
        elif "scope" not in properties:
            raise VerifyException(
                f"{ordering} {self.OPERATION} needs a scope; accepted: {_listed(SCOPES)}"
            )
        if "spaces" in properties:
            _verify_spaces(cast("ArrayAttr[AddressSpaceAttr]", properties["spaces"]))
        if self.attributes:
            _verify_reserved(self)

    def _refuse_what_orders(self) -> None:
        """Raise ``VerifyException`` if something is said about memory that is not ordered."""
        for name, written in _ABOUT_ORDER:
            if name in self.properties:
                raise VerifyException(
                    f"{self.ordering.data} {self.OPERATION} orders nothing, "
                    f"so '{written}' has no meaning on it"
                )


class AccessOperation(ScopedOperation, ABC):
    """An operation that accesses the location its ``pointer`` points to.

    ``pointer``: ``!llvm.ptr<N>`` of a known address space. ``volatile`` accesses are
    neither removed nor merged. ``alignment`` in bytes, a power of two; absent is natural.
    Written as words, scope, operands and two types: of the first operand, and of the second
    one or the result.
    """

    WORDS: ClassVar[tuple[_WordPlace, ...]] = (_ORDERING,)
    BETWEEN_TYPES: ClassVar[str] = ", "
    OPERAND_TYPES: ClassVar[tuple[int, ...]]
    """The type of each operand: the first (0) or the second one (1) that is written."""
    RESULT_TYPES: ClassVar[tuple[int, ...]]
    """The same for the results; 2 is i1."""
    POINTER: ClassVar[int] = 0
    """The number of the pointer's operand: to look for it by its name takes far longer."""

    pointer = operand_def(LLVMPointerType)

    volatile = opt_prop_def(UnitAttr)
    alignment = opt_prop_def(IntegerAttr)

    @property
    @abstractmethod
    def value_type(self) -> Attribute:
        """The type that memory is accessed as."""

    @property
    def space(self) -> AddressSpace:
        """The address space of the access; ``ValueError`` for one that is not known."""
        return address_space_of(cast(LLVMPointerType, self._operands[self.POINTER].type))

    def verify_(self) -> None:
        super().verify_()
        weak = "scope" not in self.properties
        value_type = self.value_type
        pointer_type = cast(LLVMPointerType, self.pointer.type)
        if (problem := _space_problem(self.OPERATION, weak, pointer_type)) is not None:
            raise VerifyException(problem)
        if (problem := _value_problem(value_type, weak)) is not None:
            raise VerifyException(problem)
        if (alignment := self.alignment) is not None:
            if alignment.type != i64:
                raise VerifyException(f"alignment must be an i64, not {alignment.type}")
            _verify_alignment(alignment.value.data, value_type, weak)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"ordering": _WEAK}
        for name, words, noun in cls.WORDS:
            properties[name] = parse_word(parser, words, noun)
        _parse_access_scope(parser, properties)
        operands = _parse_operands(parser, len(cls.OPERAND_TYPES))
        attributes: dict[str, Attribute] = {}
        if parser.parse_optional_characters(":") is None:
            attributes = _parse_tail(parser, cls, properties)
            parser.parse_characters(":")
        first = parser.parse_type()
        parser.parse_characters(cls.BETWEEN_TYPES.strip())
        types = (first, parser.parse_type(), i1)
        resolve = parser.resolve_operand
        return cls.create(
            operands=[
                resolve(operand, types[n])
                for operand, n in zip(operands, cls.OPERAND_TYPES, strict=True)
            ],
            result_types=[types[n] for n in cls.RESULT_TYPES],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        for name, *_ in self.WORDS:
            _print_word(printer, self, name)
        _print_word(printer, self, "scope")
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        _print_tail(printer, self)
        first, second, *_ = (*self.operands, *self.results)
        printer.print_string(" : ")
        printer.print_attribute(first.type)
        printer.print_string(self.BETWEEN_TYPES)
        printer.print_attribute(second.type)


def _verify_alignment(alignment: int, value_type: Attribute, weak: bool) -> None:
    if alignment < 1 or alignment & (alignment - 1):
        raise VerifyException(f"alignment must be a power of two, not {alignment}")
    width = width_of(value_type)
    if not weak and width is not None and alignment * 8 < width:
        raise VerifyException(
            f"an atomic access of {width} bits needs an alignment of at least {width // 8}, "
            f"not {alignment}"
        )


# Operations


@irdl_op_definition
class LoadOp(AccessOperation):
    """Read a value from memory.

    ``pointer``: ``!llvm.ptr<N>``; the result ``value``: an integer of 8 to 128 bits, f16,
    bf16, f32, f64, ``!llvm.ptr`` or a vector of them (unless weak, as wide as one atomic
    access). ``nontemporal`` hints that the location is not used again soon; ``invariant``
    says that nobody stores to the location while the program runs, so that the load, a weak
    one, takes no part in ordering. Source: LLVM LangRef, "load", "invariant.load"; PTX ISA, "ld".

        %v = scoped.load acquire agent %p {alignment = 4} : !llvm.ptr<1> -> i32
    """

    name = "scoped.load"
    OPERATION: ClassVar[vocabulary.Operation] = vocabulary.Operation.LOAD
    BETWEEN_TYPES: ClassVar[str] = " -> "
    OPERAND_TYPES: ClassVar[tuple[int, ...]] = (0,)
    RESULT_TYPES: ClassVar[tuple[int, ...]] = (1,)

    pointer = operand_def(LLVMPointerType)
    value = result_def()
    nontemporal = opt_prop_def(UnitAttr)
    invariant = opt_prop_def(UnitAttr)

    def __init__(
        self,
        pointer: SSAValue,
        value_type: Attribute,
        ordering: Ordering | str = Ordering.WEAK,
        scope: Scope | str | None = None,
        **options: Unpack[LoadOptions],
    ):
        properties = _properties(type(self), ordering, scope, options)
        Operation.__init__(
            self, operands=(pointer,), result_types=(value_type,), properties=properties
        )

    @property
    def value_type(self) -> Attribute:
        return self.value.type

    def verify_(self) -> None:
        super().verify_()
        if self.invariant is None:
            return
        if self.ordering.data is not Ordering.WEAK or self.volatile is not None:
            raise VerifyException(
                "what never changes needs no order: an invariant load is weak and not volatile"
            )


@irdl_op_definition
class StoreOp(AccessOperation):
    """Write a value to memory.

    ``value``: of a type that a load can give; ``pointer``: ``!llvm.ptr<N>``, not constant.
    ``nontemporal`` hints that the location is not used again soon.
    Source: LLVM LangRef, "store"; PTX ISA, "st".

        scoped.store release agent %v, %p : i32, !llvm.ptr<1>
    """

    name = "scoped.store"
    OPERATION: ClassVar[vocabulary.Operation] = vocabulary.Operation.STORE
    OPERAND_TYPES: ClassVar[tuple[int, ...]] = (0, 1)
    RESULT_TYPES: ClassVar[tuple[int, ...]] = ()
    POINTER: ClassVar[int] = 1

    value = operand_def()
    pointer = operand_def(LLVMPointerType)
    nontemporal = opt_prop_def(UnitAttr)

    def __init__(
        self,
        value: SSAValue,
        pointer: SSAValue,
        ordering: Ordering | str = Ordering.WEAK,
        scope: Scope | str | None = None,
        **options: Unpack[StoreOptions],
    ):
        properties = _properties(type(self), ordering, scope, options)
        Operation.__init__(self, operands=(value, pointer), properties=properties)

    @property
    def value_type(self) -> Attribute:
        return self.value.type


@irdl_op_definition
class AtomicRmwOp(AccessOperation):
    """Read a location, combine the old value with an operand, and write it back, as one step.

    ``pointer``: ``!llvm.ptr<N>``, not constant; ``value``: an integer, for the float kinds
    a float or a vector of floats, for xchg also a pointer; ``old``: what was read, of the
    same type. Source: LLVM LangRef, "atomicrmw"; PTX ISA, "atom".

        %old = scoped.atomic_rmw add acq_rel system %p, %v : !llvm.ptr<1>, i32
    """

    name = "scoped.atomic_rmw"
    OPERATION: ClassVar[vocabulary.Operation] = vocabulary.Operation.ATOMIC_RMW
    WORDS: ClassVar[tuple[_WordPlace, ...]] = (_KIND, _ORDERING)
    OPERAND_TYPES: ClassVar[tuple[int, ...]] = (0, 1)
    RESULT_TYPES: ClassVar[tuple[int, ...]] = (1,)

    pointer = operand_def(LLVMPointerType)
    value = operand_def()
    old = result_def()
    kind = prop_def(RmwKindAttr)

    def __init__(
        self,
        kind: RmwKind | str,
        pointer: SSAValue,
        value: SSAValue,
        ordering: Ordering | str,
        scope: Scope | str | None,
        **options: Unpack[AccessOptions],
    ):
        properties = _properties(type(self), ordering, scope, options)
        properties["kind"] = RMW_KINDS[kind]
        Operation.__init__(
            self, operands=(pointer, value), result_types=(value.type,), properties=properties
        )

    @property
    def value_type(self) -> Attribute:
        return self.value.type

    def verify_(self) -> None:
        super().verify_()
        value_type = self.value_type
        if (problem := _rmw_problem(self.kind.data, value_type)) is not None:
            raise VerifyException(problem)
        if self.old.type != value_type:
            raise VerifyException(
                f"the result is what was in memory, {value_type}, not {self.old.type}"
            )


@irdl_op_definition
class CmpxchgOp(AccessOperation):
    """Write a value if the location holds the one compared with, as one step.

    ``pointer``: ``!llvm.ptr<N>``, not constant; ``compare``, ``new``: integers or pointers
    of one type; ``old``: what was read, of that type; ``success``: i1, whether ``new`` was
    written. ``ordering`` holds when it was, ``failure_ordering`` (relaxed, acquire or
    seq_cst) when not. ``weak`` may fail although the location holds ``compare``.
    Source: LLVM LangRef, "cmpxchg"; PTX ISA, "atom.cas".

        %old, %ok = scoped.cmpxchg acq_rel relaxed agent %p, %c, %n : !llvm.ptr<1>, i32
    """

    name = "scoped.cmpxchg"
    OPERATION: ClassVar[vocabulary.Operation] = vocabulary.Operation.CMPXCHG
    WORDS: ClassVar[tuple[_WordPlace, ...]] = (_ORDERING, _FAILURE_ORDERING)
    OPERAND_TYPES: ClassVar[tuple[int, ...]] = (0, 1, 1)
    RESULT_TYPES: ClassVar[tuple[int, ...]] = (1, 2)

    pointer = operand_def(LLVMPointerType)
    compare = operand_def()
    new = operand_def()
    old = result_def()
    success = result_def(i1)
    failure_ordering = prop_def(OrderingAttr)
    weak = opt_prop_def(UnitAttr)

    def __init__(
        self,
        pointer: SSAValue,
        compare: SSAValue,
        new: SSAValue,
        ordering: Ordering | str,
        failure_ordering: Ordering | str,
        scope: Scope | str | None,
        **options: Unpack[CmpxchgOptions],
    ):
        properties = _properties(type(self), ordering, scope, options)
        properties["failure_ordering"] = ORDERINGS[failure_ordering]
        Operation.__init__(
            self,
            operands=(pointer, compare, new),
            result_types=(compare.type, i1),
            properties=properties,
        )

    @property
    def value_type(self) -> Attribute:
        return self.compare.type

    def verify_(self) -> None:
        super().verify_()
        if (illegal := ILLEGAL_FAILURE.get(self.failure_ordering.data)) is not None:
            _refuse(illegal)
        value_type = self.value_type
        if value_type not in _INTEGERS and not isinstance(value_type, LLVMPointerType):
            raise VerifyException(
                f"a compare-exchange compares bits: it needs an integer or a pointer, "
                f"not {value_type}; bitcast it"
            )
        if self.new.type != value_type or self.old.type != value_type:
            raise VerifyException(
                f"compare, new and old value must have one type, not {value_type}, "
                f"{self.new.type} and {self.old.type}"
            )


@irdl_op_definition
class FenceOp(ScopedOperation):
    """Order the accesses before against those after, without an access of its own.

    No operands, no results. ``ordering``: acquire, release, acq_rel or seq_cst.
    Source: LLVM LangRef, "fence"; PTX ISA, "fence".

        scoped.fence acquire workgroup spaces [local]
    """

    name = "scoped.fence"
    OPERATION: ClassVar[vocabulary.Operation] = vocabulary.Operation.FENCE

    def __init__(
        self, ordering: Ordering | str, scope: Scope | str | None, **options: Unpack[OrderOptions]
    ):
        properties = _properties(type(self), ordering, scope, options)
        Operation.__init__(self, properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ordering = parse_word(parser, ORDERINGS, "ordering")
        properties: dict[str, Attribute] = {"ordering": ordering}
        if ordering is not _WEAK:
            properties["scope"] = parse_word(parser, SCOPES, "scope")
        attributes = _parse_tail(parser, cls, properties)
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_word(printer, self, "ordering")
        _print_word(printer, self, "scope")
        _print_tail(printer, self)


@irdl_op_definition
class BarrierOp(ScopedOperation):
    """Wait until every thread of the scope has come here.

    No operands, no results. ``ordering``: acq_rel (not written), so that what any of the
    threads did before is seen by all of them after; or relaxed, which orders no memory.
    Source: LLVM AMDGPUUsage, "s_barrier"; PTX ISA, "barrier".

        scoped.barrier workgroup
        scoped.barrier relaxed workgroup
    """

    name = "scoped.barrier"
    OPERATION: ClassVar[vocabulary.Operation] = vocabulary.Operation.BARRIER

    def __init__(
        self,
        scope: Scope | str | None,
        ordering: Ordering | str = Ordering.ACQ_REL,
        **options: Unpack[OrderOptions],
    ):
        properties = _properties(type(self), ordering, scope, options)
        Operation.__init__(self, properties=properties)

    def verify_(self) -> None:
        super().verify_()
        if self.ordering.data is Ordering.RELAXED:
            self._refuse_what_orders()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        ordering = _ACQ_REL
        start = parser.pos
        word = parser.parse_optional_identifier()
        if word is not None and word in ORDERINGS:
            ordering = ORDERINGS[word]
            start = parser.pos
            word = None if ordering is _WEAK else parser.parse_optional_identifier()
        properties: dict[str, Attribute] = {"ordering": ordering}
        if word is not None:
            properties["scope"] = find_word(parser, SCOPES, "scope", word, start)
        elif ordering is not _WEAK:
            parser.raise_error(f"expected scope: one of {_listed(SCOPES)}")
        attributes = _parse_tail(parser, cls, properties)
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.ordering.data is not Ordering.ACQ_REL:
            _print_word(printer, self, "ordering")
        _print_word(printer, self, "scope")
        _print_tail(printer, self)


_WEAK_EFFECTS: Mapping[type[Operation], AbstractSet[EffectInstance]] = {
    LoadOp: _READ,
    StoreOp: _WRITE,
}

ACCESSES: frozenset[type[Operation]] = frozenset({LoadOp, StoreOp, AtomicRmwOp, CmpxchgOp})
"""Every ``AccessOperation``: where many operations are asked, a type is found sooner than a class
above it."""

if TYPE_CHECKING:
    Scoped: Dialect
    """Scoped memory operations, independent of any target."""


SYNCHRONOUS = Dialect(
    "scoped",
    [*defined_in(globals())],
    [OrderingAttr, ScopeAttr, AddressSpaceAttr, RmwKindAttr, AvailabilityAttr],
)
"""``scoped`` without ``scoped_async``, which few programs use and which takes longer to import."""


def __getattr__(name: str) -> object:
    """Makes ``Scoped`` when first asked: it has the asynchronous operations."""
    if name != "Scoped":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return _dialect()


@cache
def _dialect() -> Dialect:
    from fencewright.mlir_dialects.scoped_async import ASYNCHRONOUS

    parts = (SYNCHRONOUS, ASYNCHRONOUS)
    return Dialect(
        SYNCHRONOUS.name,
        [op for part in parts for op in part.operations],
        [attribute for part in parts for attribute in part.attributes],
    )
