"""The ``litmus`` dialect: small concurrent programs with a condition on how they may end.

    litmus.test @mp {
      litmus.location @x = 0 : i32
      litmus.location @f = 0 : i32
      litmus.thread @P0 at <workgroup = 0> {
        %x = litmus.address @x : !llvm.ptr<1>
        %f = litmus.address @f : !llvm.ptr<1>
        %one = arith.constant 1 : i32
        scoped.store weak %one, %x : i32, !llvm.ptr<1>
        scoped.store release agent %one, %f : i32, !llvm.ptr<1>
      }
      litmus.thread @P1 at <workgroup = 1> runs @reader(@x, @f, "r0")
      litmus.condition "~exists (P1:r0 = 1)"
    }

A thread has a body of its own, or runs a kernel of the module, or one that ``litmus.kernel`` says
is in another file: an argument is a location, whose
address it gets, a string, the name of a register that what the kernel stores there becomes, or a
number, as ``2 : i32``.
``outline-litmus-threads`` makes kernels of the bodies, which every pass then lowers like any
other; the test itself names them and stays as it is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Self, TypeAlias, cast

from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, ParametrizedAttribute, Region
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    Pure,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects.attributes import AddressSpaceAttr
from fencewright.mlir_dialects.leaf_operation import defined_in
from fencewright.simulator.core.condition import Condition, LitmusError, Register, parse_condition
from fencewright.simulator.core.program import MemoryKind, Placement

_NONE = NoneAttr()

ThreadArgument: TypeAlias = SymbolRefAttr | StringAttr | IntegerAttr[IntegerType]
"""The value that a thread passes to the kernel that it runs.

