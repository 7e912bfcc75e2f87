"""The control-flow graph of a function of AMD assembly, with what each instruction does.

A function that returns by ``s[30:31]`` is called with anything outstanding (LLVM AMDGPUUsage,
"Non-Kernel Functions"); any other is where a wave starts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencewright.checker.cdna_family import InstructionKind
from fencewright.checker.cdna_operands import Effects, effects_of
from fencewright.checker.cdna_text import AssemblyInstruction, AssemblyLabel, Function, Registers
from fencewright.lowering.cdna.chips import CHIPS, GFX942, ChipRow, Generation

RETURN_ADDRESS = Registers(("s30", "s31"))

_ENDS = (InstructionKind.END, InstructionKind.JUMP, InstructionKind.BRANCH)


def is_return(instruction: AssemblyInstruction) -> bool:
    """Whether an instruction goes back to where its function was called."""
    is_jump = instruction.mnemonic in ("s_setpc_b64", "s_set_pc_i64")
    return is_jump and instruction.operands[:1] == (RETURN_ADDRESS,)


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction with its effects."""

    instruction: AssemblyInstruction
    effects: Effects

    @property
    def is_return(self) -> bool:
        """Whether it goes back to where the function was called."""
        return is_return(self.instruction)


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that run one after another, and the blocks that may run next."""

    steps: tuple[Step, ...]
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """A function's blocks, the first of which is where it begins; ``is_called``: not by launch."""

    function: Function
    blocks: tuple[Block, ...]
    is_called: bool
    chip: ChipRow


def flow_of(function: Function) -> Flow:
    """The control-flow graph; raises ``AssemblyError`` if the function goes on after its end."""
    chip = CHIPS.get(function.chip, GFX942)
    runs = list(_runs(function, chip.generation))
    of_label = {name: number for number, (labels, _) in enumerate(runs) for name in labels}
    blocks = tuple(
        Block(tuple(steps), tuple(_successors(function, number, runs, of_label)))
        for number, (_, steps) in enumerate(runs)
    )
    steps = [step for block in blocks for step in block.steps]
    is_called = not function.descriptor and any(step.is_return for step in steps)
    return Flow(function, blocks, is_called, chip)


_Run = tuple[list[str], list[Step]]


def _runs(function: Function, generation: Generation) -> Iterator[_Run]:
    """Labels, and the instructions from them to the next label or jump."""
    labels: list[str] = []
    steps: list[Step] = []
    for each in function.body:
        if isinstance(each, AssemblyLabel):
            if steps:
                yield labels, steps
                labels, steps = [], []
            labels.append(each.name)
            continue
        step = Step(each, effects_of(each.text, generation))
        steps.append(step)
        if step.effects.kind in _ENDS:
            yield labels, steps
            labels, steps = [], []
    if labels or steps:
        yield labels, steps


_LABEL = re.compile(r'"[^"]+"|\.?[\w$.]+')


def _successors(
    function: Function, number: int, runs: Sequence[_Run], of_label: dict[str, int]
) -> Iterator[int]:
    steps = runs[number][1]
    last = steps[-1] if steps else None
    kind = last.effects.kind if last else InstructionKind.NOTHING
    if kind is InstructionKind.END:
        return
    if kind in _ENDS and last is not None:
        operands = last.instruction.operands
        target = operands[0] if operands else ""
        if isinstance(target, str):
            target = target.strip('"')
            if target in of_label:
                yield of_label[target]
        elif not last.is_return:
            yield from _far_targets(steps, of_label)
    if kind is not InstructionKind.JUMP:
        if number + 1 < len(runs):
            yield number + 1
        elif last is not None and kind is not InstructionKind.CALL:
            # Nothing runs after a call that does not return, nor after a trap.
            if any(step.effects.kind is not InstructionKind.NOTHING for step in steps):
                raise function.error(last.instruction.line, "the function goes on after its end")


def _far_targets(steps: Sequence[Step], of_label: dict[str, int]) -> Iterator[int]:
    """Where ``s_setpc_b64`` goes by an address that the block adds to its own: a far branch."""
    words = {
        word
        for step in steps
        for operand in step.instruction.operands
        if isinstance(operand, str)
        for word in _LABEL.findall(operand)
    }
    yield from sorted(of_label[word] for word in words if word in of_label and "getpc" not in word)
