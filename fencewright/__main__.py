"""``fencewright``: the project's programs by one name, as ``uvx fencewright opt x.mlir``."""

import sys
from difflib import get_close_matches

from fencewright.tools.programs import PROGRAMS
from fencewright.tools.statuses import USAGE
from fencewright.tools.streams import print_or_fail
from fencewright.tools.version import VERSION

NAME = "fencewright"


def _listing() -> str:
    width = max(len(each.short_name) for each in PROGRAMS)
    lines = [f"usage: {NAME} COMMAND ...", "", "commands, each with --help:"]
    lines += [f"  {each.short_name:{width}}  {each.name}: {each.purpose}" for each in PROGRAMS]
    return "\n".join(lines)


def main() -> int:
    """Run the program that the command line names, and return its exit status."""
    command, *rest = sys.argv[1:] or ["--help"]
    if command in ("-h", "--help"):
        return print_or_fail(NAME, _listing)
    if command in ("-v", "--version"):
        return print_or_fail(NAME, VERSION.format)
    known = {name: each for each in PROGRAMS for name in (each.short_name, each.name)}
    if command not in known:
        near = get_close_matches(command, known, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"{NAME} --help lists them"
        print(f"{NAME}: error: no command '{command}'; {hint}", file=sys.stderr)
        return USAGE
    program = known[command]
    sys.argv = [program.name, *rest]
    return program.run()


if __name__ == "__main__":
    sys.exit(main())
