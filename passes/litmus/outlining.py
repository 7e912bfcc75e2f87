"""Kernels out of bodies of litmus threads, which the threads then run."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from xdsl.dialects.arith import CmpiOp, ConstantOp, ExtUIOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FlatSymbolRefAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
)
from xdsl.dialects.cf import BranchOp, ConditionalBranchOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.litmus import AddressOp, EndOp, ObserveOp, TestOp, ThreadOp
from fencewright.mlir_dialects.scoped_async import OF_UNITS, MapSharedOp
from fencewright.passes.analysis.control_flow import top_level

TARGET_DIALECTS = frozenset({"cdna", "ptx"})
"""The dialects of machine instructions."""

_RESULT = LLVMPointerType(IntAttr(AddressSpace.GLOBAL.number))
_OWN = LLVMPointerType(IntAttr(AddressSpace.LOCAL.number))
_PEER = LLVMPointerType(IntAttr(AddressSpace.SHARED_CLUSTER.number))


def outline_threads(module: ModuleOp, tests: Iterable[Operation]) -> None:
    """Outline the ``tests`` of ``module`` as ``outline-litmus-threads`` does."""
    taken = {
        symbol.data
        for each in top_level(module)
        if isinstance(symbol := each.properties.get("sym_name"), StringAttr)
    }
    for test in tests:
        assert isinstance(test, TestOp)
        threads = [each for each in test.threads if each.body.blocks and not is_of_a_target(each)]
        if _is_asynchronous(threads):
            name = _kernel_name(f"{test.sym_name.data}_threads", taken)
            module.body.block.add_op(_JointOutlining(test, threads, name).run())
            continue
        for thread in threads:
            name = _kernel_name(f"{test.sym_name.data}_{thread.sym_name.data}", taken)
            module.body.block.add_op(_Outlining(thread, name).run())


def _is_asynchronous(threads: list[ThreadOp]) -> bool:
    return any(type(op) in OF_UNITS for thread in threads for op in thread.code)


def is_of_a_target(thread: ThreadOp) -> bool:
    """True if the thread's body is of machine instructions."""
    return any(op.name.partition(".")[0] in TARGET_DIALECTS for op in thread.code)


def _kernel_name(name: str, taken: set[str]) -> str:
    """``name`` as an identifier of every assembler, made distinct from ``taken`` and added to
    it."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    base = f"_{plain}" if plain[0].isdigit() else plain
    numbered = (base, *(f"{base}_{number}" for number in range(1, len(taken) + 2)))
    chosen = next(each for each in numbered if each not in taken)
    taken.add(chosen)
    return chosen


@dataclass(frozen=True, slots=True)
class _Bound:
    """The value that an argument of a kernel is bound to, and its type."""

    to: FlatSymbolRefAttr | StringAttr
    type: Attribute


class _Arguments:
    """The arguments of a kernel, added to its entry as its body asks for them.

    ``homes``: the work-group of locations in LDS, of which a peer maps an address.
    """

    def __init__(self, entry: Block, homes: Mapping[str, int] | None = None):
        self.entry = entry
        self.homes: Mapping[str, int] = {} if homes is None else homes
        self.bound: dict[_Bound, SSAValue] = {}

    def address(self, op: AddressOp) -> SSAValue:
        """The address that ``op`` gives; a peer's is mapped before it."""
        name, type = op.location_name.string_value(), op.pointer.type
        if type != _PEER or name not in self.homes:
            return self.of(_Bound(op.location_name, type), name)
        own = self.of(_Bound(op.location_name, _OWN), name)
        rank = ConstantOp.from_int_and_width(self.homes[name], i32)
        peer = MapSharedOp.create(operands=[own, rank.result], result_types=[_PEER])
        block = op.parent
        assert block is not None
        block.insert_ops_before([rank, peer], op)
        return peer.peer

    def of(self, bound: _Bound, name: str) -> SSAValue:
        """The argument that is bound so."""
        if bound not in self.bound:
            argument = self.entry.insert_arg(bound.type, len(self.entry.args))
            argument.name_hint = name
            self.bound[bound] = argument
        return self.bound[bound]

    @property
    def attribute(self) -> ArrayAttr[Attribute]:
        """The arguments of a thread that runs the kernel."""
        return ArrayAttr([each.to for each in self.bound])


def _outline(body: Region, arguments: _Arguments) -> None:
    """Make a thread's body that of a kernel, within its blocks."""
    for block in body.blocks:
        for op in tuple(block.ops):
            match op:
                case AddressOp():
                    op.pointer.replace_all_uses_with(arguments.address(op))
                case ObserveOp():
                    _store(op, arguments)
                case EndOp():
                    block.insert_op_before(ReturnOp(), op)
                case _:
                    continue
            Rewriter.erase_op(op)


def _store(op: ObserveOp, arguments: _Arguments) -> None:
    """Store an observed value at the end of its block."""
    block = op.parent
    assert block is not None
    assert block.last_op is not None
    value = op.value
    if value.type == i1:
        extended = ExtUIOp(value, i32)
        block.insert_op_before(extended, block.last_op)
        value = extended.result
    pointer = arguments.of(_Bound(op.register, _RESULT), op.register.data)
    block.insert_op_before(scoped.StoreOp(value, pointer), block.last_op)


def _function(name: str, body: Region, at: Operation) -> FuncOp:
    types = [argument.type for argument in body.blocks[0].args]
    function = FuncOp(name, FunctionType.from_lists(types, []), body)
    function.attributes["gpu.kernel"] = UnitAttr()
    function.location = at.location
    return function


