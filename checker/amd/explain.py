"""The purpose of each synchronisation instruction of a function: the accesses that it orders.

A wait orders what is in flight before it and not after it; a write-back the stores that it carries
further; an invalidate the reads that came before it and, of those after it, the ones that would
otherwise be older. What can go is said with its reason (``cdna_surplus``).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fencewright.checker.amd.accesses import LEVELS, Operation
from fencewright.checker.amd.guarantees import LiftedFunction, describe, lines
from fencewright.checker.amd.state import Code, State, walk
from fencewright.checker.amd.surplus import Surplus, find_surplus
from fencewright.lowering.code.effects import Kind


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of the instruction of a line. ``orders``: the lines of the accesses that it
    orders.

    ``is_surplus``: whether it can go, or a part of it can.
    """

    line: int
    text: str
    orders: tuple[int, ...] = ()
    is_surplus: bool = False


def purposes_of(lifted: LiftedFunction, entries: Mapping[int, State]) -> list[Purpose]:
    """The waits, write-backs, invalidates, barriers and atomics, in the order of the text."""
    code = lifted.code
    found: dict[int, Purpose] = {}
    for _, step, operation, state in walk(code, entries):
        line = step.instruction.line
        if step.effects.kind is Kind.WAIT:
            after = state.copy()
            after.step(code, step, operation)
            found[line] = _wait(code, line, state, after)
        elif operation is not None and operation.kind is Kind.CACHE:
            is_back = operation.is_write_back
            found[line] = (_write_back if is_back else _invalidate)(code, operation, state)
        elif operation is not None and _synchronises(operation):
            pending = lifted.pending(operation, operation.scope)
            found[line] = Purpose(line, describe(lifted, operation), _lines_of(pending))
    return sorted(_with_surplus(code, found, find_surplus(code, entries)), key=lambda p: p.line)


def _with_surplus(
    code: Code, found: Mapping[int, Purpose], surplus: Iterable[Surplus]
) -> Iterator[Purpose]:
    """The surplus in place of a purpose; of a wait that is surplus in part, both."""
    by_line: dict[int, list[Surplus]] = {}
    for each in surplus:
        by_line.setdefault(each.line, []).append(each)
    for line, purpose in found.items():
        gone = by_line.get(line, [])
        fields = code.waits.get(line, {}).keys() - {"expcnt"}
        if not gone or len(gone) < len(fields):
            yield purpose
        for each in gone:
            yield Purpose(line, each.finding.message, purpose.orders, is_surplus=True)


def _synchronises(operation: Operation) -> bool:
    """True if an operation may order others by itself: a barrier, or a possible atomic."""
    if operation.kind in (Kind.BARRIER, Kind.RMW):
        return True
    return operation.is_access and operation.has_scope_bits


def _wait(code: Code, line: int, before: State, after: State) -> Purpose:
    done = code.those(before.flight & ~after.flight & (1 << code.others) - 1)
    delivered = {
        load.line
        for register, load in before.loads.items()
        if register not in after.loads and load.line
    }
    ended = {each.line for each in done if each.line}
    scalar = delivered - ended
    parts = list(_of_kinds(done))
    if scalar:
        parts.append(f"the scalar {'load' if len(scalar) == 1 else 'loads'} of {_said(scalar)}")
    if not parts:
        outside = any(each.kind is Kind.OPAQUE for each in done)
        return Purpose(line, "waits for the caller" if outside else "waits for nothing")
    return Purpose(line, f"waits for {', '.join(parts)}", tuple(sorted(ended | scalar)))


_GROUPS = (
    ("loads", (Kind.LOAD, Kind.COPY)),
    ("stores", (Kind.STORE,)),
    ("atomics", (Kind.RMW,)),
    ("write-backs", (Kind.CACHE,)),
)


def _of_kinds(operations: Iterable[Operation]) -> Iterator[str]:
    known = [each for each in operations if each.line and not each.is_invalidate]
    for name, kinds in _GROUPS:
        if chosen := [each for each in known if each.kind in kinds]:
            yield f"the {name if len(chosen) > 1 else name[:-1]} of {lines(chosen)}"


def _write_back(code: Code, operation: Operation, state: State) -> Purpose:
    reach = operation.effect.writes_back
    assert reach is not None
    own = code.those(state.dirty[reach] & (1 << code.others) - 1)
    others = state.dirty[reach] >> code.others
    text = "begins to write back"
    if stores := [each for each in own if each.line]:
        text += f" what {lines(stores)} stored"
    elif others:
        text += " what other waves may have handed on"
    return Purpose(operation.line, text, _lines_of(own))


def _invalidate(code: Code, operation: Operation, state: State) -> Purpose:
    bits = 0
    for level, stale in zip(LEVELS, state.stale, strict=True):
        if level & int(operation.effect.invalidates):
            bits |= stale
    reads = [each for each in code.those(bits & (1 << code.others) - 1) if each.line]
    text = "keeps later reads from what the caches have from before"
    text += f" {lines(reads)}" if reads else " it"
    return Purpose(operation.line, text, _lines_of(reads))


def _lines_of(operations: Iterable[Operation]) -> tuple[int, ...]:
    return tuple(sorted({each.line for each in operations if each.line}))


def _said(numbers: Iterable[int]) -> str:
    ordered = sorted(numbers)
    shown = ", ".join(map(str, ordered[:4])) + (" and more" if len(ordered) > 4 else "")
    return f"{'line' if len(ordered) == 1 else 'lines'} {shown}"
