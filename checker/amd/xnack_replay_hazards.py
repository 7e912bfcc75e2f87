"""Registers that are overwritten while an access that reads them may have yet to be translated.

On chips that count translations an access may be replayed until its addresses are translated, and
then reads its registers again. A forward dataflow has those registers. Any wait ends it here, and
any other change of the program counter than falling through a conditional branch; hardware waits
between scalar and vector accesses. Source: LLVM 24 AMDGPUUsage, Memory Model GFX125x, xcnt;
llvm-project#160812,
#198823, #213394.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencewright.checker.findings.finding import Finding, Rule
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.flow import Block, Flow, Step
from fencewright.lowering.cdna.code.operands.operands import is_on_barrier
from fencewright.lowering.code.dataflow import entries
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.vocabulary import AddressSpace

_K = Kind
_ACCESSES = (_K.LOAD, _K.STORE, _K.RMW, _K.COPY)
_DRAINS = (_K.WAIT, _K.BARRIER, _K.SIGNAL, _K.CALL, _K.JUMP, _K.END, _K.OPAQUE)
_DRAIN_NAMES = frozenset({"s_get_pc_i64", "s_wait_alu", "s_wait_event", "s_waitcnt_depctr"})
_COPIES = (Counter.ASYNCCNT, Counter.TENSORCNT)
"""The counters of copies to and from LDS; LLVM 22 to 24 wait for no translations of those."""
_NOT_REPLAYED = ("exec", "vcc", "m0", "scc", "mode", "flat_scratch")


@dataclass(frozen=True, slots=True)
class _Pending:
    """By register the line of an access that reads it, and whether that is a scalar one."""

    reads: Mapping[str, tuple[int, bool]]

    def join(self, other: "_Pending") -> "_Pending":
        """The reads that may be pending on either path; one line of several is enough."""
        return _Pending({**other.reads, **self.reads})


_NOTHING = _Pending({})


def find_untranslated(flow: Flow) -> Iterator[Finding]:
    """Of each access the first register that is overwritten too early, in the order of the text."""
    if Counter.XCNT not in flow.chip.counters:
        return
    blocks = flow.blocks

    def through(number: int, pending: _Pending) -> _Pending:
        for step in blocks[number].steps:
            pending = _after(step, pending)
        return pending

    def along(number: int, target: int, pending: _Pending) -> _Pending:
        # A branch that is taken waits for all translations.
        return pending if target == number + 1 and not _is_left(blocks[number]) else _NOTHING

    yield from _found(flow, entries(blocks, _NOTHING, through, along))


def _found(flow: Flow, begin: Mapping[int, _Pending]) -> Iterator[Finding]:
    seen: set[int] = set()
    for number in sorted(begin):
        pending = begin[number]
        for step in flow.blocks[number].steps:
            for register in step.effects.defines if step.effects.unit is not None else ():
                line, _ = pending.reads.get(register, (0, False))
                if line and line not in seen:
                    seen.add(line)
                    text = (
                        f"{register} is overwritten while the access of line {line} that reads it "
                        "may be replayed: s_wait_xcnt 0x0 is missing"
                    )
                    yield Finding(step.instruction.line, Rule.TRANSLATION, text, about=(line,))
            pending = _after(step, pending)


def _is_left(block: Block) -> bool:
    """True if control never falls through its end."""
    return bool(block.steps) and block.steps[-1].effects.kind in (_K.JUMP, _K.END)


def _after(step: Step, pending: _Pending) -> _Pending:
    effects = step.effects
    name = step.instruction.mnemonic
    if effects.kind in _DRAINS or name in _DRAIN_NAMES or is_on_barrier(name):
        return _NOTHING
    is_copy = any(each.counter in _COPIES for each in effects.events)
    if effects.kind not in _ACCESSES or effects.space is AddressSpace.LOCAL or is_copy:
        return pending
    is_scalar = effects.space is AddressSpace.CONSTANT
    line = step.instruction.line
    left = {key: each for key, each in pending.reads.items() if each[1] is is_scalar}
    read = {
        register: (line, is_scalar)
        for register in effects.uses
        if not register.startswith(_NOT_REPLAYED) and register not in effects.defines
    }
    return _Pending({**left, **read})
