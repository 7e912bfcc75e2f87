"""The pass ``outline-litmus-threads``: bodies of litmus threads to kernels that the threads run."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.arith import ExtUIOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttr,
    FunctionType,
    IntAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import scoped
from fencewright.passes.analysis.control_flow import top_level

if TYPE_CHECKING:
    from fencewright.mlir_dialects.litmus import ObserveOp, ThreadOp

TARGET_DIALECTS = frozenset({"cdna", "ptx"})
"""The dialects of machine instructions."""

_RESULT = LLVMPointerType(IntAttr(AddressSpace.GLOBAL.number))


@dataclass(frozen=True)
class OutlineLitmusThreadsPass(ModulePass):
    """Make a kernel of the body of every litmus thread that has one, called after test and thread.

    Addresses of locations become arguments; an observed value is stored, weakly and last of all,
    to an argument bound to the register's name. A body of machine instructions stays as it is.
    The kernels are marked as of one work-item, so that their branches do not diverge.
    """

    name = "outline-litmus-threads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        tests = [each for each in op.ops if each.name == "litmus.test"]
        if not tests:
            return
        # Every lowering passes through here: only those with a test pay for the dialect.
        from fencewright.mlir_dialects.litmus import TestOp

        taken = {
            symbol.data
            for each in top_level(op)
            if isinstance(symbol := each.properties.get("sym_name"), StringAttr)
        }
        for test in tests:
            assert isinstance(test, TestOp)
            for thread in test.threads:
                if thread.body.blocks and not is_of_a_target(thread):
                    name = _kernel_name(f"{test.sym_name.data}_{thread.sym_name.data}", taken)
                    op.body.block.add_op(_Outlining(thread, name).run())


def is_of_a_target(thread: "ThreadOp") -> bool:
    """Whether the thread's body is of machine instructions."""
    return any(op.name.partition(".")[0] in TARGET_DIALECTS for op in thread.code)


def _kernel_name(name: str, taken: set[str]) -> str:
    """``name`` as an identifier of every assembler, made distinct from ``taken`` and added to it."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    base = f"_{plain}" if plain[0].isdigit() else plain
    numbered = (base, *(f"{base}_{number}" for number in range(1, len(taken) + 2)))
    chosen = next(each for each in numbered if each not in taken)
    taken.add(chosen)
    return chosen


class _Outlining:
    """One thread that is to run a kernel."""

    def __init__(self, thread: "ThreadOp", kernel: str):
        self.thread = thread
        self.kernel = kernel
        self.body = thread.detach_region(thread.body)
        self.bound: dict[FlatSymbolRefAttr | StringAttr, SSAValue] = {}

    def run(self) -> FuncOp:
        """The kernel; the thread now runs it."""
        from fencewright.mlir_dialects.litmus import AddressOp, EndOp, ObserveOp

        for block in self.body.blocks:
            for op in tuple(block.ops):
                match op:
                    case AddressOp():
                        name = op.location_name.string_value()
                        pointer = self._argument(op.location_name, name, op.pointer.type)
                        op.pointer.replace_all_uses_with(pointer)
                    case ObserveOp():
                        self._store(op)
                    case EndOp():
                        block.insert_op_before(ReturnOp(), op)
                    case _:
                        continue
                Rewriter.erase_op(op)
        thread = self.thread
        thread.add_region(Region())
        thread.properties["kernel"] = SymbolRefAttr(self.kernel)
        thread.properties["arguments"] = ArrayAttr(list(self.bound))
        return self._function()

    def _argument(
        self, bound_to: FlatSymbolRefAttr | StringAttr, name: str, type: Attribute
    ) -> SSAValue:
        if bound_to not in self.bound:
            entry = self.body.blocks[0]
            argument = entry.insert_arg(type, len(entry.args))
            argument.name_hint = name
            self.bound[bound_to] = argument
        return self.bound[bound_to]

    def _store(self, op: "ObserveOp") -> None:
        """Store an observed value at the end of its block."""
        block = op.parent
        assert block is not None
        assert block.last_op is not None
        value = op.value
        if value.type == i1:
            extended = ExtUIOp(value, i32)
            block.insert_op_before(extended, block.last_op)
            value = extended.result
        pointer = self._argument(op.register, op.register.data, _RESULT)
        block.insert_op_before(scoped.StoreOp(value, pointer), block.last_op)

    def _function(self) -> FuncOp:
        types = [argument.type for argument in self.body.blocks[0].args]
        function = FuncOp(self.kernel, FunctionType.from_lists(types, []), self.body)
        function.attributes["gpu.kernel"] = UnitAttr()
        function.attributes["gpu.known_block_size"] = DenseArrayBase.from_list(i32, (1, 1, 1))
        function.location = self.thread.location
        return function
