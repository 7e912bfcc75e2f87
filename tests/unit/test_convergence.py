"""Which blocks warps enter whole: random control flow, walked by two threads of a warp.

Threads that decide alike where a condition is the same for both, and as they like where it is
not, must pass the blocks called converged in the same order.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import pytest
from campaigns import Share, draws
from test_cdna_execution import context
from xdsl.dialects import cf, func
from xdsl.ir import Block
from xdsl.parser import Parser

from fencewright.lowering.code.graph import Graph
from fencewright.passes.analysis import convergence
from fencewright.passes.analysis.control_flow import reachable_blocks, successors
from fencewright.passes.analysis.convergence import converged_blocks

STEPS = 60
Find = Callable[[Sequence[Block]], frozenset[Block]]


def program(generator: random.Random) -> list[Block]:
    """Blocks that branch on an argument, or on a racing load that each thread sees otherwise."""
    count = generator.randrange(3, 9)
    lines = ["func.func @f(%p: !llvm.ptr<1>, %same: i1) {", "%zero = arith.constant 0 : i32"]
    lines.append("cf.br ^b0")
    for n in range(count):
        lines.append(f"^b{n}:")
        targets = [generator.randrange(count) for _ in range(2)]
        match generator.choice(("same", "differs", "differs", "jump", "end")):
            case "same":
                lines.append(f"cf.cond_br %same, ^b{targets[0]}, ^b{targets[1]}")
            case "differs":
                lines.append(f"%v{n} = scoped.load relaxed agent %p : !llvm.ptr<1> -> i32")
                lines.append(f"%c{n} = arith.cmpi eq, %v{n}, %zero : i32")
                lines.append(f"cf.cond_br %c{n}, ^b{targets[0]}, ^b{targets[1]}")
            case "jump":
                lines.append(f"cf.br ^b{targets[0]}")
            case _:
                lines.append("func.return")
    module = Parser(context(), "\n".join([*lines, "}"])).parse_module()
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    # Kept alive by the blocks' operations, which hold their parents.
    return reachable_blocks(function.body)


def walk(blocks: Sequence[Block], same: bool, generator: random.Random) -> list[Block]:
    """The blocks that a thread passes."""
    block, path = blocks[0], list[Block]()
    argument = blocks[0].args[1]
    while len(path) < STEPS:
        path.append(block)
        ways = successors(block)
        if not ways:
            break
        last = block.last_op
        if isinstance(last, cf.ConditionalBranchOp):
            taken = same if last.cond is argument else generator.random() < 0.5
            block = last.then_block if taken else last.else_block
        else:
            block = ways[0]
    return path


def disagreements(find: Find, seeds: Sequence[int]) -> Iterator[int]:
    """The seeds with which two threads pass the blocks that ``find`` calls converged in different order."""
    for seed in seeds:
        generator = random.Random(seed)
        blocks = program(generator)
        converged = find(blocks)
        for _ in range(6):
            same = generator.random() < 0.5
            paths = [walk(blocks, same, generator) for _ in range(2)]
            a, b = ([each for each in path if each in converged] for path in paths)
            # A walk that was cut short says nothing of what comes after.
            short = min(len(a), len(b)) if STEPS in map(len, paths) else max(len(a), len(b))
            if a[:short] != b[:short]:
                yield seed


@pytest.mark.parametrize("share", draws(15))
def test_threads_pass_converged_blocks_in_the_same_order(share: Share) -> None:
    assert list(disagreements(converged_blocks, share.of(range(1500)))) == []


def test_calling_every_block_converged_is_noticed() -> None:
    assert next(disagreements(lambda blocks: frozenset(blocks), range(200)), None) is not None


def test_forgetting_where_ways_meet_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nearest(graph: Graph[Block]) -> dict[Block, Block]:
        return {block: ways[0] for block in graph.nodes if (ways := graph.successors[block])}

    monkeypatch.setattr(convergence, "_immediate_postdominators", nearest)
    assert next(disagreements(converged_blocks, range(200)), None) is not None


def test_most_blocks_of_most_programs_are_not_given_up() -> None:
    """A block that merely follows a divergent branch stays converged."""
    kept = (
        seed
        for seed in range(300)
        if len(blocks := program(random.Random(seed))) > 2 and len(converged_blocks(blocks)) > 1
    )
    assert len(list(islice(kept, 51))) == 51
