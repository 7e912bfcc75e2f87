"""The control-flow graph of a function of AMD assembly, with the effects of each instruction.

A function that returns by ``s[30:31]`` is called with anything outstanding (LLVM AMDGPUUsage,
"Non-Kernel Functions"); any other is where a wave starts.

Hand-written code has subroutines of its own, which return by other registers and wait for what they
like. A call of one may go to every label whose address the function takes, and goes on after
the call as if nothing had been there: what a subroutine leaves in flight is not followed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fencewright.lowering.cdna.chips import GFX942, KNOWN_CHIPS, ChipRow, Generation
from fencewright.lowering.cdna.code.operands.operands import Effects, effects_by_text, effects_of
from fencewright.lowering.cdna.code.operands.vector.msbs import (
    SETS_MSBS,
    mode_of,
    with_whole_numbers,
)
from fencewright.lowering.cdna.code.text import (
    AssemblyInstruction,
    AssemblyLabel,
    Function,
    Registers,
    read_instruction,
)
from fencewright.lowering.code.dataflow import entries
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph, graph_of
from fencewright.lowering.code.records import record
from fencewright.lowering.vocabulary import AddressSpace

RETURN_ADDRESS = Registers(("s30", "s31"))

_ENDS = frozenset({Kind.END, Kind.JUMP, Kind.BRANCH})
CALLS = ("s_swappc_b64", "s_swap_pc_i64")
"""The calls by an address in registers."""
JUMPS = ("s_setpc_b64", "s_set_pc_i64")
"""The jumps to an address in registers."""


def is_return(instruction: AssemblyInstruction) -> bool:
    """True if an instruction returns from a function."""
    is_jump = instruction.mnemonic in JUMPS
    return is_jump and instruction.operands[:1] == (RETURN_ADDRESS,)


@record()
class Step:
    """An instruction with its effects."""

    instruction: AssemblyInstruction
    effects: Effects

    @property
    def ends_block(self) -> bool:
        """True if a block other than the next of the text may follow."""
        return self.effects.kind in _ENDS or self.effects.is_subroutine

    @property
    def is_return(self) -> bool:
        """True if it returns from a function."""
        return self.instruction.mnemonic in JUMPS and is_return(self.instruction)

    @property
    def is_way_out(self) -> bool:
        """True of a jump by a register that leaves the function."""
        return self.effects.kind is Kind.END and self.instruction.mnemonic in JUMPS


@record()
class Block:
    """Instructions that run one after another, and the blocks that may run next."""

    steps: tuple[Step, ...]
    successors: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Flow:
    """A function's blocks, the first of which is where it begins; ``is_called``: not by launch.

    Each is itself alone, so that analyses of it are remembered by it.
    """

    function: Function
    blocks: tuple[Block, ...]
    is_called: bool
    chip: ChipRow
    effects: tuple[Effects, ...] = field(init=False, repr=False)
    """Those of its instructions, in the order of the text; of equal ones the first."""
    kinds: frozenset[Kind] = field(init=False, repr=False)
    """The kinds of its instructions: most analyses are about some that few functions have."""

    def __post_init__(self) -> None:
        effects = {id(step.effects): step.effects for each in self.blocks for step in each.steps}
        object.__setattr__(self, "effects", tuple(effects.values()))
        object.__setattr__(self, "kinds", frozenset(each.kind for each in self.effects))

    @property
    def is_forward(self) -> bool:
        """True where control only goes on to blocks that are further on in the text."""
        return all(n < each for n, own in enumerate(self.blocks) for each in own.successors)

    @cached_property
    def graph(self) -> Graph[int]:
        """The graph of its blocks, one for all analyses."""
        return graph_of(self.blocks)


def flow_of(function: Function) -> Flow:
    """The control-flow graph; raises ``AssemblyError`` if the function goes on after its end."""
    chip = KNOWN_CHIPS.get(function.chip, GFX942)
    runs = list(_runs(function, chip.generation))
    of_label = {name: number for number, (labels, _) in enumerate(runs) for name in labels}
    steps = [step for _, each in runs for step in each]
    subroutines: list[int] = []
    has_calls = not function.mnemonics.isdisjoint(CALLS)
    if has_calls and any(step.effects.is_subroutine for step in steps):
        values = [step for _, each in runs if not _jumps_far(each) for step in each]
        subroutines = _named_in([step for step in values if not step.ends_block], of_label)
    blocks = [
        Block(tuple(steps), tuple(_successors(function, number, runs, of_label, subroutines)))
        for number, (_, steps) in enumerate(runs)
    ]
    if _begins_twice(runs):
        blocks = [Block((), (1, 2)), *(_moved(block) for block in blocks)]
    if SETS_MSBS in function.mnemonics:
        blocks = _with_whole_numbers(function, blocks, chip.generation)
    has_jumps = not function.mnemonics.isdisjoint(JUMPS)
    is_called = has_jumps and not function.descriptor and any(step.is_return for step in steps)
    return Flow(function, tuple(blocks), is_called, chip)


_Run = tuple[list[str], list[Step]]

_PROLOGUE = (Kind.LOAD, Kind.WAIT)


def _begins_twice(runs: Sequence[_Run]) -> bool:
    """True if hardware that preloads arguments begins after a prologue that loads them itself.

    That jumps over the other beginning, which has no label. Source: LLVM AMDGPUUsage, "Preloaded
    Kernel Arguments".
    """
    if len(runs) < 3 or runs[1][0] or not runs[0][1]:
        return False
    *prologue, last = runs[0][1]
    loaded = {step.effects.space for step in prologue if step.effects.kind is Kind.LOAD}
    return (
        last.instruction.mnemonic == "s_branch"
        and loaded == {AddressSpace.CONSTANT}
        and all(step.effects.kind in _PROLOGUE or step.effects.is_idle for step in prologue)
    )


def _moved(block: Block) -> Block:
    """The block with one more before it."""
    return Block(block.steps, tuple(each + 1 for each in block.successors))


def _runs(function: Function, generation: Generation) -> Iterator[_Run]:
    """Labels, and the instructions from them to the next label or jump."""
    labels: list[str] = []
    steps: list[Step] = []
    has_calls = not function.mnemonics.isdisjoint(CALLS)
    returns = {
        each.operands[0]
        for each in (function.instructions if has_calls else ())
        if each.mnemonic in CALLS and each.operands and each.operands[0] != RETURN_ADDRESS
    }
    known = effects_by_text(generation)
    for each in function.body:
        if isinstance(each, AssemblyLabel):
            if steps:
                yield labels, steps
                labels, steps = [], []
            labels.append(each.name)
            continue
        step = Step(each, known.get(each.text) or effects_of(each, generation))
        if returns and each.operands and each.operands[0] in returns:
            step = _of_subroutine(step, steps)
        steps.append(step)
        if step.ends_block:
            yield labels, steps
            labels, steps = [], []
    if labels or steps:
        yield labels, steps


def _of_subroutine(step: Step, before: Sequence[Step]) -> Step:
    """A step on the register by which subroutines return, after those of its block."""
    (address, *_), mnemonic = step.instruction.operands, step.instruction.mnemonic
    if mnemonic in CALLS:
        return replace(step, effects=replace(step.effects, is_subroutine=True))
    if mnemonic in JUMPS and isinstance(address, Registers):
        defined = {name for each in before for name in each.effects.defines}
        # An address that the block computes itself makes a far branch.
        if defined.isdisjoint(address.names):
            return replace(step, effects=replace(step.effects, kind=Kind.END))
    return step


_LABEL = re.compile(r'"[^"]+"|\.?[\w$.]+')


def _successors(
    function: Function,
    number: int,
    runs: Sequence[_Run],
    of_label: Mapping[str, int],
    subroutines: Sequence[int],
) -> Iterator[int]:
    steps = runs[number][1]
    last = steps[-1] if steps else None
    kind = last.effects.kind if last else Kind.COMPUTE
    if kind is Kind.END:
        return
    if last is not None and last.effects.is_subroutine:
        yield from subroutines
    elif kind in _ENDS and last is not None:
        operands = last.instruction.operands
        target = operands[0] if operands else ""
        if isinstance(target, str):
            target = target.strip('"')
            if target in of_label:
                yield of_label[target]
            elif target == function.name:
                yield 0
        elif not last.is_return:
            # An address that the block adds to its own: a far branch.
            yield from _named_in(steps, of_label)
    if kind is not Kind.JUMP:
        if number + 1 < len(runs):
            yield number + 1
        elif last is not None and kind is not Kind.CALL:
            # Nothing runs after a call that does not return, after a trap, nor where none gets.
            nothing = all(step.effects.is_idle for step in steps)
            ends = function.is_whole or last.instruction.mnemonic == "s_trap"
            if not ends and not nothing:
                raise function.error(last.instruction.line, "the function goes on after its end")


@dataclass(frozen=True, slots=True)
class _Modes:
    """The upper bits of vector registers that some path has set."""

    found: frozenset[int]

    def join(self, other: "_Modes") -> "_Modes":
        """The modes of either path."""
        return _Modes(self.found | other.found)


_NO_UPPER_BITS = _Modes(frozenset({0}))
"""The mode at the begin and at the return of a function (LLVM AMDGPULowerVGPREncoding)."""


def _with_whole_numbers(
    function: Function, blocks: Sequence[Block], generation: Generation
) -> list[Block]:
    """The blocks with whole numbers of vector registers in place of their low bits.

    Raises ``AssemblyError`` at a vector register whose upper bits depend on the path, and where
    they are set to what is no number.
    """
    for each in (step.instruction for block in blocks for step in block.steps):
        if each.mnemonic == SETS_MSBS and not isinstance((*each.operands, "")[0], int):
            raise function.error(
                each.line, f"the upper bits of registers are no number: {each.text}"
            )
    begins = entries(blocks, _NO_UPPER_BITS, lambda n, modes: _modes_after(blocks[n].steps, modes))
    whole: list[Block] = []
    for number, block in enumerate(blocks):
        modes = begins.get(number, _NO_UPPER_BITS)
        steps: list[Step] = []
        for step in block.steps:
            steps.append(_with_whole_number(function, step, modes, generation))
            modes = _modes_after((step,), modes)
        whole.append(replace(block, steps=tuple(steps)))
    return whole


def _modes_after(steps: Sequence[Step], modes: _Modes) -> _Modes:
    for step in steps:
        instruction = step.instruction
        if step.effects.calls_outside:
            modes = _NO_UPPER_BITS
        elif instruction.mnemonic == SETS_MSBS and isinstance(instruction.operands[0], int):
            modes = _Modes(frozenset({mode_of(instruction.operands[0])}))
    return modes


def _with_whole_number(
    function: Function, step: Step, modes: _Modes, generation: Generation
) -> Step:
    instruction = step.instruction
    texts = {with_whole_numbers(instruction.text, mode, generation) for mode in modes.found}
    if len(texts) > 1:
        problem = f"the upper bits of a vector register depend on the path: {instruction.text}"
        raise function.error(instruction.line, problem)
    (text,) = texts
    if text == instruction.text:
        return step
    whole = read_instruction(text, instruction.line, instruction.source)
    return Step(whole, effects_of(whole, generation))


def _jumps_far(steps: Sequence[Step]) -> bool:
    """True if a block ends in a jump to an address that it computes itself."""
    return bool(steps) and steps[-1].instruction.mnemonic in JUMPS


def _named_in(steps: Sequence[Step], of_label: Mapping[str, int]) -> list[int]:
    """The blocks whose labels stand in an expression of one of the steps, as its operand."""
    words = {
        word
        for step in steps
        for operand in step.instruction.operands
        if isinstance(operand, str)
        for word in _LABEL.findall(operand)
    }
    return sorted({of_label[word] for word in words if word in of_label and "getpc" not in word})
