"""The attributes of the ``scoped`` dialect: one for each enumeration of the vocabulary.

Each is written ``#scoped<ordering acquire>`` on its own and as its bare word in the
custom syntax of an operation. There is one attribute per member, made once here and
looked up by member or by its text: ``ORDERINGS["acquire"] is ORDERINGS[Ordering.ACQUIRE]``.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr, i64
from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    FastStrEnum,
    Ordering,
    RmwKind,
    Scope,
)

WordT = TypeVar("WordT", bound=FastStrEnum, covariant=True)
AttributeT = TypeVar("AttributeT")


class WordAttribute(Data[WordT], SpacedOpaqueSyntaxAttribute):
    """An attribute that holds one word of the vocabulary in ``.data``.

    Raises ``ParseError`` for an unknown word, naming the known ones.
    """

    word_type: ClassVar[type[FastStrEnum]]
    noun: ClassVar[str]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WordT:
        words: Mapping[str, WordT] = {w.value: w for w in cls.word_type}  # pyright: ignore[reportAssignmentType]  # word_type is the enumeration WordT stands for
        return parse_word(parser, words, cls.noun)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data.value)


@irdl_attr_definition
class OrderingAttr(WordAttribute[Ordering]):
    """The strength of an operation's ordering: ``#scoped<ordering acquire>``."""

    name = "scoped.ordering"
    word_type = Ordering
    noun = "ordering"


@irdl_attr_definition
class ScopeAttr(WordAttribute[Scope]):
    """The threads that an operation synchronises with: ``#scoped<scope agent>``."""

    name = "scoped.scope"
    word_type = Scope
    noun = "scope"


@irdl_attr_definition
class AddressSpaceAttr(WordAttribute[AddressSpace]):
    """An address space that an operation orders: ``#scoped<address_space local>``."""

    name = "scoped.address_space"
    word_type = AddressSpace
    noun = "address space"


@irdl_attr_definition
class RmwKindAttr(WordAttribute[RmwKind]):
    """The arithmetic of a read-modify-write: ``#scoped<rmw_kind add>``."""

    name = "scoped.rmw_kind"
    word_type = RmwKind
    noun = "read-modify-write kind"


@irdl_attr_definition
class AvailabilityAttr(WordAttribute[Availability]):
    """The effect of an ordered operation on availability: ``#scoped<availability none>``."""

    name = "scoped.availability"
    word_type = Availability
    noun = "availability"


ORDERINGS: Mapping[str, OrderingAttr] = MappingProxyType({w: OrderingAttr(w) for w in Ordering})
SCOPES: Mapping[str, ScopeAttr] = MappingProxyType({w: ScopeAttr(w) for w in Scope})
ADDRESS_SPACES: Mapping[str, AddressSpaceAttr] = MappingProxyType(
    {w: AddressSpaceAttr(w) for w in AddressSpace}
)
RMW_KINDS: Mapping[str, RmwKindAttr] = MappingProxyType({w: RmwKindAttr(w) for w in RmwKind})
AVAILABILITIES: Mapping[str, AvailabilityAttr] = MappingProxyType(
    {w: AvailabilityAttr(w) for w in Availability}
)


@cache
def count_attr(value: int) -> IntegerAttr[I64]:
    """The number as an attribute, one instance for each."""
    return IntegerAttr(value, i64)


@cache
def opcode_attr(mnemonic: str) -> StringAttr:
    """The mnemonic as an attribute, one instance for each."""
    return StringAttr(mnemonic)


def find_word(
    parser: AttrParser, words: Mapping[str, AttributeT], noun: str, text: str, start: int
) -> AttributeT:
    """The entry of ``words`` that ``text``, read at position ``start``, names.

    Raises ``ParseError`` at that text, naming what would be accepted.
    """
    found = words.get(text)
    if found is None:
        parser.raise_error(
            f"unknown {noun} '{text}'; expected one of {', '.join(words)}", start, start + len(text)
        )
    return found


def parse_word(parser: AttrParser, words: Mapping[str, AttributeT], noun: str) -> AttributeT:
    """The entry of ``words`` that the next identifier names.

    Raises ``ParseError`` at that identifier, naming what would be accepted.
    """
    start = parser.pos
    text = parser.parse_optional_identifier()
    if text is None:
        parser.raise_error(f"expected {noun}: one of {', '.join(words)}")
    return find_word(parser, words, noun, text, start)
