"""How lit runs these tests: lit examples/compiler/tests."""

import sys
from pathlib import Path

import lit.formats

config.name = "mailbox"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = {".mlir"}
program = Path(__file__).resolve().parents[1] / "mailbox.py"
config.substitutions += [
    ("%mailbox-opt", f"'{sys.executable}' '{program}'"),
    ("%filecheck", f"'{sys.executable}' -m filecheck"),
]
