"""How lit runs the tests below this folder: ``make lit``."""

import os
import re
import shlex
import sys
import tempfile
import zlib

from fencewright.tools.dev.fork_server import preload
from fencewright.tools.dev.lit_format import InFork
from fencewright.tools.dev.lit_runner import EXCLUDED, SUFFIXES, features
from fencewright.tools.embedded.in_process import TOOLS
from fencewright.tools.llvm_tools import LLVM_VERSION, find_llvm_tool

config.name = "fencewright"
config.test_format = InFork()
config.test_source_root = os.path.dirname(__file__)
# A folder of its own for each checkout: two may run at a time.
checkout = zlib.crc32(config.test_source_root.encode())
config.test_exec_root = os.path.join(
    tempfile.gettempdir(), f"fencewright-lit-{os.getuid()}-{checkout:08x}"
)
config.suffixes = set(SUFFIXES)
config.excludes = set(EXCLUDED)
config.available_features.update(features())


def command(name: str, *words: str) -> tuple[str, str]:
    """A substitution of the command ``name``, but not of paths that it is part of."""
    text = shlex.join(words)
    return rf"(?<![\w./-]){re.escape(name)}(?![\w./=-])", text.replace("\\", r"\\")


preload()
run_module = (sys.executable, "-m")

# LLVM's FileCheck is the stricter of the two: FENCEWRIGHT_FILECHECK=python takes the other.
filecheck = find_llvm_tool("FileCheck")
use_llvm = filecheck is not None and os.environ.get("FENCEWRIGHT_FILECHECK") != "python"

config.substitutions += [
    # lit's own come after these: what it puts in for a path stays one word, spaces or not.
    *((name, f'"{name}"') for name in ("%s", "%S", "%t")),
    command("filecheck", *([filecheck] if use_llvm else [*run_module, "filecheck"])),
    *(command(name, *run_module, module) for name, module in TOOLS.items()),
    *(
        command(spelling, path)
        for name in features()
        for spelling in (name, f"{name}-{LLVM_VERSION}")
        if (path := find_llvm_tool(name))
    ),
]
