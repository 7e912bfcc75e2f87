"""LLVM IR instructions a second through ``lower_llvm_ir``."""

from pathlib import Path

import inputs
from harness import Result, rate

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

        def work(text: str = text, count: int = count) -> int:
            lower_llvm_ir(text, target="gfx942")
            return count

        rows.append((name, f"{count:,}", f"{rate(work, runs=3) / 1e3:.1f} k/s"))
    return [
        Result(
            "LLVM IR through `lower_llvm_ir`",
            ("module", "instructions", "instructions a second"),
            tuple(rows),
            "Text in, text out, gfx942: parsed and verified by LLVM, carried through xDSL.",
        )
    ]
