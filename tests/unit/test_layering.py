"""Dependencies point one way, and the lowering API needs neither xDSL nor llvmlite."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TARGET_INDEPENDENT = tuple(f"lowering.{m}" for m in ("vocabulary", "sequence", "skeleton", "table"))

MAY_IMPORT = {
    "lowering": ("lowering",),
    "simulator": ("lowering", "simulator"),
    "checker": ("checker", "lowering", "simulator"),
    "mlir_dialects": (*TARGET_INDEPENDENT, "mlir_dialects"),
    "passes": ("lowering", "mlir_dialects", "passes"),
    "tools": (
        "checker",
        "gpu",
        "lowering",
        "mlir_dialects",
        "passes",
        "simulator",
        "tools",
        "universe",
    ),
}
"""What each layer may import of Fencewright."""

EXCEPTIONS = {
    # A dialect of machine instructions knows the instructions of its own target.
    "mlir_dialects/cdna.py": ("lowering.cdna",),
    "mlir_dialects/ptx.py": ("lowering.ptx",),
    # A litmus test's condition and memory kinds are the simulator's, which is plain data there.
    "mlir_dialects/litmus.py": ("simulator.condition", "simulator.program"),
    # From modules to the programs that the simulator executes.
    **dict.fromkeys(
        (
            "passes/litmus_programs.py",
            "passes/litmus_source.py",
            "passes/litmus_cdna.py",
            "passes/litmus_ptx.py",
            "passes/read_litmus.py",
            "passes/verify_lowering.py",
            # And back: from programs that were drawn at random to modules.
            "passes/build_litmus.py",
        ),
        ("simulator",),
    ),
    # The bridge between LLVM IR text and dialects.
    "lowering/llvm_ir.py": ("mlir_dialects", "xdsl", "llvmlite"),
}
"""What single files may import beyond that."""

WITHOUT_FRAMEWORK = ("checker", "lowering", "simulator")
FRAMEWORK = ("xdsl", "llvmlite", "numpy")


def imported_modules(source: str) -> Iterator[str]:
    """The full name of every module or name that ``source`` imports, at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def violations(path: str, source: str) -> list[str]:
    """The imports of the file ``path`` (from the repository root) that its layer forbids."""
    layer = path.partition("/")[0]
    exceptions = EXCEPTIONS.get(path, ())
    allowed = tuple(f"fencewright.{name}." for name in MAY_IMPORT[layer] + exceptions)
    found: list[str] = []
    for module in imported_modules(source):
        package = module.partition(".")[0]
        wrong_layer = package == "fencewright" and not f"{module}.".startswith(allowed)
        framework = layer in WITHOUT_FRAMEWORK and package in FRAMEWORK
        if wrong_layer or (framework and package not in exceptions) or module.startswith("."):
            found.append(module)
    return found


FILES = sorted(
    str(f.relative_to(ROOT)) for layer in MAY_IMPORT for f in (ROOT / layer).rglob("*.py")
)


@pytest.mark.parametrize("path", FILES)
def test_dependencies_point_one_way(path: str) -> None:
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lowering/table.py", "from fencewright.mlir_dialects.scoped import Scoped"),
        ("lowering/table.py", "import xdsl.ir"),
        ("lowering/table.py", "def f():\n    from llvmlite import binding"),
        ("lowering/table.py", "from .sequence import Request"),
        ("simulator/machine.py", "from fencewright.passes import pipelines"),
        ("mlir_dialects/scoped.py", "from fencewright.lowering.cdna import instructions"),
        ("mlir_dialects/scoped.py", "from fencewright import passes"),
        ("mlir_dialects/cdna.py", "from fencewright.lowering.ptx import rows"),
        ("passes/insert_waits.py", "import fencewright.tools.fence_opt"),
        ("checker/cdna_text.py", "from fencewright.passes import pipelines"),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str) -> None:
    assert len(violations(path, source)) == 1


def test_the_lowering_api_loads_no_framework() -> None:
    script = (
        "import sys, fencewright\n"
        "from fencewright.lowering.lower import lower\n"
        "lower(op='load', ordering='acquire', scope='agent', space='global', target='gfx942')\n"
        f"print([name for name in {FRAMEWORK} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_package_roots_import_nothing(layer: str) -> None:
    for init in (ROOT / layer).rglob("__init__.py"):
        assert list(imported_modules(init.read_text(encoding="utf-8"))) == []
