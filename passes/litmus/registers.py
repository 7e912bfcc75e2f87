"""Bodies of machine instructions with registers, so that they can be printed at any time of a
lowering."""

from collections.abc import Iterator

from xdsl.ir import Operation, Region, SSAValue

from fencewright.mlir_dialects import cdna
from fencewright.passes.analysis.control_flow import reachable_blocks


class WithRegisters:
    """A ``body`` in which every value has registers: that given, or a copy of it.

    A value without any gets registers that no other has, so that it is there as long as in the
    code with values; what a branch carries becomes copies.
    """

    def __init__(self, body: Region):
        self._originals: dict[Operation, Operation] = {}
        self.body = body
        if _is_allocated(body):
            return
        self.body = body.clone()
        self._originals |= zip(self.body.walk(), body.walk(), strict=True)
        self._free: dict[type[cdna.RegisterType], int] = {cdna.VGPRType: 0, cdna.SGPRType: 0}
        self._allocate()
        for block in tuple(self.body.blocks):
            last = block.last_op
            if isinstance(last, cdna.CondBranchOp) and len(last.operands) > 1:
                self._originals |= dict.fromkeys(last.split_edges(), self._originals[last])
        for block in self.body.blocks:
            if isinstance(last := block.last_op, cdna.BranchOp):
                self._copy_operands(last)

    def original(self, op: Operation) -> Operation:
        """The operation of the body given that one of ``body`` stands for."""
        return self._originals.get(op, op)

    def _allocate(self) -> None:
        values = tuple(_values(self.body))
        for value in values:
            file = type(cdna.register_of(value))
            self._free[file] = max(self._free[file], cdna.register_of(value).registers.stop)
        for value in values:
            if cdna.register_of(value).first is None:
                value._type = self._unused(cdna.register_of(value))  # pyright: ignore[reportPrivateUsage] # replacing the value would cost a walk of its uses

    def _unused(self, wanted: cdna.RegisterType) -> cdna.RegisterType:
        """Registers that nothing has; a tuple begins where its size divides the number."""
        size, free = wanted.size.data, self._free[type(wanted)]
        first = -(-free // size) * size
        self._free[type(wanted)] = first + size
        return wanted.at(first)

    def _copy_operands(self, branch: cdna.BranchOp) -> None:
        """Copy the operands of a branch, as if at once: through registers that are free."""
        pairs = [
            (source, cdna.register_of(target))
            for source, target in zip(branch.arguments, branch.target.args, strict=True)
            if source.type != target.type
        ]
        if len(pairs) > 1:
            pairs = [(self._copy(branch, source, self._unused(to)), to) for source, to in pairs]
        for source, target in pairs:
            self._copy(branch, source, target)

    def _copy(self, branch: cdna.BranchOp, source: SSAValue, to: cdna.RegisterType) -> SSAValue:
        copy = cdna.MovOp.create(operands=[source], result_types=[to])
        self._originals[copy] = self._originals[branch]
        block = branch.parent
        assert block is not None
        block.insert_op_before(copy, branch)
        return copy.dst


def _values(body: Region) -> Iterator[SSAValue]:
    for block in body.blocks:
        yield from block.args
        for op in block.ops:
            yield from op.results


def _is_allocated(body: Region) -> bool:
    """True where every value has registers, and branches carry only values already in place."""
    if any(cdna.register_of(value).first is None for value in _values(body)):
        return False
    return all(
        source.type == argument.type
        for block in reachable_blocks(body)
        if block.last_op is not None
        for source, argument in _carried(block.last_op)
    )


def _carried(branch: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    match branch:
        case cdna.BranchOp():
            yield from zip(branch.arguments, branch.target.args, strict=True)
        case cdna.CondBranchOp():
            yield from zip(branch.true_arguments, branch.true_target.args, strict=True)
            yield from zip(branch.false_arguments, branch.false_target.args, strict=True)
        case _:
            return
