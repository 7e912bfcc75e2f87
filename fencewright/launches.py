"""Kernels executed and judged from Python: ``fencewright.execute``, ``fencewright.check``.

PTX and AMD assembly of any compiler run lane by lane, without a GPU. Arguments are numbers, and
NumPy arrays for memory; an array that is given twice is one. What a kernel may do is what it may do
in a launch of ``fence-check --launch``, whose verdicts ``check`` gives.
"""

from collections.abc import Collection, Iterable, Sequence
from operator import index
from typing import Any, SupportsIndex

from fencewright.lowering.notebook import html_table
from fencewright.simulator.race.findings import hang_text
from fencewright.simulator.race.verdict import Verdict, judge, problem_of
from fencewright.simulator.threads.launch import (
    Argument,
    Array,
    Launch,
    LaunchError,
    Module,
    Same,
    Size,
    argument_of,
    check_same,
    kernel_named,
)
from fencewright.simulator.threads.launch import execute as run_launch
from fencewright.tools.inputs.code_kind import is_amd_assembly

Sizes = int | Sequence[int]
"""A size: a number, or one to three of them."""


class Arguments(tuple[Any, ...]):
    """The arguments of a launch after it; notebooks show them as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [
            (number, f"{each.dtype}{list(each.shape)}", each.ravel()[:_SHOWN].tolist())
            if _is_array(each)
            else (number, type(each).__name__, each)
            for number, each in enumerate(self)
        ]
        return html_table("arguments after the launch", ("argument", "type", "begins with"), rows)


_SHOWN = 8
"""The elements of an array that a notebook shows."""


class ExecutionError(RuntimeError):
    """A launch that did not come to its end, or whose values are not known; one line."""


def _size(given: Sizes, what: str) -> Size:
    try:
        sizes = tuple(map(index, given if isinstance(given, Iterable) else (given,)))
    except TypeError:
        sizes = ()
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise LaunchError(f"{what} is {given!r}: one to three positive numbers are needed")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _room(given: object) -> int:
    """The bytes of dynamic shared memory. Raises ``LaunchError``."""
    if not isinstance(given, SupportsIndex) or index(given) < 0:
        raise LaunchError(f"shared is {given!r}: a number of bytes is needed")
    return index(given)


def _is_array(given: Any) -> bool:
    return hasattr(given, "dtype") and hasattr(given, "tobytes") and hasattr(given, "shape")


_LETTERS = {"i": "s", "u": "u", "f": "f"}


def _argument(given: Any, number: int, args: Sequence[Any]) -> Argument:
    if _is_array(given) and given.shape != ():
        for earlier, other in enumerate(args[:number]):
            if other is given:
                return Same(earlier)
        if given.dtype.hasobject or given.dtype.kind in "mM" or not given.dtype.isnative:
            raise LaunchError(
                f"argument {number} is an array of {given.dtype.str}: numbers in the machine's "
                "byte order are needed"
            )
        size = int(given.dtype.itemsize)
        letter = _LETTERS.get(str(given.dtype.kind), "b")
        if letter == "b" or size not in (1, 2, 4, 8) or (letter == "f" and size == 1):
            return Array("b8", int(given.nbytes))
        return Array(f"{letter}{8 * size}", int(given.size))
    value = given.item() if _is_array(given) else given
    if value is None:
        return 0
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and value.startswith(("tensormap(", "{")):
        return argument_of(value, number)
    shown = repr(given) if isinstance(given, str | complex) else f"a {type(given).__name__}"
    raise LaunchError(f"argument {number} is {shown}: a number or a NumPy array is needed")


def _is_sequence(given: object) -> bool:
    """True of several arguments, as a text is not."""
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


def _arguments(args: Sequence[Any]) -> tuple[Argument, ...]:
    if not _is_sequence(args):
        raise LaunchError(f"args is {args!r}: a tuple of the kernel's arguments is needed")
    found = tuple(_argument(each, number, args) for number, each in enumerate(args))
    check_same(found)
    return found


def _asked(
    text: str, kernel: str | None, grid: Sizes, block: Sizes | None, args: Sequence[Any],
    shared: int, cluster: Sizes | None,
) -> tuple[Module, Launch, dict[int, bytes]]:  # fmt: skip
    from fencewright.lowering.ptx.code.text import read_ptx

    module = Module(read_ptx(text, "kernel.ptx"))
    if kernel is None:
        names = [each.name for each in module.ptx.functions.values() if each.is_entry]
        if len(names) != 1:
            raise LaunchError(f"name one of the kernels: {', '.join(names) or 'there is none'}")
        kernel = names[0]
    name = kernel_named(module, kernel).name
    return module, *_launch(name, grid, block, args, shared, cluster)


def _launch(
    kernel: str, grid: Sizes, block: Sizes | None, args: Sequence[Any], shared: int,
    cluster: Sizes | None,
) -> tuple[Launch, dict[int, bytes]]:  # fmt: skip
    """A launch, and the bytes that its arrays begin with."""
    launch = Launch(
        kernel,
        _size(grid, "grid"),
        None if block is None else _size(block, "block"),
        _room(shared),
        _arguments(args),
        None if cluster is None else _size(cluster, "cluster"),
    )
    given = {
        number: bytes(args[number].tobytes())
        for number, each in enumerate(launch.arguments)
        if isinstance(each, Array)
    }
    return launch, given


def execute(
    text: str, kernel: str | None = None, *, grid: Sizes = 1, block: Sizes | None = None,
    args: Sequence[Any] = (), shared: int = 0, cluster: Sizes | None = None,
) -> Arguments:  # fmt: skip
    """The arguments of a launch of a kernel after it: arrays anew, numbers as they were.

    ``text``: PTX or AMD assembly. ``kernel``: its name, None for the only one. A tensor map
    or a struct is the text of a launch line: ``"tensormap(@0, f16[64, 128], [16, 64])"``,
    ``"{@0, i32(8)}"``. ``block``: None where the kernel declares it. ``shared``: bytes of dynamic
    shared memory. Raises ``LaunchError`` for a launch that cannot be, ``ExecutionError`` for one
    that does not end or gives values that are not known (of matrix operations, say), ``PtxError``
    or ``AssemblyError`` for other text.
    """
    if is_amd_assembly("", text):
        return _execute_amd(text, kernel, grid, block, args, shared, cluster)
    module, launch, given = _asked(text, kernel, grid, block, args, shared, cluster)
    if (found := _by_waves(module, launch, given)) is not None:
        return Arguments(map(_after, args, found))
    run = run_launch(module, launch, given=given)
    if problem := problem_of(run) or hang_text(run.program.sites, run.outcome):
        raise ExecutionError(problem)
    results: list[Any] = []
    for number, (argument, allocation) in enumerate(zip(args, run.arguments, strict=True)):
        if allocation is None or isinstance(argument, str):
            results.append(argument)
            continue
        if allocation.unknown:
            origin = next(iter(allocation.unknown.values()))[0].origin
            raise ExecutionError(f"argument {number} depends on the result of {origin}")
        if isinstance(same := launch.arguments[number], Same):
            results.append(results[same.argument])
            continue
        results.append(_after(argument, allocation.data[: allocation.size]))
    return Arguments(results)


def _by_waves(
    module: Module, launch: Launch, given: dict[int, bytes]
) -> tuple[bytes | None, ...] | None:
    """The arrays after a launch of whole waves; None where threads execute it."""
    try:
        from fencewright.simulator.race.waves.launch import executed
    except ModuleNotFoundError as problem:
        if problem.name != "numpy":
            raise
        return None
    return executed(module, launch, given)


def _after(argument: Any, data: bytes | bytearray | None) -> Any:
    """An argument after a launch, anew where it is an array with these bytes."""
    if data is None:
        return argument
    result = argument.copy(order="C")
    memoryview(result).cast("B")[:] = data
    return result


def _named(kernel: str | None, kernels: Collection[str]) -> str:
    """A kernel of AMD assembly, or its only one. Raises ``LaunchError``."""
    name = kernel or (next(iter(kernels)) if len(kernels) == 1 else "")
    if name not in kernels:
        there = ", ".join(kernels) or "none"
        what = f"there is no kernel '{name}': there is" if name else "name one of the kernels:"
        raise LaunchError(f"{what} {there}")
    return name


def _execute_amd(
    text: str, kernel: str | None, grid: Sizes, block: Sizes | None, args: Sequence[Any],
    shared: int, cluster: Sizes | None,
) -> Arguments:  # fmt: skip
    """``execute`` of AMD assembly, whose waves branch as a whole."""
    from fencewright.simulator.execution import launch as waves
    from fencewright.simulator.execution.executor import execute as run_waves
    from fencewright.simulator.race.waves.launch import MOST_INSTRUCTIONS
    from fencewright.tools.inputs.amd_kernels import kernels_of_assembly

    kernels = {each.name: each for each in kernels_of_assembly(text, "kernel.s")}
    name = _named(kernel, kernels)
    arguments = _arguments(args)
    program = kernels[name].read()
    size = program.block_size if block is None else _size(block, "block")
    if size is None:
        raise LaunchError(f"{name} does not say its block: give it")
    given = tuple(
        given if isinstance(each, Array) else each
        for given, each in zip(args, arguments, strict=True)
    )
    own = program.cluster or (1, 1, 1)
    own = own if cluster is None else _size(cluster, "cluster")
    launch = waves.Launch(_size(grid, "grid"), size, given, None, _room(shared), own)
    memory = waves.allocate(program, launch)
    try:
        found = run_waves(
            program, launch, memory, lambda _: None, limit=MOST_INSTRUCTIONS, needs_results=True
        )
    except LaunchError as problem:
        raise ExecutionError(str(problem)) from problem
    results: list[Any] = []
    for argument, each, parameter in zip(args, arguments, program.given, strict=True):
        if isinstance(each, Same):
            results.append(results[each.argument])
            continue
        data = found.contents(parameter.name).tobytes() if isinstance(each, Array) else None
        results.append(_after(argument, data))
    return Arguments(results)


def check(
    text: str, kernel: str | None = None, *, grid: Sizes = 1, block: Sizes | None = None,
    args: Sequence[Any] = (), shared: int = 0, cluster: Sizes | None = None,
) -> Verdict:  # fmt: skip
    """The verdict on a launch, executed in several schedules; arguments as of ``execute``.

    Its ``judgement`` is a word, ``findings`` say what races; ``str`` of it is what ``fence-check``
    prints. Raises ``LaunchError``, ``PtxError`` and ``AssemblyError``.
    """
    if not is_amd_assembly("", text):
        module, launch, given = _asked(text, kernel, grid, block, args, shared, cluster)
        return judge(module, launch, given)
    from fencewright.lowering.cdna.code.text import read_assembly
    from fencewright.lowering.cdna.code.variables import read_variables
    from fencewright.simulator.race.amd.verdict import judge_kernel

    assembly = read_assembly(text, "kernel.s")
    kernels = [name for name, each in assembly.functions.items() if each.descriptor]
    launch, given = _launch(_named(kernel, kernels), grid, block, args, shared, cluster)
    return judge_kernel(assembly, launch, given=given, variables=read_variables(text))
