"""Target ids: a chip with the settings that code may be compiled for, as
``gfx942:sramecc+:xnack-``.

No setting changes what is emitted: sequences hold for memory with and without error correction,
and clauses are always such that they can be replayed. The assembly says what it was made for.
Source: LLVM AMDGPUUsage, Target ID and Clang Offload Bundler Target ID.
"""

from dataclasses import dataclass

from fencewright.lowering.sequence import UnsupportedError

SETTINGS = ("sramecc", "xnack")
"""In the order in which a target id has them; every chip here has both."""


@dataclass(frozen=True, slots=True)
class TargetId:
    """A chip, and its settings that are on or off; those left out may be either."""

    chip: str
    settings: tuple[tuple[str, bool], ...] = ()

    def __str__(self) -> str:
        return "".join((self.chip, *(f":{name}{'+' if on else '-'}" for name, on in self.settings)))


def parse_target_id(text: str) -> TargetId:
    """The target id that ``text`` is. Raises ``UnsupportedError``; the chip is not looked up."""
    chip, *words = text.split(":")
    found: dict[str, bool] = {}
    accepted = tuple(f"{name}{sign}" for name in SETTINGS for sign in "+-")
    for word in words:
        if word not in accepted:
            raise UnsupportedError(f"target {text}", f"unknown setting '{word}'", accepted)
        if word[:-1] in found:
            raise UnsupportedError(f"target {text}", f"{word[:-1]} is set twice")
        found[word[:-1]] = word.endswith("+")
    return TargetId(chip, tuple((name, found[name]) for name in SETTINGS if name in found))
