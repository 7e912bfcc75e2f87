"""What LLVM's own tables say that instructions define and use, as tests/data/cdna-operands has it."""

import re
from collections.abc import Container, Iterable
from pathlib import Path

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands.operands import effects_of
from fencewright.lowering.cdna.code.text import read_instruction
from fencewright.lowering.code.effects import Kind

FOLDER = Path(__file__).parents[1] / "data" / "cdna-operands"


def recorded(name: str) -> list[tuple[str, set[str], set[str]]]:
    """The instructions of a file, with the registers that each defines and uses."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()[1:]
    return [(t, _listed(d), _listed(u)) for t, d, u in (line.split("\t") for line in lines)]


def differing(name: str, generation: Generation, unknown: Container[str] = ()) -> list[str]:
    """The instructions of a file of which rows say otherwise than LLVM; ``unknown`` ones left out."""
    found: list[str] = []
    for text, defines, uses in recorded(name):
        effects = effects_of(read_instruction(text, 1), generation)
        if text.split()[0] not in unknown and (
            (set(effects.defines), set(effects.uses)) != (defines, uses)
        ):
            found.append(text)
    return found


def opaque(name: str, generation: Generation) -> set[str]:
    """The mnemonics of a file that have no row."""
    return {text.split()[0] for text, _, _ in recorded(name) if is_opaque(text, generation)}


def is_opaque(text: str, generation: Generation) -> bool:
    """True of an instruction without a row."""
    return effects_of(read_instruction(text, 1), generation).kind is Kind.OPAQUE


def kind_and_counters(text: str, generation: Generation) -> tuple[str, str]:
    """The kind of an instruction, or its unit, and the counters that it is in."""
    effects = effects_of(read_instruction(text, 1), generation)
    counters = sorted(str(event.counter) for event in effects.events)
    return str(effects.unit or effects.kind), " ".join(counters)


def reason(text: str, differences: Iterable[tuple[str, str]]) -> str | None:
    """Why rows and LLVM differ on an instruction, by the first of the ``differences`` it begins as."""
    return next((why for start, why in differences if re.match(start, text)), None)


def _listed(text: str) -> set[str]:
    """The registers of ``v0:3 vcc_lo``."""
    names = set[str]()
    for word in text.split():
        found = re.fullmatch(r"([a-z]+)(\d+):(\d+)", word)
        if found is None:
            names.add(word)
        else:
            names |= {f"{found[1]}{n}" for n in range(int(found[2]), int(found[3]) + 1)}
    return names
