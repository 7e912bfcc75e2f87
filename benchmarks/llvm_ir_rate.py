"""LLVM IR instructions a second through ``lower_llvm_ir``."""

from functools import partial
from pathlib import Path
from typing import Literal

import inputs
from harness import Result, rate

LEVELS: tuple[Literal[0, 2], ...] = (0, 2)
_TRITON = sorted((Path(__file__).parent.parent / "tests" / "data" / "triton").glob("*.ll"))


def _instructions(text: str) -> int:
    return sum(line.startswith("  ") for line in text.splitlines())


def results() -> list[Result]:
    """The rate for made and for real modules."""
    from fencewright import lower_llvm_ir

    cases = [
        ("10,000 scoped operations", inputs.llvm_ir(10_000, 10)),
        *((path.name, path.read_text()) for path in _TRITON),
    ]
    rows: list[tuple[str, ...]] = []
    for name, text in cases:
        count = _instructions(text)

        def work(level: Literal[0, 2], text: str = text, count: int = count) -> int:
            lower_llvm_ir(text, target="gfx942", opt_level=level)
            return count

        rates = [rate(partial(work, level), runs=3) for level in LEVELS]
        rows.append((name, f"{count:,}", *(f"{each / 1e3:.1f} k/s" for each in rates)))
    return [
        Result(
            "LLVM IR through `lower_llvm_ir`",
            ("module", "instructions", *(f"instructions a second, -O{each}" for each in LEVELS)),
            tuple(rows),
            "Text in, text out, gfx942: parsed and verified by LLVM, carried through xDSL. -O2, "
            "the default, also solves what each write-back, invalidate and wait is for.",
        )
    ]
