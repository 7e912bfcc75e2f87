"""The function that a call of AMD assembly goes to, and a function with its callees inlined.

An address is followed from the symbol that it is made of (``f@rel32@lo+4``) through copies, lanes
of vector registers, and the load of an entry of the global offset table. It is lost where a called
function may change its register. Source: LLVM AMDGPUUsage, "Relocation Records" and "Non-Kernel
Functions".
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fencewright.lowering.cdna.code.flow import (
    CALLS,
    JUMPS,
    Block,
    Flow,
    Step,
    flow_of,
    is_return,
)
from fencewright.lowering.cdna.code.text import (
    Assembly,
    AssemblyInstruction,
    AssemblyLabel,
    Function,
    Operand,
    Registers,
    read_instruction,
)
from fencewright.lowering.code.calls import Callee
from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.effects import Kind

_SYMBOL = re.compile(r'"?([\w$.]+)"?@(rel|abs|gotpcrel)(?:32@(?:lo|hi)|64)?(?:[+-]\d+)?')
_TABLE = "gotpcrel"
_COPIES = ("s_mov_b32", "s_mov_b64")
_LANES = ("v_writelane_b32", "v_readlane_b32")
_LABEL = re.compile(r"[\w$.]++(?!@)")
_SAVED = 32
"""The first of the scalar registers that a called function leaves as they were. Source: LLVM
AMDGPUUsage, "Non-Kernel Functions"."""

Symbols = dict[str, str]
"""By register, the function whose address, or half of it, is there.

Of the table's entry of a function the name ends in ``@``. A lane of a vector register is ``v3:0``.
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A call, or a jump to a function that returns for the one that jumps; ``name``: "" if
    unknown."""

    name: str
    is_jump: bool


def calls_of(flow: Flow, changed: Collection[str] = ()) -> dict[int, Call]:
    """The calls of a function by line, and the jumps to functions that are known.

    ``changed``: the registers that a called function may change.
    """
    leaves = (_leaves(block, step) for block in flow.blocks for step in block.steps)
    if flow.kinds.isdisjoint((Kind.CALL, Kind.JUMP)) or not any(leaves):
        return {}

    def transfer(number: int, entering: Symbols) -> Symbols:
        leaving = dict(entering)
        for step in flow.blocks[number].steps:
            _transfer(leaving, step, changed)
        return leaving

    # A register holds an address for certain if it is the same one on all paths.
    start: dict[int, Symbols] = {0: {}}
    entries = solve(
        flow.graph,
        start,
        transfer,
        lambda known, coming: dict(known.items() & coming.items()),
    )
    return {
        line: call
        for number, symbols in entries.items()
        for line, call in _calls_in(flow.blocks[number], symbols, changed)
    }


def _leaves(block: Block, step: Step) -> bool:
    """True of an instruction that leads out of its function."""
    is_jump = step.instruction.mnemonic in JUMPS and not block.successors
    return is_jump or step.effects.calls_outside


def _calls_in(
    block: Block, symbols: Symbols, changed: Collection[str]
) -> Iterator[tuple[int, Call]]:
    for step in block.steps:
        if _leaves(block, step):
            call = Call(_target(step, symbols), is_jump=not step.effects.calls_outside)
            if call.name or not call.is_jump:
                yield step.instruction.line, call
        _transfer(symbols, step, changed)


def _transfer(symbols: Symbols, step: Step, changed: Collection[str]) -> None:
    """Updates the registers' symbols after an instruction."""
    made = [*_made(symbols, step)]
    mnemonic = step.instruction.mnemonic
    for register in (*step.effects.defines, *(changed if mnemonic in CALLS else ())):
        symbols.pop(register, None)
        if register[0] == "v" and mnemonic not in _LANES:
            for lane in [each for each in symbols if each.startswith(f"{register}:")]:
                del symbols[lane]
    for register, name in made:
        symbols.pop(register, None)
        if name:
            symbols[register] = name


def _changed_by(functions: Iterable[Function]) -> frozenset[str]:
    """The scalar registers that functions write and do not save, of all that may be called."""
    return frozenset(
        name
        for function in functions
        if not function.descriptor
        for block in flow_of(function).blocks
        for step in block.steps
        for name in step.effects.defines
        if name[0] == "s" and name[1:].isdecimal() and int(name[1:]) < _SAVED
    )


def _made(symbols: Symbols, step: Step) -> Iterator[tuple[str, str]]:
    """The registers that an instruction copies or makes a function's address to, and its name."""
    mnemonic, operands = step.instruction.mnemonic, step.instruction.operands
    to, *of = operands or ("",)
    if not isinstance(to, Registers) or not of:
        return
    first = of[0]
    if mnemonic in _LANES and isinstance(first, Registers):
        a, b = (
            f"{each.names[0]}:{of[1]}" if _is_vector(each) else each.names[0]
            for each in (to, first)
        )
        yield a, symbols.get(b, "")
    elif mnemonic in _COPIES and isinstance(first, Registers):
        yield from ((a, symbols.get(b, "")) for a, b in zip(to.names, first.names, strict=True))
    elif step.effects.kind is Kind.LOAD and isinstance(first, Registers):
        name = _one_of(symbols, first)
        yield from ((each, name[:-1]) for each in to.names if name.endswith("@"))
    elif (symbol := next(filter(None, map(_symbol, of)), None)) is not None:
        name = f"{symbol[1]}@" if symbol[2] == _TABLE else symbol[1]
        yield from ((each, name) for each in to.names)


