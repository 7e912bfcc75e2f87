"""Values of a JSON text, each with its path, so that an error says where the text is wrong."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar, cast

_E = TypeVar("_E", bound=StrEnum)
_Read = TypeVar("_Read")


class JsonFormError(ValueError):
    """A value that is not of the form that a reader expects; the text names its path."""


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value and its path, as ``operations[3].request.op``; the whole text has none.

    Every reader below raises ``JsonFormError`` where the value is of another type than it reads.
    """

    value: object
    path: str = ""

    @classmethod
    def read(cls, text: str) -> "JsonValue":
        """The value of a whole text. Raises ``JsonFormError`` if it is not JSON."""
        try:
            return cls(json.loads(text))
        except RecursionError:
            raise JsonFormError("not JSON that can be read: it is nested too deeply") from None
        except ValueError as error:  # Also a number of too many digits.
            raise JsonFormError(f"not JSON: {error}") from None

    def refused(self, expected: str) -> JsonFormError:
        """The error that names the expected value."""
        found = json.dumps(self.value)
        shown = found if len(found) <= 40 else f"{found[:37]}..."
        return JsonFormError(f"{self.path or 'the text'}: expected {expected}, found {shown}")

    def member(self, name: str) -> "JsonValue":
        """A member that an object must have."""
        found = self.optional(name)
        if found is None:
            raise JsonFormError(f"{self.path or 'the text'}: has no '{name}'")
        return found

    def optional(self, name: str) -> "JsonValue | None":
        """A member that an object may have."""
        members = self._members()
        if name not in members:
            return None
        return JsonValue(members[name], f"{self.path}.{name}" if self.path else name)

    def only(self, *names: str) -> None:
        """Raises ``JsonFormError`` if an object has members of other names."""
        unknown = [name for name in self._members() if name not in names]
        if unknown:
            raise JsonFormError(
                f"{self.path or 'the text'}: unknown member {json.dumps(unknown[0])}"
            )

    def items(self) -> "Iterator[JsonValue]":
        """The items of a list."""
        value = self.value
        if not isinstance(value, list):
            raise self.refused("a list")
        for number, each in enumerate(cast("list[object]", value)):
            yield JsonValue(each, f"{self.path}[{number}]")

    def texts(self) -> tuple[str, ...]:
        """The strings of a list."""
        return tuple(each.text() for each in self.items())

    def text(self) -> str:
        """A string of one line that can be printed."""
        if not isinstance(self.value, str) or not (self.value.isprintable()):
            raise self.refused("a string of printable characters")
        return self.value

    def number(self) -> int:
        """A number that counts: an integer of at least 0."""
        if type(self.value) is not int or self.value < 0:
            raise self.refused("a number of at least 0")
        return self.value

    def truth(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.refused("true or false")
        return self.value

    def word(self, words: type[_E]) -> _E:
        """One of the words of an enum."""
        if not isinstance(self.value, str) or self.value not in tuple(words):
            raise self.refused(f"one of {', '.join(words)}")
        return words(self.value)

    def or_none(self, read: "Callable[[JsonValue], _Read]") -> _Read | None:
        """The result of ``read`` on the value; None for a null."""
        return None if self.value is None else read(self)

    def _members(self) -> dict[str, object]:
        value = self.value
        if not isinstance(value, dict):
            raise self.refused("an object")
        return cast("dict[str, object]", value)
