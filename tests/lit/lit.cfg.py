"""How lit runs the tests below this folder; tools/lit_runner.py runs the same files in one process."""

import os
import re
import sys
import tempfile

import lit.formats

from fencewright.tools import fork_server
from fencewright.tools.lit_runner import (
    EXCLUDED,
    LLVM_VERSION,
    SERVER,
    SUFFIXES,
    TOOLS,
    features,
    find_llvm_tool,
)

config.name = "fencewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(tempfile.gettempdir(), f"fencewright-lit-{os.getuid()}")
config.suffixes = set(SUFFIXES)
config.excludes = set(EXCLUDED)
config.available_features.update(features())


def command(name: str, text: str) -> tuple[str, str]:
    """A substitution of the command ``name``, but not of paths that it is part of."""
    return rf"(?<![\w./-]){re.escape(name)}(?![\w./=-])", text.replace("\\", r"\\")


# With the server of make lit a module starts in a tenth of the time.
server = lit_config.params.get(SERVER)
run_module = fork_server.replacement(server) if server else f"{sys.executable} -m"

# LLVM's FileCheck is the stricter of the two: FENCEWRIGHT_FILECHECK=python takes the other.
filecheck = find_llvm_tool("FileCheck")
if filecheck is None or os.environ.get("FENCEWRIGHT_FILECHECK") == "python":
    filecheck = f"{run_module} filecheck"

config.substitutions += [
    command("filecheck", filecheck),
    *(command(name, f"{run_module} {module}") for name, module in TOOLS.items()),
    *(
        command(spelling, path)
        for name in features()
        for spelling in (name, f"{name}-{LLVM_VERSION}")
        if (path := find_llvm_tool(name))
    ),
]