def _is_vector(registers: Registers) -> bool:
    return registers.names[0].startswith("v")


def _symbol(operand: Operand) -> re.Match[str] | None:
    return _SYMBOL.fullmatch(operand) if isinstance(operand, str) else None


def _one_of(symbols: Symbols, registers: Registers) -> str:
    """The function that all of some registers belong to the address of; empty if there is none."""
    names = {symbols.get(each, "") for each in registers.names}
    return names.pop() if len(names) == 1 else ""


def _target(step: Step, symbols: Symbols) -> str:
    """The function that a call or jump goes to: its last operand names it or has its address."""
    operands = step.instruction.operands
    last = operands[-1] if operands else ""
    if isinstance(last, Registers):
        name = _one_of(symbols, last)
        return "" if name.endswith("@") else name
    return last.strip('"') if isinstance(last, str) else ""


def callees(assembly: Assembly) -> frozenset[str]:
    """The functions of the file that others of it call."""
    return frozenset(
        call.name
        for function in assembly.functions.values()
        for call in calls_of(flow_of(function)).values()
        if call.name in assembly.functions and call.name != function.name
    )


def inlined(
    function: Function, functions: Mapping[str, Function], callee: Callee[Function]
) -> Function:
    """The function with its callees in the place of each call; instructions keep their lines.

    Raises what ``callee`` does.
    """
    if not calls_of(flow_of(function)):
        return function
    called = [each for each in functions.values() if each.name != function.name]
    inliner = _Inliner(callee, _changed_by(called))
    return replace(function, body=tuple(inliner.body(function, (function.name,), "", None)))


class _Inliner:
    def __init__(self, callee: Callee[Function], changed: Collection[str]):
        self.callee, self.changed = callee, changed
        self.known: dict[str, Mapping[int, Call]] = {}
        self.copies = self.instructions = 0

    def _calls(self, function: Function) -> Mapping[int, Call]:
        """The calls of a function, by line."""
        if function.name not in self.known:
            self.known[function.name] = calls_of(flow_of(function), self.changed)
        return self.known[function.name]

    def body(
        self, function: Function, path: tuple[str, ...], suffix: str, back: str | None
    ) -> Iterator[AssemblyLabel | AssemblyInstruction]:
        """A copy of a function: its labels end in ``suffix``, and it returns to ``back``.

        None: as it does; "": where its text ends.
        """
        calls = self._calls(function)
        labels = {each.name for each in function.body if isinstance(each, AssemblyLabel)}
        if suffix and function.name not in labels and _is_jumped_to(function):
            labels.add(function.name)
            yield AssemblyLabel(function.name + suffix, function.instructions[0].line)
        for each in function.body:
            if isinstance(each, AssemblyLabel):
                yield AssemblyLabel(each.name + suffix, each.line)
                continue
            self.instructions += 1
            call = calls.get(each.line)
            called = None
            if call is not None:
                called = self.callee(call.name, path, self.instructions, each.line, each.text)
            if call is None or called is None:
                if back != "" or not is_return(each):
                    yield _copied(each, labels, suffix, back)
                continue
            self.copies += 1
            own = f"${self.copies}"
            following = back if call.is_jump else self._after(called, own)
            if not call.is_jump:
                # The address of the return is one that nothing but a return reads.
                yield read_instruction("s_mov_b64 s[30:31], 0", each.line, each.source)
            yield from self.body(called, (*path, called.name), own, following)
            if following and not call.is_jump:
                yield AssemblyLabel(following, each.line)

    def _after(self, called: Function, own: str) -> str:
        """The label after a copy of the callee; none if it returns only where its text ends."""
        returns = [each for each in called.instructions if is_return(each)]
        jumps = any(each.is_jump for each in self._calls(called).values())
        return "" if returns == [called.body[-1]] and not jumps else f".Lreturn{own}"


def _is_jumped_to(function: Function) -> bool:
    """True of a function with a jump to its own first instruction."""
    return any(
        isinstance(operand, str) and function.name in _LABEL.findall(operand)
        for each in function.instructions
        for operand in each.operands
    )


def _copied(
    instruction: AssemblyInstruction, labels: Collection[str], suffix: str, back: str | None
) -> AssemblyInstruction:
    """An instruction of a copy: a return is a branch to ``back``, labels are the copy's own."""
    if back and is_return(instruction):
        text = f"s_branch {back}"
        return replace(instruction, mnemonic="s_branch", operands=(back,), modifiers=(), text=text)
    if not suffix:
        return instruction

    def own(word: re.Match[str]) -> str:
        return word[0] + suffix if word[0] in labels else word[0]

    words = (
        _LABEL.sub(own, each) if isinstance(each, str) else each for each in instruction.operands
    )
    return replace(instruction, operands=tuple(words))
