"""Litmus tests of scoped operations as text, for the simulator's benchmarks."""

from collections.abc import Sequence

Step = tuple[str, str]
"""``W x`` writes 1 to x, ``R x`` reads it."""


def _thread(number: int, steps: Sequence[Step]) -> list[str]:
    lines = [f"  litmus.thread @P{number} at <workgroup = {number}, xcd = {number}> {{"]
    for name in sorted({name for _, name in steps}):
        lines.append(f"    %{name} = litmus.address @{name} : !llvm.ptr<1>")
    lines.append("    %one = arith.constant 1 : i32")
    for place, (kind, name) in enumerate(steps):
        if place:
            lines.append("    scoped.fence seq_cst agent")
        if kind == "W":
            lines.append(f"    scoped.store relaxed agent %one, %{name} : i32, !llvm.ptr<1>")
        else:
            lines.append(f"    %r{place} = scoped.load relaxed agent %{name} : !llvm.ptr<1> -> i32")
            lines.append(f'    litmus.observe "r{place}", %r{place} : i32')
    return [*lines, "  }"]


def with_fences(name: str, threads: Sequence[str], condition: str) -> str:
    """A test with a seq_cst fence between the accesses of each thread, as ``W x; R y``.

    Every thread is a work-group on an XCD of its own.
    """
    steps = [
        [(kind, place) for kind, place in (each.split() for each in thread.split(";"))]
        for thread in threads
    ]
    places = sorted({place for thread in steps for _, place in thread})
    lines = [f"litmus.test @{name} {{"]
    lines += [f"  litmus.location @{place} = 0 : i32" for place in places]
    for number, thread in enumerate(steps):
        lines += _thread(number, thread)
    return "\n".join([*lines, f'  litmus.condition "{condition}"', "}", ""])


def ring(threads: int) -> str:
    """Store buffering around a ring of ``threads``."""
    steps = [f"W x{n}; R x{(n + 1) % threads}" for n in range(threads)]
    unseen = " and ".join(f"P{n}:r1 = 0" for n in range(threads))
    return with_fences(f"SB{threads}", steps, f"~exists ({unseen})")


FENCED = {
    "MP": with_fences("MP", ["W x; W y", "R y; R x"], "~exists (P1:r0 = 1 and P1:r1 = 0)"),
    "SB": with_fences("SB", ["W x; R y", "W y; R x"], "~exists (P0:r1 = 0 and P1:r1 = 0)"),
    "WRC": with_fences(
        "WRC",
        ["W x", "R x; W y", "R y; R x"],
        "~exists (P1:r0 = 1 and P2:r0 = 1 and P2:r1 = 0)",
    ),
    "ISA2": with_fences(
        "ISA2",
        ["W x; W y", "R y; W z", "R z; R x"],
        "~exists (P1:r0 = 1 and P2:r0 = 1 and P2:r1 = 0)",
    ),
    "IRIW": with_fences(
        "IRIW",
        ["W x", "W y", "R x; R y", "R y; R x"],
        "~exists (P2:r0 = 1 and P2:r1 = 0 and P3:r0 = 1 and P3:r1 = 0)",
    ),
    "SB4": ring(4),
    "SB6": ring(6),
}
"""Shapes of herd7's catalogue by name, with seq_cst fences; all forbid what they ask for."""