A location, a register for what it stores, or a number.
"""


@irdl_attr_definition
class PlacementAttr(ParametrizedAttribute):
    """The place of a thread: ``#litmus.placement<workgroup = 0, xcd = 1>``.

    What is left out is chosen so that threads are far apart: a work-group, XCD, CU and cluster
    of their own, all on agent 0. For PTX agent is the GPU and workgroup the CTA.
    """

    name = "litmus.placement"
    workgroup: IntAttr | NoneAttr
    xcd: IntAttr | NoneAttr
    cu: IntAttr | NoneAttr
    agent: IntAttr | NoneAttr
    cluster: IntAttr | NoneAttr

    FIELDS: ClassVar[tuple[str, ...]] = ("workgroup", "xcd", "cu", "agent", "cluster")

    def field(self, name: str) -> int | None:
        """The number given for a field; None if it is left out."""
        value = self.parameters[self.FIELDS.index(name)]
        return None if value == _NONE else cast(IntAttr[int], value).data

    def resolve(self, thread: int) -> Placement:
        """The placement of the thread with that number; work-groups of a cluster are on one XCD."""
        workgroup = thread if (given := self.field("workgroup")) is None else given
        cluster = workgroup if (given := self.field("cluster")) is None else given
        defaults = {"xcd": cluster, "cu": workgroup, "agent": 0, "cluster": cluster}
        rest = {
            name: default if (given := self.field(name)) is None else given
            for name, default in defaults.items()
        }
        return Placement(workgroup, **rest)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return cls.parse_fields(parser).parameters

    @classmethod
    def parse_fields(cls, parser: AttrParser) -> Self:
        """The placement written as ``<workgroup = 0, xcd = 1>``."""
        given: dict[str, IntAttr] = {}

        def field() -> None:
            start = parser.pos
            name = parser.parse_identifier()
            if name not in cls.FIELDS or name in given:
                parser.raise_error(
                    f"expected one of {', '.join(cls.FIELDS)}, each once", start, parser.pos
                )
            parser.parse_punctuation("=")
            given[name] = IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, field)
        return cls(*(given.get(name, _NONE) for name in cls.FIELDS))

    def print_parameters(self, printer: Printer) -> None:
        given = [(name, self.field(name)) for name in self.FIELDS]
        fields = ", ".join(f"{name} = {value}" for name, value in given if value is not None)
        printer.print_string(f"<{fields}>")


EVERYWHERE = PlacementAttr(_NONE, _NONE, _NONE, _NONE, _NONE)
"""The placement that leaves everything out."""


@irdl_op_definition
class LocationOp(IRDLOperation):
    """A word of memory on a cache line of its own: ``litmus.location @x = 0 : i32``.

    ``space`` local is LDS (shared memory) of ``workgroup``; ``kind`` says how L2 caches keep
    it: local, nonlocal (the default, the harder one) or uncached. ``variable`` names the variable
    in LDS that kernels know it by, of which every work-group has one; without it that is its own
    name. ``tensor``: it is in tensor memory (``!llvm.ptr<6>``). ``describes``:
    it is a tensor map, and with value n that of a tensor at the n-th of these locations.
    ``bytes``: it stands for a tile of that size, which is what copies through a map complete.
    """

    name = "litmus.location"

    sym_name = prop_def(SymbolNameConstraint())
    initial = prop_def(IntegerAttr[IntegerType])
    space = opt_prop_def(AddressSpaceAttr)
    workgroup = opt_prop_def(IntegerAttr)
    kind = opt_prop_def(StringAttr)
    variable = opt_prop_def(FlatSymbolRefAttrConstr)
    tensor = opt_prop_def(UnitAttr)
    describes = opt_prop_def(ArrayAttr[SymbolRefAttr])
    bytes = opt_prop_def(IntegerAttr[I64])

    traits = lazy_traits_def(lambda: (SymbolOpInterface(), HasParent(TestOp)))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name `=` $initial (`in` $space^)? attr-dict"

    @property
    def address_space(self) -> AddressSpace:
        """Its address space: global or local."""
        return AddressSpace.GLOBAL if self.space is None else self.space.data

    @property
    def described(self) -> tuple[str, ...]:
        """The locations that it describes, if it is a tensor map."""
        if self.describes is None:
            return ()
        return tuple(each.string_value() for each in self.describes.data)

    @property
    def memory_kind(self) -> MemoryKind:
        """The way in which L2 caches keep it."""
        return MemoryKind.NONLOCAL if self.kind is None else MemoryKind(self.kind.data)

    def verify_(self) -> None:
        if self.initial.type != i32:
            raise VerifyException(f"a location holds an i32, not {self.initial.type}")
        if self.address_space not in (AddressSpace.GLOBAL, AddressSpace.LOCAL):
            raise VerifyException(f"a location is in global or local, not {self.address_space}")
        if self.kind is not None and self.kind.data not in tuple(MemoryKind):
            raise VerifyException(
                f"unknown memory kind '{self.kind.data}'; accepted: {', '.join(MemoryKind)}"
            )
        is_local = self.address_space is AddressSpace.LOCAL
        if self.workgroup is not None and not is_local:
            raise VerifyException("only a location in local belongs to a work-group")
        if self.variable is not None and not is_local:
            raise VerifyException("only a location in local is a variable of kernels")
        if self.tensor is not None and self.space is not None:
            raise VerifyException("a location is in tensor memory or in an address space, not both")


@irdl_op_definition
class MbarrierOp(IRDLOperation):
    """An mbarrier in LDS of ``workgroup``: ``litmus.mbarrier @full count 2 {workgroup = 1}``.

    With ``count`` it is initialised before the threads start, and every phase takes so many
    arrivals; without, the program initialises it. ``variable`` as of a location.
    """

    name = "litmus.mbarrier"

    sym_name = prop_def(SymbolNameConstraint())
    count = opt_prop_def(IntegerAttr[I64])
    workgroup = opt_prop_def(IntegerAttr)
    variable = opt_prop_def(FlatSymbolRefAttrConstr)

    traits = lazy_traits_def(lambda: (SymbolOpInterface(), HasParent(TestOp)))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name (`count` $count^)? attr-dict"

    def verify_(self) -> None:
        if self.count is not None and self.count.value.data < 1:
            raise VerifyException(f"count must be at least 1, not {self.count.value.data}")


@irdl_op_definition
class MulticastOp(IRDLOperation):
    """A multicast address of several locations: ``litmus.multicast @both = [@x0, @x1]``.

    Only the ``multimem`` operations access it: each of the locations, as if by its own address.
    With ``aliased`` by another one, so that it takes a ``fence.proxy.alias`` between such an access
    and one of a location by itself. Source: PTX ISA, "Proxies"; CUDA Programming Guide, "Multicast
    Support", whose example has that fence.
    """

    name = "litmus.multicast"

    sym_name = prop_def(SymbolNameConstraint())
    peers = prop_def(ArrayAttr[SymbolRefAttr])
    aliased = opt_prop_def(UnitAttr)

    traits = lazy_traits_def(lambda: (SymbolOpInterface(), HasParent(TestOp)))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name `=` $peers attr-dict"

    @property
    def names(self) -> tuple[str, ...]:
        """The locations that it stands for."""
        return tuple(each.string_value() for each in self.peers.data)

    @property
    def aliases(self) -> Mapping[str, str]:
        """The names by which it accesses them, and the locations."""
        prefix = "" if self.aliased is None else f"{self.sym_name.data}_"
        return {f"{prefix}{each}": each for each in self.names}

    def verify_(self) -> None:
        if not self.names:
            raise VerifyException("a multicast address stands for at least one location")


@irdl_op_definition
class AddressOp(IRDLOperation):
    """The address of a location or mbarrier, or a multicast one:
    ``%p = litmus.address @x : !llvm.ptr<1>``.

    ``!llvm.ptr<7>`` is an address in the cluster's LDS, ``i64`` the descriptor by which tensor
    cores know a tile. In a body of machine instructions it gives the registers that hold it.
    """

    name = "litmus.address"

    location_name = prop_def(FlatSymbolRefAttrConstr)
    pointer = result_def(AnyAttr())

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$location_name attr-dict `:` type($pointer)"


@irdl_op_definition
class ObserveOp(IRDLOperation):
    """Makes a value the final one of a register: ``litmus.observe "r0", %v : i32``.

    Stands in a block that ends the thread. A register that is not observed there reads 0.
    """

    name = "litmus.observe"

    register = prop_def(StringAttr)
    value = operand_def(AnyAttr())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$register `,` $value attr-dict `:` type($value)"

    def verify_(self) -> None:
        verify_register(self.register.data)
        block = self.parent
        if block is not None and block.last_op is not None and block.last_op.successors:
            raise VerifyException(
                "a register is observed in a block that ends the thread; pass the value there"
            )


def verify_register(name: str) -> None:
    """Raise ``VerifyException`` unless ``name`` is one that a PTX litmus test can have as well."""
    if not _REGISTER.fullmatch(name):
        raise VerifyException(f"registers are called r0, r1 and so on, not '{name}'")


_REGISTER = re.compile(r"r\d+")


@irdl_op_definition
class EndOp(IRDLOperation):
    """The end of a thread; may be left out of a body of one block."""

    name = "litmus.end"

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ThreadOp)))
    assembly_format = "attr-dict"


@irdl_op_definition
class ThreadOp(IRDLOperation):
    """A thread (on CDNA a wave): its place and its code.

    ``litmus.thread @P0 at <xcd = 0> { .. }`` or ``litmus.thread @P0 runs @kernel(@x, "r0")``.
    Threads are called @P0, @P1 and so on, in that order.
    """

    name = "litmus.thread"

    sym_name = prop_def(SymbolNameConstraint())
    placement = prop_def(PlacementAttr)
    kernel = opt_prop_def(FlatSymbolRefAttrConstr)
    arguments = opt_prop_def(ArrayAttr)
    body = region_def()

    traits = lazy_traits_def(lambda: (SymbolOpInterface(), IsolatedFromAbove(), HasParent(TestOp)))

    @property
    def bound_arguments(self) -> tuple[ThreadArgument, ...]:
        """The values of the kernel's arguments."""
        return () if self.arguments is None else tuple(map(_argument, self.arguments.data))

    @property
    def code(self) -> tuple[Operation, ...]:
        """The operations of its body."""
        return tuple(op for block in self.body.blocks for op in block.ops)

    def verify_(self) -> None:
        if (self.kernel is None) == (not self.body.blocks):
            raise VerifyException("a thread has either a body or a kernel that it runs")
        self._verify_kernel()
        for argument in self.bound_arguments:
            if isinstance(argument, StringAttr):
                verify_register(argument.data)
        observed = [(op.parent, op.register.data) for op in self.code if isinstance(op, ObserveOp)]
        for each in observed:
            if observed.count(each) > 1:
                raise VerifyException(f"register '{each[1]}' is observed twice")

    def _verify_kernel(self) -> None:
        test = self.parent_op()
        module = None if test is None else test.parent_op()
        if self.kernel is None or not isinstance(module, ModuleOp):
            return
        tables = (module, *(op for op in module.ops if isinstance(op, gpu.ModuleOp)))
        if not any(SymbolTable.lookup_symbol(table, self.kernel) for table in tables):
            name = self.kernel.string_value()
            raise VerifyException(
                f"there is no kernel '{name}' in the module; of one in a PTX file say: "
                f"litmus.kernel @{name}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {
            "sym_name": parser.parse_symbol_name(),
            "placement": EVERYWHERE,
        }
        if parser.parse_optional_keyword("at"):
            properties["placement"] = PlacementAttr.parse_fields(parser)
        region = Region()
        if parser.parse_optional_keyword("runs"):
            properties["kernel"] = SymbolRefAttr(parser.parse_symbol_name())
            arguments = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_attribute
            )
            properties["arguments"] = ArrayAttr(arguments)
        given = parser.parse_optional_attr_dict_with_keyword()
        attributes = {} if given is None else dict(given.data)
        if "kernel" not in properties:
            region = parser.parse_region()
            _end(region)
        return cls.create(properties=properties, attributes=attributes, regions=[region])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.placement != EVERYWHERE:
            printer.print_string(" at ")
            self.placement.print_parameters(printer)
        if self.kernel is not None:
            printer.print_string(" runs ")
            printer.print_attribute(self.kernel)
            with printer.in_parens():
                printer.print_list(self.bound_arguments, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if self.kernel is None:
            printer.print_string(" ")
            last = self.body.blocks[-1].last_op
            simple = len(self.body.blocks) == 1 and isinstance(last, EndOp) and not last.attributes
            printer.print_region(self.body, print_block_terminators=not simple)


def _argument(attribute: Attribute) -> ThreadArgument:
    if isinstance(attribute, SymbolRefAttr) and not attribute.nested_references.data:
        return attribute
    if isinstance(attribute, StringAttr):
        return attribute
    if isa(attribute, IntegerAttr[IntegerType]):
        return attribute
    raise VerifyException(
        f'a kernel runs on locations, registers and numbers, @x, "r0" or 2 : i32, not {attribute}'
    )


def _end(body: Region) -> None:
    """Add the end that a body of one block may leave out."""
    if not body.blocks:
        body.add_block(Block())
    (*_, last) = body.blocks
    if last.last_op is None or not last.last_op.has_trait(IsTerminator):
        last.add_op(EndOp())


@irdl_op_definition
class KernelOp(IRDLOperation):
    """A kernel whose code is in another file: ``litmus.kernel @producer``.

    Which file that is, the command line says: ``fence-sim run x.ptx --litmus harness.mlir``. So
    one test is run on the code of several compilers.
    """

    name = "litmus.kernel"

    sym_name = prop_def(SymbolNameConstraint())

    traits = traits_def(SymbolOpInterface())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name attr-dict"


@irdl_op_definition
class ConditionOp(IRDLOperation):
    """The condition on the end of the test: ``litmus.condition "~exists (P1:r0 = 1 and x = 0)"``.

    exists, ~exists or forall, and a formula over registers of threads and locations with
    and, or, not, and comparisons (the grammar of ``fencewright.simulator.core.condition``).
    """

    name = "litmus.condition"

    text = prop_def(StringAttr)

    traits = lazy_traits_def(lambda: (HasParent(TestOp),))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$text attr-dict"

    def verify_(self) -> None:
        try:
            parse_condition(self.text.data)
        except LitmusError as problem:
            raise VerifyException(
                f"condition, character {problem.column}: {problem.message}"
            ) from problem

    @property
    def condition(self) -> Condition:
        """The condition as the simulator judges it."""
        return parse_condition(self.text.data)


@irdl_op_definition
class TestOp(IRDLOperation):
    """A litmus test. ``lowers`` names the test whose lowering this one claims to be."""

    name = "litmus.test"

    sym_name = prop_def(SymbolNameConstraint())
    lowers = opt_prop_def(FlatSymbolRefAttrConstr)
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), SymbolTable(), NoTerminator(), IsolatedFromAbove())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name (`lowers` $lowers^)? attr-dict-with-keyword $body"

    @property
    def locations(self) -> tuple[LocationOp, ...]:
        """The locations, in their order."""
        return tuple(op for op in self._parts() if isinstance(op, LocationOp))

    @property
    def mbarriers(self) -> tuple[MbarrierOp, ...]:
        """The mbarriers, in their order."""
        return tuple(op for op in self._parts() if isinstance(op, MbarrierOp))

    @property
    def multicasts(self) -> tuple[MulticastOp, ...]:
        """The multicast addresses, in their order."""
        return tuple(op for op in self._parts() if isinstance(op, MulticastOp))

    @property
    def threads(self) -> tuple[ThreadOp, ...]:
        """The threads, by number."""
        return tuple(op for op in self._parts() if isinstance(op, ThreadOp))

    @property
    def condition(self) -> Condition | None:
        """The condition that the test is judged by, if any."""
        conditions = [op.condition for op in self._parts() if isinstance(op, ConditionOp)]
        return conditions[0] if conditions else None

    @property
    def is_placed_in_clusters(self) -> bool:
        """True if the threads say in which cluster they run."""
        return any(each.placement.field("cluster") is not None for each in self.threads)

    def _parts(self) -> Iterator[Operation]:
        return iter(self.body.block.ops)

    def verify_(self) -> None:
        for op in self._parts():
            if not isinstance(op, _PARTS):
                raise VerifyException(
                    f"'{op.name}' in a test; accepted: litmus.location, .mbarrier, .multicast, "
                    ".thread and .condition"
                )
        names = [each.sym_name.data for each in self.threads]
        if names != [f"P{number}" for number in range(len(names))]:
            raise VerifyException(f"threads are called P0, P1 and so on, not {', '.join(names)}")
        if sum(isinstance(op, ConditionOp) for op in self._parts()) > 1:
            raise VerifyException("a test has one condition at most")
        clusters = {each.placement.field("cluster") is None for each in self.threads}
        if len(clusters) > 1:
            raise VerifyException("either every thread or none says in which cluster it runs")
        self._verify_names()

    def _verify_names(self) -> None:
        locations = {each.sym_name.data for each in self.locations}
        named = (*self.mbarriers, *self.multicasts)
        objects = locations | {each.sym_name.data for each in named}
        registers = [_registers(each) for each in self.threads]
        described = [name for each in self.locations for name in each.described]
        for name in (*described, *(name for each in self.multicasts for name in each.names)):
            if name not in locations:
                raise VerifyException(f"no location '{name}'")
        for number, thread in enumerate(self.threads):
            for op in thread.code:
                if isinstance(op, AddressOp) and op.location_name.string_value() not in objects:
                    raise VerifyException(f"no location '{op.location_name.string_value()}'")
            for argument in thread.bound_arguments:
                if isinstance(argument, SymbolRefAttr) and argument.string_value() not in objects:
                    raise VerifyException(f"P{number}: no location '{argument.string_value()}'")
        if (condition := self.condition) is None:
            return
        for each in condition.formula.observables():
            known = (
                each.thread < len(registers) and each.name in registers[each.thread]
                if isinstance(each, Register)
                else each.location in locations
            )
            if not known:
                raise VerifyException(f"the condition names {each}, which nothing in the test sets")


_PARTS = (LocationOp, MbarrierOp, MulticastOp, ThreadOp, ConditionOp)
"""The operations that make up a test."""


def _registers(thread: ThreadOp) -> frozenset[str]:
    """The names of a thread's registers that outcomes record."""
    observed = {op.register.data for op in thread.code if isinstance(op, ObserveOp)}
    bound = {each.data for each in thread.bound_arguments if isinstance(each, StringAttr)}
    return frozenset(observed | bound)


def registers_of(thread: ThreadOp) -> tuple[str, ...]:
    """The names of a thread's registers that outcomes record, sorted."""
    return tuple(sorted(_registers(thread)))


LITMUS = Dialect(
    "litmus",
    [*defined_in(globals())],
    [PlacementAttr],
)
