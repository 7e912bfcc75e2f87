"""Requests for single operations, each with the code that a chip needs for it.

They are in tests/data/requests: a line has a name and the arguments of ``lower``; the lines below it, its code.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import UnsupportedError

DATA = Path(__file__).parents[1] / "data" / "requests"

Request: TypeAlias = tuple[dict[str, Any], list[str]]
"""The arguments of ``lower``, and the code; or that there is none, and the reason."""


def read(path: Path) -> dict[str, Request]:
    """The requests of a file, by their names."""
    found: dict[str, Request] = {}
    code: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            code.append(line.strip())
        elif not line.startswith("#"):
            name, _, request = line.rpartition(": ")
            assert name not in found, name
            code = []
            found[name] = _asked(request.split()), code
    return found


def _asked(words: list[str]) -> dict[str, Any]:
    plain = [each for each in words if "=" not in each]
    places = ("target", "op", "ordering", "scope", "space")
    more = (each.split("=") for each in words if "=" in each)
    return dict(zip(places, plain, strict=False)) | {name: _value(text) for name, text in more}


def _value(text: str) -> object:
    """A word, a whole number, True or False, or several words in brackets."""
    if text.startswith("("):
        return tuple(text[1:-1].split(","))
    return {"True": True, "False": False}.get(text, int(text) if text.isdecimal() else text)


BY_FILE = {
    f"lowering/{vendor}/select.py": read(DATA / f"{vendor}.txt") for vendor in ("cdna", "ptx")
}
"""The requests that each file decides."""
ALL = {name: each for requests in BY_FILE.values() for name, each in requests.items()}
assert len(ALL) == sum(map(len, BY_FILE.values()))


@dataclass(frozen=True)
class RequestTrial:
    """One of the requests."""

    name: str

    is_fit = True

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}"

    def problem(self) -> str:
        """What there is now that should not be; empty if the code is right."""
        question, code = ALL[self.name]
        try:
            made = [each.text for each in lower(**question).instructions]
        except UnsupportedError as problem:
            made = [f"error: {problem}"]
        return "" if made == code else "; ".join(made) or "nothing"


PREFIX = "request: "


class StagedRequest:
    """A request that is lowered again and again; see ``pass_trials.Staged``."""

    is_cheap = True

    def __init__(self, trial: RequestTrial):
        self.trial = trial

    def again(self) -> tuple[str, int] | None:
        """What is wrong now, if anything."""
        problem = self.trial.problem()
        return (problem, 0) if problem else None


def staged(file: str) -> Iterator[StagedRequest]:
    """The requests for a file, if there are any."""
    for name in BY_FILE.get(file, ()):
        yield StagedRequest(RequestTrial(name))
