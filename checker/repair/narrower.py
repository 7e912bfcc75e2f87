"""Scopes of the system in AMD assembly that may be the agent's, where that keeps a proof.

An access, a write-back or an invalidate of the system becomes the agent's, or goes where the agent
needs none, in a kernel all of whose conflicts are proved to be ordered, as they are afterwards:
for partners that are its own threads, which is an assumption, and is said.
"""

from collections.abc import Callable, Iterator

from fencewright.checker.repair.amd import SCOPE_BITS, AmdCode, Part, code_of
from fencewright.checker.repair.edits import delete, replace
from fencewright.checker.repair.leaner import Step, is_kept
from fencewright.checker.repair.search import Judge, Judgement
from fencewright.lowering.cdna.caches import ACCESS_KINDS, Caches, Visibility, access_effect
from fencewright.lowering.cdna.code.operands.operands import effects_of
from fencewright.lowering.cdna.code.text import AssemblyInstruction, read_assembly
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.costs import cost_of_sequence
from fencewright.lowering.vocabulary import Scope

_AGENT, _SYSTEM = (Scope.AGENT,), (Scope.SYSTEM,)
_AT_SYSTEM, _AT_AGENT = "scope:SCOPE_SYS", "scope:SCOPE_DEV"
_RETURNS = frozenset({"sc0", "glc"})
"""Bits by which an atomic returns the old value. Source: MI300 ISA, load and store control."""


def narrower(text: Callable[[], str], file: str, judged: Judgement, judge: Judge) -> Iterator[Step]:
    """The steps that narrow scopes, each of the text that has those before it done.

    From the end of each function: so what is still to come stays at its line.
    """
    for name in read_assembly(text(), file).functions:
        code = code_of(read_assembly(text(), file).functions[name], text())
        for each in reversed(code.instructions):
            for new in _forms(code, each) if each.line in code.spots else ():
                step = _step(code, name, each, new)
                if is_kept(step, text(), judged.of(name), judge, needs_proof=True):
                    yield step
                    break


def _step(code: AmdCode, function: str, each: AssemblyInstruction, new: str) -> Step:
    spot, chip = code.spots[each.line], code.chip.name
    before, after = (cost_of_sequence(chip, filter(None, texts)) for texts in ([each.text], [new]))
    repair = (replace(spot, new) if new else delete(spot),)
    saved = before.amount - after.amount
    return Step(function, each.text, new, each.line, repair, saved, str(before.unit))


def _forms(code: AmdCode, each: AssemblyInstruction) -> Iterator[str]:
    """The texts of an instruction of the system at the agent; "" where that needs none."""
    kind = effects_of(each, code.chip.generation).kind
    if kind is Kind.CACHE:
        yield from _maintenance(code, each)
    elif kind in ACCESS_KINDS and _reaches(code, kind, each.modifiers, Visibility.SYSTEM):
        for bits in _weaker(kind, each.modifiers):
            if _reaches(code, kind, bits, Visibility.AGENT):
                yield each.with_modifiers(bits).text


def _maintenance(code: AmdCode, each: AssemblyInstruction) -> Iterator[str]:
    for part in (Part.WRITE_BACK, Part.INVALIDATE):
        own, others = (
            dict.fromkeys(line for lines in code.texts(part, scopes) for line in lines)
            for scopes in (_SYSTEM, _AGENT)
        )
        if each.text in own.keys() - others:
            same = (text for text in others if text.split()[0] == each.mnemonic)
            yield next(same, "")


def _weaker(kind: Kind, modifiers: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The modifiers of an access without one of the bits of its scope, or with the agent's."""
    for bit in modifiers:
        if bit == _AT_SYSTEM:
            yield tuple(_AT_AGENT if each == bit else each for each in modifiers)
        elif bit == "sc1" or (bit in _RETURNS and kind is not Kind.RMW):
            yield tuple(each for each in modifiers if each != bit)


def _reaches(code: AmdCode, kind: Kind, modifiers: tuple[str, ...], reach: Visibility) -> bool:
    """True of an access that neither stores short of a reach nor reads what is stale there."""
    bits = tuple(each for each in modifiers if each in SCOPE_BITS)
    effect = access_effect(code.chip.name, kind, bits)
    stale = Caches.ALL if reach is Visibility.SYSTEM else Caches.L1 | Caches.AGENT
    return (effect.stores is None or effect.stores >= reach) and not effect.reads & stale
