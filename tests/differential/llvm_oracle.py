"""LLVM's own lowering of one scoped operation, read off the assembly that llvmlite emits.

At -O0 only: from -O1 on LLVM 22 loses the wait after a write-back (llvm-project#178316).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from fencewright.lowering.cdna.generations.differences import LlvmDifference
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Operation,
    Ordering,
    Scope,
)

TRIPLE = "amdgcn-amd-amdhsa"

Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One operation to ask both sides for; the names are those of ``lower``."""

    op: Operation
    ordering: Ordering
    scope: Scope
    space: AddressSpace | None
    failure_ordering: Ordering | None = None
    returns: bool = True
    volatile: bool = False
    nontemporal: bool = False
    one_as: bool = False
    spaces: frozenset[AddressSpace] | None = None
    availability: Availability = Availability.FULL


_LLVM_ORDERING = {Ordering.RELAXED: "monotonic"}
_SPACE_SUFFIX = {
    AddressSpace.GENERIC: "",
    AddressSpace.GLOBAL: " addrspace(1)",
    AddressSpace.LOCAL: " addrspace(3)",
    AddressSpace.CONSTANT: " addrspace(4)",
    AddressSpace.PRIVATE: " addrspace(5)",
}


def matrix() -> Iterable[Point]:
    """Every operation x ordering x scope x address space x hint that LLVM can express too."""
    for space in _SPACE_SUFFIX:
        yield from _weak(space)
        for scope in Scope:
            for one_as in (False, True):
                base = Point(Operation.LOAD, Ordering.RELAXED, scope, space, one_as=one_as)
                yield from _ordered(base)
    for scope in Scope:
        for one_as in (False, True):
            yield from _fences(scope, one_as)


def _weak(space: AddressSpace) -> Iterable[Point]:
    for op in (Operation.LOAD, Operation.STORE):
        if op is Operation.STORE and space is AddressSpace.CONSTANT:
            continue
        for volatile in (False, True):
            for nontemporal in (False, True):
                yield Point(
                    op,
                    Ordering.WEAK,
                    Scope.SYSTEM,
                    space,
                    volatile=volatile,
                    nontemporal=nontemporal,
                )


def _ordered(base: Point) -> Iterable[Point]:
    if base.space is AddressSpace.CONSTANT:
        return
    o = Ordering
    for volatile in (False, True):
        access = replace(base, volatile=volatile)
        for ordering in (o.RELAXED, o.ACQUIRE, o.SEQ_CST):
            yield replace(access, ordering=ordering)
        for ordering in (o.RELAXED, o.RELEASE, o.SEQ_CST):
            yield replace(access, op=Operation.STORE, ordering=ordering)
    for returns in (True, False):
        for ordering in (o.RELAXED, o.ACQUIRE, o.RELEASE, o.ACQ_REL, o.SEQ_CST):
            point = replace(base, ordering=ordering, returns=returns)
            yield replace(point, op=Operation.ATOMIC_RMW)
            for failure in (o.RELAXED, o.ACQUIRE, o.SEQ_CST):
                yield replace(point, op=Operation.CMPXCHG, failure_ordering=failure)


def _fences(scope: Scope, one_as: bool) -> Iterable[Point]:
    shared = (AddressSpace.GLOBAL, AddressSpace.LOCAL)
    for spaces in (None, *(frozenset({each}) for each in shared), frozenset(shared)):
        for ordering in Ordering:
            if ordering not in (Ordering.WEAK, Ordering.RELAXED):
                yield Point(Operation.FENCE, ordering, scope, None, one_as=one_as, spaces=spaces)


def _syncscope(point: Point) -> str:
    name = "" if point.scope is Scope.SYSTEM else str(point.scope)
    if point.one_as:
        name = f"{name}-one-as" if name else "one-as"
    return f' syncscope("{name}")' if name else ""