class _Outlining:
    """One thread that is to run a kernel."""

    def __init__(self, thread: ThreadOp, kernel: str):
        self.thread = thread
        self.kernel = kernel
        self.body = thread.detach_region(thread.body)

    def run(self) -> FuncOp:
        """The kernel; the thread now runs it."""
        arguments = _Arguments(self.body.blocks[0])
        _outline(self.body, arguments)
        thread = self.thread
        thread.add_region(Region())
        thread.properties["kernel"] = SymbolRefAttr(self.kernel)
        thread.properties["arguments"] = arguments.attribute
        function = _function(self.kernel, self.body, thread)
        function.attributes["gpu.known_block_size"] = DenseArrayBase.from_list(i32, (1, 1, 1))
        return function


class _JointOutlining:
    """Threads that are all to run one kernel, each a part of it."""

    def __init__(self, test: TestOp, threads: list[ThreadOp], kernel: str):
        self.test = test
        self.threads = threads
        self.kernel = kernel
        self.body = Region(Block())

    def run(self) -> FuncOp:
        """The kernel; the threads now run it."""
        entry = self.body.blocks[0]
        arguments = _Arguments(entry, _homes(self.test))
        observed: list[frozenset[Attribute]] = []
        starts: list[Block] = []
        for thread in self.threads:
            body = thread.detach_region(thread.body)
            observed.append(_registers(body))
            starts.append(body.blocks[0])
            _outline(body, arguments)
            body.move_blocks(self.body)
            thread.add_region(Region())
        role = entry.insert_arg(i32, len(entry.args))
        role.name_hint = "thread"
        self._choose(role, starts)
        for number, (thread, registers) in enumerate(zip(self.threads, observed, strict=True)):
            thread.properties["kernel"] = SymbolRefAttr(self.kernel)
            given = [
                # A register of another thread: nothing here is stored there.
                each if isinstance(each, SymbolRefAttr) or each in registers else _NOTHING
                for each in arguments.attribute
            ]
            thread.properties["arguments"] = ArrayAttr([*given, IntegerAttr(number, i32)])
        function = _function(self.kernel, self.body, self.test)
        function.arg_attrs = ArrayAttr([*map(self._attributes(arguments), arguments.bound), _PLAIN])
        return function

    def _attributes(self, arguments: _Arguments) -> Callable[[_Bound], DictionaryAttr]:
        """The attributes of an argument: that nothing else reaches the memory that it points to."""
        names = [each.to for each in arguments.bound]

        twice = _by_several_addresses(self.test)

        def of(bound: _Bound) -> DictionaryAttr:
            is_alone = isinstance(bound.type, LLVMPointerType) and names.count(bound.to) == 1
            name = bound.to.string_value() if isinstance(bound.to, SymbolRefAttr) else ""
            return _RESTRICTED if is_alone and name not in twice else _PLAIN

        return of

    def _choose(self, role: SSAValue, starts: list[Block]) -> None:
        """Go from the entry to the thread's part."""
        block = self.body.blocks[0]
        if len(starts) == 1:
            block.add_op(BranchOp(starts[0]))
        for number, start in enumerate(starts[:-1]):
            constant = ConstantOp.from_int_and_width(number, i32)
            is_it = CmpiOp(role, constant.result, "eq")
            is_last = number == len(starts) - 2
            other = starts[-1] if is_last else Block()
            if not is_last:
                self.body.insert_block_before(other, starts[0])
            block.add_ops([constant, is_it, ConditionalBranchOp(is_it, start, [], other, [])])
            block = other


def _homes(test: TestOp) -> dict[str, int]:
    """The rank in its cluster of the work-group of everything that is in LDS."""
    return {name: cluster_of(test, home).index(home) for name, home in _in_lds(test).items()}


def _in_lds(test: TestOp) -> dict[str, int]:
    """The work-group of everything that is in LDS."""
    local = (each for each in test.locations if each.address_space is AddressSpace.LOCAL)
    return {
        each.sym_name.data: 0 if each.workgroup is None else each.workgroup.value.data
        for each in (*local, *test.mbarriers)
    }


def cluster_of(test: TestOp, workgroup: int) -> tuple[int, ...]:
    """The work-groups of the cluster of one, by their rank in it.

    Nobody says of a work-group without threads in which cluster it is: it is in every one.
    """
    if not test.is_placed_in_clusters:
        return (workgroup,)
    places = [each.placement.resolve(number) for number, each in enumerate(test.threads)]
    clusters = {each.workgroup: each.cluster for each in places}
    own = clusters.get(workgroup)
    return tuple(
        group
        for group in sorted({*_in_lds(test).values(), *clusters})
        if own is None or clusters.get(group) in (None, own)
    )


def _by_several_addresses(test: TestOp) -> frozenset[str]:
    """Multicast addresses, and the locations reached both by them and by their own address."""
    multicasts = test.multicasts
    names = (each.sym_name.data for each in multicasts)
    return frozenset((*names, *(name for each in multicasts for name in each.names)))


_NOTHING = IntegerAttr(0, i32)
_PLAIN = DictionaryAttr({})
_RESTRICTED = DictionaryAttr({"llvm.noalias": UnitAttr()})


def _registers(body: Region) -> frozenset[Attribute]:
    """The registers that a thread's body observes."""
    ops = (op for block in body.blocks for op in block.ops)
    return frozenset(op.register for op in ops if isinstance(op, ObserveOp))
