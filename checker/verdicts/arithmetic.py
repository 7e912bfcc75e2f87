"""Addresses that differ between threads by arithmetic alone: sums of digits of a mixed radix.

``c*tid + c*ntid*ctaid + c*ntid*nctaid*i`` has another value for each thread, CTA and iteration, as
digits have: the step of each index is the step of the one before, times its size.
"""

from collections.abc import Mapping
from itertools import pairwise

from fencewright.checker.verdicts.expressions import factors_of, leaves, number_of
from fencewright.checker.verdicts.model import Access, Kernel, LinearForm, Relation
from fencewright.checker.verdicts.solver import Launch
from fencewright.lowering.code.value import Apply, Const, Iteration, Param, Thread, Value


def are_apart(
    kernel: Kernel, first: Access, second: Access, relation: Relation, launch: Launch
) -> bool:
    """True where two accesses of two threads in a relation have no byte in common, for all
    launches."""
    a, b = first.place.offset, second.place.offset
    if a is None or b is None or first.size is None or second.size is None:
        return False
    if first.place.rank is not second.place.rank:
        return False
    is_one_cta = relation in (Relation.WARP, Relation.CTA)
    own, other = _split(a, is_one_cta), _split(b, is_one_cta)
    if own != other:
        return False
    digits = _digits(own[1], is_one_cta=is_one_cta)
    if digits is None:
        return not own[1] and _are_disjoint(a, b, first.size, second.size)
    names = {digit for digit, _, _ in digits}
    needed = {f"%tid.{d}" for d in dimensions(kernel, "tid")} if is_one_cta else set[str]()
    if not is_one_cta:
        needed = {f"%ctaid.{d}" for d in dimensions(kernel, "ctaid")}
    if not needed <= names:
        return False
    sizes = _sizes(kernel, launch)
    step = _step_of_chain(digits, sizes)
    if step is None:
        return False
    distance = a.constant - b.constant
    # Other digits are a multiple of the step apart; equal ones are of one thread.
    return not any(
        -first.size < times * step + distance < second.size
        for times in range(-(abs(distance) + first.size) // step - 1, abs(distance) // step + 3)
        if times and first.size + second.size < 1 << 20
    )


def dimensions(kernel: Kernel, kind: str) -> str:
    """The dimensions of thread (``tid``) or CTA (``ctaid``) indices that a kernel tells apart."""
    return "x" + "".join(d for d in "yz" if {f"%{kind}.{d}", f"%n{kind}.{d}"} & kernel.specials)


def is_alike(value: Value, *, is_one_cta: bool) -> bool:
    """True of a value that all threads have alike; of one CTA, also its index."""
    for leaf in leaves((value,)):
        if isinstance(leaf, Param):
            continue
        if not isinstance(leaf, Const):
            return False
        if isinstance(leaf.constant, str) and not is_one_cta:
            if not leaf.constant.startswith(("%ntid", "%nctaid")):
                return False
    return True


_Terms = frozenset[tuple[Value, int]]
_Digit = tuple[str, int, tuple[Value, ...]]
"""The name of an index, and its step: a number times values."""


def _split(form: LinearForm, is_one_cta: bool) -> tuple[_Terms, _Terms]:
    """The terms that both threads have alike, and the others."""
    alike = frozenset(term for term in form.terms if is_alike(term[0], is_one_cta=is_one_cta))
    return alike, frozenset(form.terms) - alike


def _are_disjoint(a: LinearForm, b: LinearForm, size: int, other: int) -> bool:
    """True of two places known to the byte that do not overlap."""
    return not -size < a.constant - b.constant < other


def _digits(terms: _Terms, *, is_one_cta: bool) -> list[_Digit] | None:
    """The indices that terms are multiples of; None if one is no index, or is there twice."""
    digits: list[_Digit] = []
    for value, times in terms:
        names: list[str] = []
        steps: list[Value] = []
        for factor in factors_of(value):
            name = _index_of(factor)
            if name:
                names.append(name)
            elif is_alike(factor, is_one_cta=is_one_cta):
                steps.append(factor)
            else:
                return None
        if len(names) != 1 or times <= 0:
            return None
        digits.append((names[0], times, tuple(sorted(steps, key=lambda step: step.number))))
    names = [name for name, _, _ in digits]
    return digits if digits and len(set(names)) == len(names) else None


def _index_of(value: Value) -> str:
    """The name of the index that a value is; "" if it is none."""
    if isinstance(value, Apply) and value.operation == "zext":
        value = value.arguments[0]
    if isinstance(value, Thread) and value.name.startswith("%tid."):
        return value.name
    if isinstance(value, Const) and isinstance(value.constant, str):
        return value.constant if value.constant.startswith("%ctaid.") else ""
    return f"iteration {value.head}" if isinstance(value, Iteration) else ""


def _sizes(kernel: Kernel, launch: Launch) -> Mapping[str, int]:
    """The sizes that are known, by the names of their indices."""
    sizes: dict[str, int] = {}
    for kind, own in (("tid", launch.block or kernel.required), ("ctaid", launch.grid)):
        if own is not None:
            sizes |= {f"%{kind}.{d}": size for d, size in zip("xyz", own, strict=True)}
    return sizes


def _step_of_chain(digits: list[_Digit], sizes: Mapping[str, int]) -> int | None:
    """The step of the first digit, if the step of each next one is at least the range of those
    before."""
    first = [digit for digit in digits if not digit[2]]
    if not first:
        return None
    # Pure numbers first, in their order; then those with the fewest factors.
    ordered = sorted(digits, key=lambda digit: (len(digit[2]), digit[1]))
    for (name, times, steps), (_, next_times, next_steps) in pairwise(ordered):
        if steps == next_steps and name in sizes and next_times >= times * sizes[name]:
            continue
        wanted = sorted((*(_size_name(step) for step in steps), name.replace("%", "%n")), key=str)
        given = sorted((_size_name(step) for step in next_steps), key=str)
        if not name.startswith("%") or given != wanted or next_times != times:
            return None
    return ordered[0][1]


def _size_name(value: Value) -> str:
    """The name of a size of the launch; of another value, its number in the table."""
    inner = value.arguments[0] if isinstance(value, Apply) and value.operation == "zext" else value
    if isinstance(inner, Const) and isinstance(inner.constant, str):
        return inner.constant
    return f"{value.number if number_of(value) is None else number_of(value)}"