def _ir_instruction(point: Point) -> str:
    return _without_relaxations(point).replace("\n", f"{_mmra(point)}\n", 1) + (
        "" if point.op is Operation.CMPXCHG else _mmra(point)
    )


def _without_relaxations(point: Point) -> str:
    order = _LLVM_ORDERING.get(point.ordering, str(point.ordering))
    ptr = "" if point.space is None else f"ptr{_SPACE_SUFFIX[point.space]} %p"
    sync = _syncscope(point)
    volatile = "volatile " if point.volatile else ""
    hint = ", !nontemporal !0" if point.nontemporal else ""
    if point.ordering is Ordering.WEAK:
        if point.op is Operation.LOAD:
            return f"%r = load {volatile}i32, {ptr}, align 4{hint}"
        return f"store {volatile}i32 %v, {ptr}, align 4{hint}"
    match point.op:
        case Operation.LOAD:
            return f"%r = load atomic {volatile}i32, {ptr}{sync} {order}, align 4"
        case Operation.STORE:
            return f"store atomic {volatile}i32 %v, {ptr}{sync} {order}, align 4"
        case Operation.ATOMIC_RMW:
            return f"%r = atomicrmw add {ptr}, i32 %v{sync} {order}, align 4, !noalias.addrspace !1"
        case Operation.CMPXCHG:
            assert point.failure_ordering is not None
            failure = _LLVM_ORDERING.get(point.failure_ordering, str(point.failure_ordering))
            return (
                f"%x = cmpxchg {ptr}, i32 %c, i32 %v{sync} {order} {failure}, align 4, "
                "!noalias.addrspace !1\n  %r = extractvalue { i32, i1 } %x, 0"
            )
        case Operation.FENCE:
            return f"fence{sync} {order}"
        case Operation.BARRIER:
            raise AssertionError("LLVM has no barrier that orders memory")


_AS = '!"amdgpu-synchronize-as"'
_AV = '!{!"amdgcn-av", !"none"}'


def _mmra(point: Point) -> str:
    tags = [f'!{{{_AS}, !"{space}"}}' for space in sorted(point.spaces or ())]
    tags += [_AV] * (point.availability is Availability.NONE)
    if len(tags) < 2:
        return "".join(f", !mmra {tag}" for tag in tags)
    return f", !mmra !{{{', '.join(tags)}}}"


GROUP = 32
"""How many points stand in one function: each function costs LLVM more than the points do."""


def _function(index: int, points: Sequence[Point]) -> str:
    """A function of points of one address space; nothing is outstanding before any of them."""
    (space,) = {point.space for point in points}
    pointer = "ptr" if space is None else f"ptr{_SPACE_SUFFIX[space]}"
    body = "".join(_marked(number, point) for number, point in enumerate(points))
    return f"define void @f{index}({pointer} %p, i32 %v, i32 %c) {{\n{body}  ret void\n}}\n"


def function_alone(number: int, point: Point) -> str:
    """A function of one point, called ``f`` and its number."""
    pointer = "ptr" if point.space is None else f"ptr{_SPACE_SUFFIX[point.space]}"
    body = _marked(number, point).replace("  call void @llvm.amdgcn.s.waitcnt(i32 0)\n", "")
    return f"define void @f{number}({pointer} %p, i32 %v, i32 %c) {{\n{body}  ret void\n}}\n"


def _marked(number: int, point: Point) -> str:
    instruction = re.sub(r"%([rx])\b", rf"%\g<1>{number}", _ir_instruction(point))
    use = ""
    if point.returns and instruction.startswith(("%r", "%x")):
        use = f'\n  call void asm sideeffect "; use $0", "v"(i32 %r{number})'
    return f"""  call void asm sideeffect "; begin", ""()
  {instruction}
  call void asm sideeffect "; end", ""(){use}
  call void @llvm.amdgcn.s.waitcnt(i32 0)
"""


_REST = """
declare void @llvm.amdgcn.s.waitcnt(i32)

!0 = !{i32 1}
!1 = !{i32 5, i32 6}
"""


