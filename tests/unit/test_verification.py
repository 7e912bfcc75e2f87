"""Verifying a module finds what xDSL finds, in linear work."""

from collections.abc import Callable
from pathlib import Path

import pytest
from work_count import growth
from xdsl.dialects import cf, func, test
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, ErasedSSAValue, Operation, Region

from fencewright.lowering.sequence import WaitCounts
from fencewright.mlir_dialects import verification
from fencewright.mlir_dialects.cdna import WaitOp
from fencewright.mlir_dialects.verification import verify
from fencewright.tools import fence_opt
from fencewright.tools.inputs.litmus.files import parse_module

EXAMPLES = Path(__file__).parents[2] / "examples"


def function(*blocks: Block) -> func.FuncOp:
    return func.FuncOp("f", ((), ()), Region(blocks))


def chain(length: int) -> ModuleOp:
    """A function of ``length`` blocks, each of which branches to the next."""
    blocks = [Block([func.ReturnOp()])]
    for _ in range(length):
        blocks.append(Block([cf.BranchOp(blocks[-1])]))
    return ModuleOp([function(*reversed(blocks))])


def test_work_is_linear_in_the_blocks() -> None:
    def verification_of(length: int) -> Callable[[], object]:
        module = chain(length)
        return lambda: verify(module)

    assert growth(verification_of, 50) < 1.1


@pytest.mark.parametrize("flags", [[], ["--mcpu", "gfx942"], ["--mcpu", "sm_90"]])
def test_a_run_is_linear_in_the_blocks(flags: list[str], tmp_path: Path) -> None:
    def run_on(length: int) -> Callable[[], object]:
        path = tmp_path / f"{length}.mlir"
        block = "^b{}:\n  scoped.store weak %v, %p : i32, !llvm.ptr<1>\n  cf.br ^b{}\n"
        blocks = "".join(block.format(n, n + 1) for n in range(length))
        path.write_text(
            "func.func @k(%p: !llvm.ptr<1>, %v: i32) attributes {gpu.kernel} {\n"
            f"  cf.br ^b0\n{blocks}^b{length}:\n  func.return\n}}\n"
        )
        return lambda: fence_opt.main([str(path), *flags, "-o", "/dev/null"])

    assert growth(run_on, 20) < 1.15


def test_xdsls_own_is_not_linear_or_this_module_can_go() -> None:
    def verification_of(length: int) -> Callable[[], object]:
        module = chain(length)
        return lambda: module.verify()

    assert growth(verification_of, 50) > 1.5


def erased_operand() -> ModuleOp:
    value = Block(arg_types=[i32]).args[0]
    return ModuleOp([test.TestOp([ErasedSSAValue(i32, value)])])


def branch_that_is_not_last() -> ModuleOp:
    end = Block([func.ReturnOp()])
    return ModuleOp([function(Block([cf.BranchOp(end), func.ReturnOp()]), end)])


def branch_to_another_function() -> ModuleOp:
    end = Block([func.ReturnOp()])
    start = Block([cf.BranchOp(end)])
    return ModuleOp([function(Block([cf.BranchOp(start)]), start), function(end)])


def single_block_without_terminator() -> ModuleOp:
    return ModuleOp([function(Block([test.TestOp()]))])


def one_of_two_blocks_without_terminator() -> ModuleOp:
    end = Block([test.TestOp()])
    return ModuleOp([function(Block([cf.BranchOp(end)]), end)])


def empty_block() -> ModuleOp:
    return ModuleOp([function(Block())])


def operation_of_another_block() -> ModuleOp:
    module = chain(1)
    next(iter(module.ops)).parent = Block()
    return module


def block_of_another_region() -> ModuleOp:
    module = chain(1)
    op = next(iter(module.ops))
    op.regions[0].blocks[1].parent = Region()
    return module


def operation_that_does_not_verify() -> ModuleOp:
    body = Block(arg_types=[i32])
    body.add_op(func.ReturnOp(body.args[0]))
    return ModuleOp([function(body)])


def machine_code_outside_of_a_kernel() -> ModuleOp:
    return ModuleOp([function(Block([WaitOp.of(WaitCounts(vmcnt=0)), func.ReturnOp()]))])


def branch_in_no_block() -> Operation:
    return cf.BranchOp(Block())


INVALID: list[Callable[[], Operation]] = [
    erased_operand,
    branch_that_is_not_last,
    branch_to_another_function,
    single_block_without_terminator,
    one_of_two_blocks_without_terminator,
    empty_block,
    operation_of_another_block,
    block_of_another_region,
    operation_that_does_not_verify,
    machine_code_outside_of_a_kernel,
    branch_in_no_block,
]


@pytest.mark.parametrize("make", INVALID, ids=lambda make: make.__name__)
def test_what_xdsl_does_not_verify_does_not_verify(make: Callable[[], Operation]) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  # whatever it is
        make().verify()
    with pytest.raises(type(expected.value)) as found:
        verify(make())
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("litmus*/*.mlir")), ids=lambda path: path.name
)
def test_what_verifies_is_not_verified_by_xdsl_too(path: Path) -> None:
    module = parse_module(str(path), path.read_text())
    assert verification._is_verified(module)  # pyright: ignore[reportPrivateUsage]


def test_an_empty_block_among_several_verifies_as_for_xdsl() -> None:
    module = chain(1)
    op = next(iter(module.ops))
    op.regions[0].add_block(Block())
    module.verify()
    verify(module)
