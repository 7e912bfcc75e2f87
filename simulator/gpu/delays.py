"""PTX with one side of a race held up: a loop before one instruction, in chosen threads.

The order that a race allows and that hardware seldom takes comes about if the access that came
first in an execution comes second. What is read by way of an L1 that has the line already is stale
in addition, so that an early read may put it there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import FastStrEnum

CYCLES = 200_000
"""The cycles that a side is held up, many times the distance of the starts of a launch's blocks."""


class Reach(FastStrEnum):
    """The threads that are held up: of a block, of a warp in every block, or lanes of a warp."""

    BLOCK = "block"
    WARP = "warp"
    LANE = "lane"


@dataclass(frozen=True, slots=True)
class Delay:
    """A loop before the instruction of a number, for threads by their place in the launch.

    ``block``: of the grid, for a reach of a block; ``thread``: of the block, for the others.
    """

    instruction: int
    reach: Reach
    block: int
    thread: int


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """A read of a word of an argument by a block, when it begins."""

    parameter: str
    offset: int
    block: int


def delayed(
    file: PtxFile, function: PtxFunction, delay: Delay | None, early: EarlyRead | None = None
) -> str:
    """The text of a file with a delay and an early read in one of its functions."""
    instructions = list(function.instructions)
    edits: list[tuple[int, int, int, str]] = []
    starts = [0]
    for line in file.text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def place(each: PtxInstruction) -> int:
        return starts[each.line - 1] + each.column - 1

    if early is not None:
        at = place(instructions[0])
        edits.append((at, 0, at, _early_read(early)))
    if delay is not None:
        (held,) = (each for each in instructions if each.number == delay.instruction)
        at = place(held)
        end = file.text.index(";", at) + 1
        if delay.reach is Reach.LANE:
            edits.append((at, 1, end, _apart(delay, file.text[at:end])))
        else:
            edits.append((at, 1, at, _before(delay)))
    text = file.text
    # From the end on; at one place the early read comes before the delay.
    for at, _, end, new in sorted(edits, reverse=True):
        text = text[:at] + new + text[end:]
    return text


def twin_of(
    function: PtxFunction, instruction: PtxInstruction, twin: PtxFunction
) -> PtxInstruction | None:
    """The instruction of a twin that does the same: of the same text, else of the same kind and
    address, and as many of them before it."""
    keys = (_text, _access)
    for key in keys:
        own = [each.number for each in function.instructions if key(each) == key(instruction)]
        others = [each for each in twin.instructions if key(each) == key(instruction)]
        at = own.index(instruction.number)
        if at < len(others):
            return others[at]
    return None


def _text(each: PtxInstruction) -> object:
    return each.text


def _access(each: PtxInstruction) -> object:
    addresses = [operand for operand in each.statement.operands if operand.startswith("[")]
    return each.statement.kind, tuple(addresses) or each.text


def _linear(index: str, size: str, register: str) -> Iterator[str]:
    """The place of a thread in its block or of a block in the grid, in a register."""
    other = f"{register}9"
    yield f"mov.u32 {register}, %{index}.z;"
    for dimension in "yx":
        yield f"mov.u32 {other}, %{size}.{dimension}; mov.u32 {register}8, %{index}.{dimension};"
        yield f"mad.lo.u32 {register}, {register}, {other}, {register}8;"


_REGISTERS = (
    ".reg .pred %fence_p; .reg .b32 %fence_r, %fence_r8, %fence_r9; .reg .b64 %fence_d, %fence_e;"
)
_PLACES: Mapping[Reach, tuple[str, str, int]] = {
    Reach.BLOCK: ("ctaid", "nctaid", 0),
    Reach.WARP: ("tid", "ntid", 5),
    Reach.LANE: ("tid", "ntid", 0),
}
"""The index that distinguishes the threads of a reach, its sizes, and its ignored bits."""


def _skipped(delay: Delay, label: str) -> Iterator[str]:
    """A jump of all threads that are not held up."""
    index, size, shift = _PLACES[delay.reach]
    yield from _linear(index, size, "%fence_r")
    number = delay.block if delay.reach is Reach.BLOCK else delay.thread
    if shift:
        yield f"shr.u32 %fence_r, %fence_r, {shift};"
    yield f"setp.ne.u32 %fence_p, %fence_r, {number >> shift}; @%fence_p bra {label};"


def _spin() -> Iterator[str]:
    yield "mov.u64 %fence_d, %clock64;"
    yield "$fence_spin: mov.u64 %fence_e, %clock64; sub.s64 %fence_e, %fence_e, %fence_d;"
    yield f"setp.lt.s64 %fence_p, %fence_e, {CYCLES}; @%fence_p bra $fence_spin;"


def _scope(*parts: str) -> str:
    """A scope of its own, whose labels and registers are no others'."""
    return " ".join(("{", _REGISTERS, *parts, "}\n"))


_ON = "$fence_on: mov.u32 %fence_r, 0;"


def _before(delay: Delay) -> str:
    return _scope(*_skipped(delay, "$fence_on"), *_spin(), _ON)


def _apart(delay: Delay, access: str) -> str:
    """One lane held up in a branch of its own, where it repeats the steps of the others."""
    return _scope(
        *_skipped(delay, "$fence_others"),
        *_spin(),
        f"{access} bra $fence_on;",
        f"$fence_others: {access}",
        _ON,
    )


def _early_read(early: EarlyRead) -> str:
    block = Delay(0, Reach.BLOCK, early.block, 0)
    at = f"[%fence_d+{early.offset & ~3}]"
    return _scope(
        *_skipped(block, "$fence_on"),
        f"ld.param.u64 %fence_d, [{early.parameter}]; cvta.to.global.u64 %fence_d, %fence_d;",
        f"ld.global.ca.u32 %fence_r, {at}; setp.eq.u32 %fence_p, %fence_r, 0x5eed5eed;",
        # It is never so, but then the read is needed.
        f"@%fence_p st.global.u32 {at}, %fence_r;",
        _ON,
    )
