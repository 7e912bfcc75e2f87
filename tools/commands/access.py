"""fence-sim access: the hardware's counts of one memory instruction of a warp or wave."""

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING

from fencewright.lowering.sequence import UnsupportedError
from fencewright.tools.diagnostics import ToolError, error, is_picture, output_file
from fencewright.tools.inputs.litmus.files import name_of, read_text
from fencewright.tools.inputs.litmus.lowered import NAME
from fencewright.tools.statuses import HOLDS

if TYPE_CHECKING:
    from fencewright.simulator.execution.addresses import Addresses
    from fencewright.simulator.performance.accesses.access import AccessCounts, Model

ON_COMMAND_LINE = "<addresses>"
"""The name in place of a file where addresses were given as an argument."""


def add_commands(add_parser: Callable[..., ArgumentParser]) -> None:
    """Add ``access``."""
    parser = add_parser(
        "access",
        help="count what a memory instruction costs: requests, sectors, lines, bank conflicts",
        description="Counts of one warp's or wave's instruction, by the names of Nsight Compute "
        "and rocprofiler. L1 is cold, the base is aligned to 1 GiB.",
    )
    parser.set_defaults(execute=count_accesses)
    parser.add_argument("--mcpu", metavar="CHIP", required=True, help="as sm_90 or gfx942")
    parser.add_argument(
        "instruction",
        nargs="?",
        metavar="INSTRUCTION",
        help="as ld.global.v4.b32, ds_read_b128 or 'ds_read2_b32 offset0:0 offset1:1'",
    )
    parser.add_argument(
        "addresses",
        nargs="?",
        metavar="ADDRESSES",
        help="of every lane in bytes: an expression, as (lane%%8)*128, or a list, as 0,4,-,12 "
        "(-: an inactive lane)",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="a line for each access, INSTRUCTION and an offset for each lane; gives a JSON "
        "object a line; - for stdin",
    )
    tile = parser.add_argument_group(
        "layouts of a tile",
        "--suggest finds paddings and XOR swizzles of a tile in LDS or shared memory that have no "
        "bank conflicts. A pattern is an instruction and the element that each lane begins with, "
        "as 'ds_read_u16 row=lane%8*8 + n, col=lane//8'; n is the number of the instruction.",
    )
    tile.add_argument("--suggest", action="store_true", help="find layouts")
    tile.add_argument("--tile", metavar="ROWSxCOLUMNS", help="its elements, as 64x32")
    tile.add_argument("--element", metavar="BYTES", type=int, help="bytes of an element, as 2")
    for verb in ("write", "read"):
        tile.add_argument(
            f"--{verb}", metavar="PATTERN", action="append", default=[],
            help=f"how the tile is {'written' if verb == 'write' else 'read'}; may be repeated",
        )  # fmt: skip
    parser.add_argument(
        "-o", dest="output", default="-",
        help="file to write, - for stdout; x.svg: a picture of one access, lanes against banks or "
             "sectors",
    )  # fmt: skip


def count_accesses(arguments: Namespace) -> int:
    """Write the counts of one access, of every line of a file, or layouts of a tile."""
    if arguments.suggest:
        from fencewright.tools.commands.access_layouts import layouts_text

        if arguments.json is not None or arguments.instruction is not None:
            raise error("--suggest takes --write and --read, and no instruction", NAME)
        _no_picture(arguments)
        text = layouts_text(arguments)
        with output_file(arguments.output) as file:
            file.write(text)
        return HOLDS
    if given := [each for each in ("tile", "element", "write", "read") if getattr(arguments, each)]:
        raise error(f"--{given[0]} is for --suggest", NAME)
    if arguments.json is None:
        text = _one(arguments)
        with output_file(arguments.output) as file:
            file.write(text)
        return HOLDS
    if arguments.instruction is not None:
        raise error("give either --json FILE, or an instruction with its addresses", NAME)
    _no_picture(arguments)
    lines = list(_lines(arguments.json, read_text(arguments.json), arguments.mcpu))
    with output_file(arguments.output) as file:
        file.writelines(lines)
    return HOLDS


def _no_picture(arguments: Namespace) -> None:
    if is_picture(arguments.output):
        raise error("a picture is of one access: give an instruction and its addresses", NAME)


