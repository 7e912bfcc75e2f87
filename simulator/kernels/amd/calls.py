"""Calls of AMD assembly: the bodies of called functions in the place of their calls.

A call by the ABI goes to an address that ``s_getpc_b64`` and an addition of ``name@rel32@lo`` make,
or that a load from ``name@gotpcrel32@lo`` gives, and returns by ``s[30:31]``. Source: LLVM
AMDGPUUsage, "Non-Kernel Functions".
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencewright.lowering.cdna.code.flow import CALLS, JUMPS, Flow, flow_of, is_return
from fencewright.lowering.cdna.code.flow import Step as CodeStep
from fencewright.lowering.cdna.code.operands.operands import effects_of
from fencewright.lowering.cdna.code.text import (
    AssemblyInstruction,
    AssemblyLabel,
    Function,
    Operand,
    Registers,
    read_instruction,
)
from fencewright.lowering.cdna.code.variables import SYMBOL
from fencewright.lowering.code.dataflow import entries
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.simulator.execution.launch import LaunchError

_Items = Iterator[AssemblyLabel | AssemblyInstruction]
_MOVES = frozenset({"s_mov_b64", "s_load_dwordx2", "s_load_b64"})
_SUMS = frozenset({"s_add_u32", "s_add_co_u32", "s_add_nc_u64"})
_MOST = 100_000
"""Instructions of a kernel with all that it calls."""


def with_calls(function: Function, functions: Mapping[str, Function]) -> Function:
    """A kernel with the bodies of the functions that it calls, each call with its own.

    A call of an unknown function stays as it is. Raises ``LaunchError`` at a recursion.
    """
    if not any(each.mnemonic in CALLS for each in function.instructions):
        return function
    return replace(function, body=tuple(_Inliner(functions).body(function, "", ())))


@dataclass(frozen=True, slots=True)
class _Symbols:
    """The functions whose addresses lie in pairs of registers, by the first of them."""

    known: Mapping[str, str]

    def join(self, other: "_Symbols") -> "_Symbols":
        """The knowledge common to both paths."""
        both = self.known.items() & other.known.items()
        return _Symbols(dict(both))


class _Inliner:
    """Appends bodies, with labels that are numbered by the call."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.changed = _changed_by(functions.values())
        self.calls = self.size = 0

    def body(self, function: Function, after: str, callers: tuple[str, ...]) -> _Items:
        """The instructions of a function; returns go to the label ``after``, "" in the kernel."""
        self.calls += 1
        suffix = f"$call{self.calls}" if after else ""
        labels = {each.name for each in function.body if isinstance(each, AssemblyLabel)}
        targets = _targets(flow_of(function), self.functions, self.changed)
        if after and function.name not in labels:
            # A jump to the function itself names it.
            labels.add(function.name)
            yield AssemblyLabel(f"{function.name}{suffix}", function.instructions[0].line)
        for each in function.body:
            if isinstance(each, AssemblyLabel):
                yield AssemblyLabel(f"{each.name}{suffix}", each.line)
                continue
            self.size += 1
            if self.size > _MOST:
                raise _refused(function, each, f"with what it calls it has over {_MOST} lines")
            target = targets.get(each.line)
            if target is not None:
                yield from self.call(function, each, target, after, callers)
            elif after and is_return(each):
                yield _jump(after, each)
            else:
                yield _renamed(each, labels, suffix) if suffix else each

    def call(
        self, function: Function, at: AssemblyInstruction, target: str, after: str,
        callers: tuple[str, ...],
    ) -> _Items:  # fmt: skip
        """The body of a called function, after which its caller goes on."""
        if target in (*callers, function.name):
            raise _refused(function, at, f"{target} calls itself")
        if at.mnemonic in JUMPS:
            yield from self.body(self.functions[target], after, (*callers, function.name))
            return
        returns = f".Lreturn$call{self.calls + 1}"
        # The address of the return is one that nothing but a return reads.
        yield read_instruction("s_mov_b64 s[30:31], 0", at.line, at.source)
        yield from self.body(self.functions[target], returns, (*callers, function.name))
        yield AssemblyLabel(returns, at.line)


def _refused(function: Function, at: AssemblyInstruction, reason: str) -> LaunchError:
    place = SourceLocation(function.file, at.line)
    return LaunchError(f"'{at.text}' is not executed: {reason}", place)


def _jump(label: str, at: AssemblyInstruction) -> AssemblyInstruction:
    return replace(read_instruction("s_branch x", at.line, at.source), operands=(label,))


def _renamed(
    instruction: AssemblyInstruction, labels: set[str], suffix: str
) -> AssemblyInstruction:
    """An instruction with the labels of its call."""
    if effects_of(instruction).kind not in (Kind.JUMP, Kind.BRANCH):
        return instruction

    def of(operand: Operand) -> Operand:
        is_label = isinstance(operand, str) and operand.strip('"') in labels
        return f"{str(operand).strip(chr(34))}{suffix}" if is_label else operand

    return replace(instruction, operands=tuple(map(of, instruction.operands)))


def _targets(
    flow: Flow, functions: Mapping[str, Function], changed: Collection[str]
) -> dict[int, str]:
    """The functions that calls and jumps out of a function go to, by the line.

    ``changed``: the registers that a called function may change.
    """

    def through(block: int, state: _Symbols) -> _Symbols:
        for step in flow.blocks[block].steps:
            state = _after(step, state, changed)
        return state

    found: dict[int, str] = {}
    for block, state in entries(flow.blocks, _Symbols({}), through).items():
        for step in flow.blocks[block].steps:
            name = state.known.get(_first(step.instruction.operands[-1:]), "")
            is_jump = step.instruction.mnemonic in (*CALLS, *JUMPS)
            if is_jump and name in functions and not functions[name].descriptor:
                found[step.instruction.line] = name
            state = _after(step, state, changed)
    return found


_SAVED = 32
"""The first of the scalar registers that a called function leaves as they were. Source: LLVM
AMDGPUUsage, "Non-Kernel Functions"."""


def _changed_by(functions: Iterable[Function]) -> frozenset[str]:
    """The registers that functions write and do not save, as those of each that may be called."""
    return frozenset(
        name
        for function in functions
        if not function.descriptor
        for block in flow_of(function).blocks
        for step in block.steps
        for name in step.effects.defines
        if re.fullmatch(r"s\d+", name) and int(name[1:]) < _SAVED
    )


def _first(operands: Sequence[Operand]) -> str:
    """The first register of an operand that is registers."""
    return operands[0].names[0] if operands and isinstance(operands[0], Registers) else ""


def _after(step: CodeStep, state: _Symbols, changed: Collection[str]) -> _Symbols:
    """The addresses of functions in registers after an instruction."""
    mnemonic, operands = step.instruction.mnemonic, step.instruction.operands
    words = [each for each in operands if isinstance(each, str)]
    named = next(filter(None, map(SYMBOL.fullmatch, words)), None)
    if named is not None and named["half"] == "hi":
        # The upper half of an address, which its lower half stands for.
        return state
    written = {*step.effects.defines, *(changed if mnemonic in CALLS else ())}
    known = {
        low: name
        for low, name in state.known.items()
        if low not in written and f"s{int(low[1:]) + 1}" not in written
    }
    to, source = _first(operands[:1]), _first(operands[1:2])
    if named is not None and mnemonic in _SUMS:
        known[to] = named["name"].strip('"')
    elif mnemonic in _MOVES and source in state.known:
        known[to] = state.known[source]
    return _Symbols(known)
