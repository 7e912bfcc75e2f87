"""What LLVM's own tables say that instructions define and use, as tests/data/cdna-operands has it."""

import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "cdna-operands"


def recorded(name: str) -> list[tuple[str, set[str], set[str]]]:
    """The instructions of a file, with the registers that each defines and uses."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()[1:]
    return [(t, _listed(d), _listed(u)) for t, d, u in (line.split("\t") for line in lines)]


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