def _one(arguments: Namespace) -> str:
    if arguments.instruction is None or arguments.addresses is None:
        raise error("give an instruction and its addresses, or --json FILE", NAME)
    from fencewright.simulator.execution.addresses import AddressError, read
    from fencewright.simulator.performance.accesses.access import access, model_of
    from fencewright.simulator.performance.accesses.expression import addresses_of

    given: str = arguments.addresses
    try:
        model = model_of(arguments.instruction, arguments.mcpu)
        is_list = "," in given
        addresses = (
            read([each.strip() for each in given.split(",")])
            if is_list
            else addresses_of(given, model.lanes)
        )
        counts = access(model.instruction, addresses, model.target)
        if is_picture(arguments.output):
            return _picture(model, addresses, counts)
        return _table(counts, model)
    except UnsupportedError as problem:
        raise error(str(problem), NAME) from problem
    except AddressError as problem:
        at = (1, problem.column) if problem.column else (0, 0)
        raise error(str(problem), ON_COMMAND_LINE, *at) from problem


def _picture(model: "Model", addresses: "Addresses", counts: "AccessCounts") -> str:
    from fencewright.simulator.performance.accesses.bank_conflicts import places_of
    from fencewright.simulator.pictures.access_svg import access_svg
    from fencewright.simulator.pictures.missing import MissingLibraryError

    try:
        return access_svg(model, places_of(model, addresses), counts)
    except MissingLibraryError as missing:
        raise error(str(missing), NAME) from missing


def _table(counts: "AccessCounts", model: "Model") -> str:
    head = f"{model.instruction} on {model.target}, {model.lanes} lanes of {model.width} bytes\n"
    shown = {each: value for each, value in counts.values.items() if value}
    widest = max(map(len, shown), default=0)
    digits = max((len(str(value)) for value in shown.values()), default=0)
    rows = (
        f"  {each:{widest}}  {value:>{digits}}  {counts.evidence[each]}\n"
        for each, value in shown.items()
    )
    return head + "".join(rows) + ("" if shown else "  nothing is counted\n")


_LINE = re.compile(r"(\S+(?: +(?!s\d+(?: |$))[A-Za-z]\S*)*) *(.*)")
"""The mnemonic with its operands, as ``offset0:1`` and ``sc1``, and the offsets."""
_ACCESS = tuple[int, str, str]
"""The number of a line, its instruction, and its offsets."""


def _lines(file: str, text: str, target: str) -> Iterator[str]:
    """A JSON object for every line, in order; runs of one instruction are counted together."""
    from fencewright.simulator.performance.accesses.access import BATCH, model_of

    for instruction, run in groupby(_accesses(text), key=itemgetter(1)):
        waiting = iter(run)
        first = next(waiting)
        try:
            model = model_of(instruction, target)
        except UnsupportedError as problem:
            raise _placed(file, first[0], problem) from problem
        waiting = chain((first,), waiting)
        while batch := list(islice(waiting, BATCH)):
            yield from _counted(model, file, batch)


def _accesses(text: str) -> Iterator[_ACCESS]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.expandtabs(1).strip()
        if words and not words.startswith("#"):
            found = _LINE.fullmatch(words)
            assert found is not None, line
            yield number, " ".join(found[1].split()), found[2]


def _counted(model: "Model", file: str, batch: Sequence[_ACCESS]) -> Iterator[str]:
    from fencewright.simulator.execution.addresses import read_many
    from fencewright.simulator.performance.accesses.access import arrays_of

    arrays = read_many([each for _, _, each in batch], model.lanes)
    if arrays is None or not model.admits(*arrays):
        arrays = arrays_of([_checked(model, file, number, each) for number, _, each in batch])
    found = model.count(*arrays)
    line = "{" + ", ".join(f"{json.dumps(each)}: %d" for each in found) + "}\n"
    columns = [values.tolist() for values in found.values()]
    yield from (line % row for row in zip(*columns, strict=True))


def _checked(model: "Model", file: str, number: int, offsets: str) -> "Addresses":
    from fencewright.simulator.execution.addresses import AddressError, read

    try:
        addresses = read(offsets.split())
        model.check(addresses)
    except AddressError as problem:
        raise _placed(file, number, problem) from problem
    return addresses


def _placed(file: str, number: int, problem: Exception) -> ToolError:
    return error(str(problem), name_of(file), number, 1)
