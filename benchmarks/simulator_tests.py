"""Litmus tests of scoped operations as text, for the simulator's benchmarks."""

from collections.abc import Sequence

Step = tuple[str, str]
"""``W x`` writes 1 to x, ``R x`` reads it."""


def _thread(number: int, steps: Sequence[Step]) -> list[str]:
    lines = [f"  litmus.thread @P{number} at <workgroup = {number}, xcd = {number}> {{"]
    lines += (
        f"    %{name} = litmus.address @{name} : !llvm.ptr<1>"
        for name in sorted({name for _, name in steps})
    )
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
        "WRC", ["W x", "R x; W y", "R y; R x"], "~exists (P1:r0 = 1 and P2:r0 = 1 and P2:r1 = 0)"
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

# Tests whose threads have many runs

_TICKET = """\
func.func @add_under_lock(%next: !llvm.ptr<1>, %serving: !llvm.ptr<1>, %data: !llvm.ptr<1>)
    attributes {{gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>}} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rounds = arith.constant {rounds} : i32
  cf.br ^round(%zero : i32)
^round(%round: i32):
  %ticket = scoped.atomic_rmw add relaxed agent %next, %one : !llvm.ptr<1>, i32
  cf.br ^spin
^spin:
  %served = scoped.load relaxed agent %serving : !llvm.ptr<1> -> i32
  %wait = arith.cmpi ne, %served, %ticket : i32
  cf.cond_br %wait, ^spin, ^acquire
^acquire:
  scoped.fence acquire agent
  %old = scoped.load weak %data : !llvm.ptr<1> -> i32
  %new = arith.addi %old, %one : i32
  scoped.store weak %new, %data : i32, !llvm.ptr<1>
  %after = arith.addi %ticket, %one : i32
  scoped.store release agent %after, %serving : i32, !llvm.ptr<1>
  %following = arith.addi %round, %one : i32
  %more = arith.cmpi ne, %following, %rounds : i32
  cf.cond_br %more, ^round(%following : i32), ^end
^end:
  func.return
}}
"""

_GRID = """\
func.func @meet(%count: !llvm.ptr<1>, %mine: !llvm.ptr<1>, %other: !llvm.ptr<1>, %seen: !llvm.ptr<1>)
    attributes {{gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>}} {{
  %one = arith.constant 1 : i32
  %all = arith.constant {threads} : i32
  scoped.store weak %one, %mine : i32, !llvm.ptr<1>
  %arrived = scoped.atomic_rmw add release agent %count, %one : !llvm.ptr<1>, i32
  cf.br ^spin
^spin:
  %here = scoped.load relaxed agent %count : !llvm.ptr<1> -> i32
  %wait = arith.cmpi ne, %here, %all : i32
  cf.cond_br %wait, ^spin, ^acquire
^acquire:
  scoped.fence acquire agent
  %value = scoped.load weak %other : !llvm.ptr<1> -> i32
  scoped.store weak %value, %seen : i32, !llvm.ptr<1>
  func.return
}}
"""


def _running(
    name: str, threads: int, arguments: Sequence[Sequence[str]], condition: str, kernel: str
) -> str:
    """A test whose threads, each on an XCD of its own, run one kernel."""
    function = kernel.partition("@")[2].partition("(")[0]
    lines = [f"litmus.test @{name} {{"]
    lines += [
        f"  litmus.location @{place} = 0 : i32"
        for place in sorted({each for thread in arguments for each in thread})
    ]
    for number in range(threads):
        passed = ", ".join(f"@{each}" for each in arguments[number])
        lines.append(
            f"  litmus.thread @P{number} at <workgroup = {number}, xcd = {number}> "
            f"runs @{function}({passed})"
        )
    return "\n".join([*lines, f'  litmus.condition "{condition}"', "}", "", kernel])


def ticket_lock(threads: int, rounds: int) -> str:
    """``threads`` add 1 to a word ``rounds`` times each, under a ticket lock."""
    total, places = threads * rounds, ("next", "serving", "data")
    return _running(
        f"ticket{threads}x{rounds}",
        threads,
        [places] * threads,
        f"forall (data = {total} and serving = {total})",
        _TICKET.format(rounds=rounds),
    )


def grid_barrier(threads: int) -> str:
    """Each of ``threads`` writes a word, waits until all are there, and reads the next one's."""
    arguments = [("count", f"x{n}", f"x{(n + 1) % threads}", f"seen{n}") for n in range(threads)]
    seen = " and ".join(f"seen{n} = 1" for n in range(threads))
    return _running(
        f"grid{threads}", threads, arguments, f"forall ({seen})", _GRID.format(threads=threads)
    )


def storing(threads: int) -> str:
    """``threads`` store to one location, each a value of its own."""
    lines = [f"litmus.test @storing{threads} {{", "  litmus.location @x = 0 : i32"]
    for number in range(threads):
        lines += [
            f"  litmus.thread @P{number} at <workgroup = {number}, xcd = {number}> {{",
            "    %x = litmus.address @x : !llvm.ptr<1>",
            f"    %value = arith.constant {number + 1} : i32",
            "    scoped.store relaxed agent %value, %x : i32, !llvm.ptr<1>",
            "  }",
        ]
    return "\n".join([*lines, '  litmus.condition "~exists (x = 0)"', "}", ""])


MANY_RUNS = {
    "ticket lock, 2 threads x 2 rounds": ticket_lock(2, 2),
    "ticket lock, 4 x 1": ticket_lock(4, 1),
    "ticket lock, 3 x 2": ticket_lock(3, 2),
    "grid barrier of 4": grid_barrier(4),
    "grid barrier of 6": grid_barrier(6),
    "7 threads store to a word": storing(7),
    "12 threads store to a word": storing(12),
    "SB8": ring(8),
}