def llvm_sequences(
    points: Sequence[Point], chip: str, features: str, group: int = GROUP
) -> list[tuple[str, ...]]:
    """LLVM's sequence for each point, as ``normal_form`` tuples, from one module at -O0.

    ``group`` points stand in one function, with a wait for everything after each.
    """
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    by_space: dict[AddressSpace | None, list[int]] = {}
    for number, point in enumerate(points):
        by_space.setdefault(point.space, []).append(number)
    groups = [
        numbers[first : first + group]
        for numbers in by_space.values()
        for first in range(0, len(numbers), group)
    ]
    functions = (
        _function(index, [points[number] for number in numbers])
        for index, numbers in enumerate(groups)
    )
    module = llvm.parse_assembly(f'target triple = "{TRIPLE}"\n' + "".join(functions) + _REST)
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=chip, features=features, opt=0
    )
    found = split_points(machine.emit_assembly(module))
    in_order = (number for numbers in groups for number in numbers)
    return [sequence for _, sequence in sorted(zip(in_order, found, strict=True))]


def split_points(
    assembly: str, form: Callable[[Iterable[str]], Tokens] | None = None
) -> list[Tokens]:
    """The instructions between the markers of each point, in the order of the assembly.

    Each as ``form`` makes of its lines; by default ``normal_form``.
    """
    found: list[Tokens] = []
    for body in re.findall(r"; begin\n(.*?); end\n", assembly, flags=re.S):
        lines = (line.split(";")[0].strip() for line in body.splitlines())
        found.append((form or normal_form)(line for line in lines if line))
    return found


_SYNC_OR_MEMORY = re.compile(r"(global|flat|scratch|buffer|ds)_|s_waitcnt|s_barrier")
_BITS = frozenset({"sc0", "sc1", "nt", "glc", "slc"})


def normal_form(lines: Iterable[str]) -> tuple[str, ...]:
    """Memory, cache and wait instructions without registers; each counter a wait of its own."""
    tokens: list[str] = []
    for line in lines:
        if not _SYNC_OR_MEMORY.match(line):
            continue
        mnemonic, *rest = line.replace(",", " ").split()
        if mnemonic == "s_waitcnt":
            tokens += sorted(rest)
            continue
        tokens.append(" ".join([mnemonic, *(bit for bit in rest if bit in _BITS)]))
    return tuple(tokens)


def explain(
    differences: Iterable[LlvmDifference],
    columns: dict[str, object],
    ours: Tokens | None,
    llvms: Tokens,
) -> set[str]:
    """The names of the rows that explain the difference together; empty where they do not."""
    rows = [
        row
        for row in differences
        if all(columns[name] in values for name, values in row.where.items())
    ]
    if ours is None:
        return {row.name for row in rows if row.refused}
    added, removed = Counter(ours) - Counter(llvms), Counter(llvms) - Counter(ours)
    names: set[str] = set()
    if _common(ours, llvms) != _common(llvms, ours):
        moved = frozenset[str]().union(*(row.moved for row in rows))
        ours, llvms = (tuple(t for t in each if t not in moved) for each in (ours, llvms))
        if _common(ours, llvms) != _common(llvms, ours):
            return set()
        names |= {row.name for row in rows if row.moved}
    for token, where in (*((t, "added") for t in added), *((t, "removed") for t in removed)):
        reasons = {row.name for row in rows if token in getattr(row, where)}
        if not reasons:
            return set()
        names |= reasons
    return names


def _common(tokens: Tokens, others: Tokens) -> list[str]:
    """What both have, in the order it stands in the first."""
    left = Counter(tokens) & Counter(others)
    # A token that stands more often in the first is matched from its last occurrence backwards,
    # next to the access that it waits for.
    kept: list[str] = []
    for token in reversed(tokens):
        if left[token]:
            left[token] -= 1
            kept.append(token)
    return kept
