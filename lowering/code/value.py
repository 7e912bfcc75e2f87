"""Values of registers as shared expressions: equal computations from equal values are one object.

An expression is a directed acyclic graph, made by one ``Values`` table for each function, so that
comparing two is comparing objects, and time and memory are linear in the code, whatever the
expressions would be written out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from itertools import count

from fencewright.lowering.code.records import record


@record(eq=False)
class Value:
    """A value, equal to itself alone. ``number``: in the order in which its table made them.

    ``varies``: another thread of the work-group may have another one. ``is_opaque``: it depends on
    what is not known. ``depth``: of its expression; 0 for a leaf. ``bits``: its width, 1 for a
    truth value; 0 where its table keeps no widths.
    """

    number: int
    bits: int = field(default=0, kw_only=True)
    varies: bool = field(kw_only=True)
    is_opaque: bool = field(kw_only=True)
    depth: int = field(default=0, kw_only=True)


@record(eq=False)
class Const(Value):
    """A constant, or a register that all threads of a work-group read alike, by its name."""

    constant: int | str


@record(eq=False)
class Thread(Value):
    """A value that tells threads apart: a special register, or an election."""

    name: str


@record(eq=False)
class Param(Value):
    """A parameter of the kernel, or the address of a variable."""

    name: str


@record(eq=False)
class Opaque(Value):
    """A value that is loaded, written more than once, or not known, of a register or a text."""

    name: str


@record(eq=False)
class Iteration(Value):
    """The number of times that a thread has gone back to the ``head`` of a loop since it came to
    it.

    ``head``: a block. Of an outer loop and an inner one each has its own.
    """

    head: int


@record(eq=False)
class Result(Value):
    """A value that an instruction returns and no operand gives: memory's, another lane's, a phase.

    ``instruction``: its number in the function; ``register``: of several that it defines. Two
    executions of one instruction by a thread have one value each; conditions are about the last.
    """

    instruction: int
    register: str


@record(eq=False)
class Apply(Value):
    """An operation on values."""

    operation: str
    arguments: tuple[Value, ...]


class ValueTable:
    """The values of one function: each is made once."""

    def __init__(self, most: int):
        """``most``: the depth beyond which an expression counts as opaque."""
        self._most = most
        self._made: dict[tuple[object, ...], Value] = {}
        self._applied: dict[tuple[str, int], dict[tuple[Value, ...], Apply]] = {}
        """By an operation and its width the values, whose own arguments are the keys: the most."""
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._made) + sum(map(len, self._applied.values()))

    def constant(self, constant: int | str, bits: int = 0) -> Value:
        """A constant, or a value that is one for all threads of a work-group."""
        key = (Const, constant, bits)
        if (found := self._made.get(key)) is None:
            found = Const(next(self._numbers), constant, bits=bits, varies=False, is_opaque=False)
            self._made[key] = found
        return found

    def thread(self, name: str, bits: int = 0) -> Value:
        """A value that depends on the thread."""
        return self._once(
            (Thread, name, bits), lambda n: Thread(n, name, bits=bits, varies=True, is_opaque=False)
        )

    def param(self, name: str, bits: int = 0) -> Value:
        """A parameter or variable."""
        return self._once(
            (Param, name, bits), lambda n: Param(n, name, bits=bits, varies=False, is_opaque=False)
        )

    def opaque(self, name: str, bits: int = 0, *, varies: bool = False) -> Value:
        """A value that is not known, of a register."""
        return self._once(
            (Opaque, name, bits, varies),
            lambda n: Opaque(n, name, bits=bits, varies=varies, is_opaque=True),
        )

    def iteration(self, head: int, bits: int) -> Value:
        """The iteration of a loop that a thread is in."""
        return self._once(
            (Iteration, head, bits),
            lambda n: Iteration(n, head, bits=bits, varies=True, is_opaque=False),
        )

    def result(self, instruction: int, register: str, bits: int) -> Value:
        """A value that an instruction returns, of a register that it defines."""
        key = (Result, instruction, register)
        if (found := self._made.get(key)) is None:
            found = self._made[key] = Result(
                next(self._numbers), instruction, register, bits=bits, varies=True, is_opaque=True
            )
        return found

    def apply(self, operation: str, arguments: Sequence[Value], bits: int = 0) -> Value:
        """An operation on values of this table."""
        parts = tuple(arguments)
        if (known := self._applied.get((operation, bits))) is None:
            known = self._applied[operation, bits] = {}
        if (found := known.get(parts)) is None:
            depth, varies, is_opaque = 0, False, False
            for each in parts:
                depth = max(depth, each.depth)
                varies, is_opaque = varies or each.varies, is_opaque or each.is_opaque
            depth += 1
            found = known[parts] = Apply(
                next(self._numbers),
                operation,
                parts,
                bits=bits,
                varies=varies,
                is_opaque=is_opaque or depth > self._most,
                depth=depth,
            )
        return found

    def _once(self, key: tuple[object, ...], make: Callable[[int], Value]) -> Value:
        """The value of a key, made with its number if there is none yet."""
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make(next(self._numbers))
        return found


def parts_first(
    roots: Iterable[Value], is_known: Callable[[Value], bool] = lambda value: False
) -> list[Value]:
    """Some values and all that they are computed from, parts first, without those known already.

    Expressions are deeper than the stack.
    """
    done: dict[Value, None] = {}
    stack = [*roots]
    while stack:
        top = stack[-1]
        parts = top.arguments if isinstance(top, Apply) else ()
        missing = [each for each in parts if each not in done and not is_known(each)]
        if top in done or is_known(top):
            stack.pop()
        elif missing:
            stack += missing
        else:
            done[top] = None
            stack.pop()
    return [*done]
