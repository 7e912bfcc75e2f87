"""Dependencies point one way, and the lowering API needs neither xDSL nor llvmlite."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest
from imports import imported_modules, imports_of

ROOT = Path(__file__).parents[2]

TARGET_INDEPENDENT = tuple(f"lowering.{m}" for m in ("vocabulary", "sequence", "skeleton", "table"))

# Of the simulator, what is plain data: conditions, places, words.
CORE = ("simulator.core",)
MEANINGS = ("simulator.semantics", *CORE)
JUDGES = ("checker.findings", "checker.source", "lowering", *CORE)
DIALECTS = ("lowering", "mlir_dialects")
FINDS_OUT = (*DIALECTS, "passes.analysis")
KERNELS = (*FINDS_OUT, "passes.kernels")
PERFORMANCE = ("simulator.execution", "simulator.performance")

MAY_IMPORT = {
    "checker": ("checker", "lowering", *CORE),
    "checker/amd": ("checker.amd", *JUDGES, *MEANINGS, "simulator.cdna", "simulator.programs"),
    "checker/findings": ("checker.findings", "lowering"),
    "checker/lifting": ("checker.amd", "checker.lifting", *JUDGES),
    "checker/nvidia": (
        "checker.nvidia",
        "checker.redundant",
        "checker.verdicts",
        *JUDGES,
        "simulator.launches",
        "simulator.race",
        "simulator.threads",
    ),
    "checker/redundant": ("checker.redundant", "checker.verdicts", "lowering"),
    "checker/repair": ("checker.findings", "checker.repair", "lowering"),
    "checker/source": JUDGES,
    "checker/verdicts": ("checker.verdicts", *JUDGES, "simulator.ptx"),
    "checker/verdicts/amd": (
        "checker.amd",
        "checker.redundant",
        "checker.verdicts",
        *JUDGES,
        *MEANINGS,
        "simulator.cdna",
    ),
    "checker/verdicts/ptx": ("checker.verdicts", *JUDGES),
    "lowering": ("lowering",),
    "lowering/code": ("lowering.code", "lowering.vocabulary"),
    "mlir_dialects": (*TARGET_INDEPENDENT, "mlir_dialects"),
    "mlir_dialects/llvm_ir": DIALECTS,
    "passes": ("lowering", "mlir_dialects", "passes"),
    "passes/analysis": FINDS_OUT,
    "passes/cdna": (*FINDS_OUT, "passes.cdna", "passes.llvm_ir"),
    "passes/kernels": KERNELS,
    "passes/litmus": (*KERNELS, "passes.litmus", "passes.print", "simulator"),
    "passes/llvm_ir": (*KERNELS, "passes.llvm_ir", "passes.to_ptx"),
    "passes/print": (*KERNELS, "passes.print"),
    "passes/proxies": (*KERNELS, "passes.proxies", "passes.to_ptx"),
    "passes/scoped": (*KERNELS, "passes.scoped"),
    "passes/to_cdna": (*KERNELS, "passes.to_cdna"),
    "passes/to_ptx": (*KERNELS, "passes.scoped", "passes.to_ptx"),
    "simulator": ("simulator", "lowering.notebook"),
    "simulator/cdna": ("lowering", "simulator.cdna", *CORE),
    "simulator/certify": ("lowering", "simulator"),
    "simulator/core": ("lowering", *CORE),
    "simulator/gpu": (
        "lowering",
        "simulator.gpu",
        "simulator.ptx",
        "simulator.race",
        "simulator.threads",
        *CORE,
    ),
    "simulator/execution": ("lowering", "simulator.execution", *MEANINGS),
    "simulator/kernels": (
        "lowering",
        "simulator.kernels",
        *MEANINGS,
        *PERFORMANCE,
    ),
    "simulator/performance": ("lowering", *PERFORMANCE),
    "simulator/pictures": ("lowering", "simulator"),
    "simulator/programs": (
        "lowering",
        "simulator.cdna",
        "simulator.programs",
        "simulator.ptx",
        *MEANINGS,
    ),
    "simulator/ptx": ("lowering", "simulator.ptx", *CORE),
    "simulator/random": ("lowering", "simulator"),
    "simulator/launches": ("lowering", "simulator.launches", "simulator.threads"),
    "simulator/race": ("lowering", "simulator.race", "simulator.threads"),
    "simulator/race/amd": (
        "lowering",
        "simulator.cdna",
        "simulator.kernels",
        "simulator.race",
        "simulator.threads",
        *PERFORMANCE,
        *CORE,
    ),
    "simulator/race/waves": (
        "lowering",
        "simulator.execution",
        "simulator.kernels",
        "simulator.race",
        "simulator.semantics",
        "simulator.threads",
    ),
    "simulator/semantics": ("lowering", *MEANINGS),
    "simulator/threads": ("lowering", "simulator.semantics", "simulator.threads"),
    "simulator/source": ("lowering", "simulator.source", *CORE),
    "tools": (
        "checker",
        "extras",
        "gpu",
        "lowering",
        "mlir_dialects",
        "passes",
        "simulator",
        "tools",
        "universe",
    ),
}
"""What each room may import of Fencewright; a folder without a line is as the one it is in."""

EXCEPTIONS = {
    # A dialect of machine instructions knows the instructions of its own target.
    "mlir_dialects/cdna.py": ("lowering.cdna", "lowering.code.effects"),
    "mlir_dialects/ptx.py": ("lowering.ptx", "lowering.code.effects"),
    # A litmus test's condition and memory kinds are the simulator's, which is plain data there.
    "mlir_dialects/litmus.py": ("simulator.core.condition", "simulator.core.program"),
    # LLVM parses and prints what the dialect carries.
    "mlir_dialects/llvm_ir/parser.py": ("llvmlite",),
    "mlir_dialects/llvm_ir/read.py": ("llvmlite",),
}
"""What single files may import beyond that: none of the passes."""

WITH_NUMPY = (
    "simulator/execution",
    "simulator/kernels",
    "simulator/performance",
    "simulator/race/amd",
    "simulator/race/waves",
)
"""The rooms that count over arrays; numpy is loaded with them alone."""

FRAMEWORK = ("xdsl", "llvmlite", "numpy")
WITHOUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("checker", "lowering", "simulator"), FRAMEWORK),
    **dict.fromkeys(("mlir_dialects", "passes"), ("llvmlite",)),
}
"""The packages that a layer does without, but for the exceptions."""


def room_of(path: str) -> str:
    """The innermost folder of a file that has a line in ``MAY_IMPORT``."""
    return next(str(each) for each in PurePosixPath(path).parents if str(each) in MAY_IMPORT)


def violations(path: str, imported: Iterable[str]) -> list[str]:
    """What the file ``path`` (from the repository root) may not import of that, by its layer."""
    layer = path.partition("/")[0]
    exceptions = EXCEPTIONS.get(path, ())
    allowed = tuple(f"fencewright.{name}." for name in MAY_IMPORT[room_of(path)] + exceptions)
    found: list[str] = []
    for module in imported:
        package = module.partition(".")[0]
        wrong_layer = package == "fencewright" and not f"{module}.".startswith(allowed)
        framework = package in WITHOUT.get(layer, ())
        framework = framework and not (package == "numpy" and path.startswith(WITH_NUMPY))
        if wrong_layer or (framework and package not in exceptions) or module.startswith("."):
            found.append(module)
    return found


LAYERS = tuple(sorted(room for room in MAY_IMPORT if "/" not in room))
FILES = sorted(
    f.relative_to(ROOT).as_posix() for layer in LAYERS for f in (ROOT / layer).rglob("*.py")
)


@pytest.mark.parametrize("path", FILES)
def test_dependencies_point_one_way(path: str) -> None:
    assert violations(path, imports_of(path)) == []


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
        ("mlir_dialects/llvm_ir/write.py", "from llvmlite import binding"),
        ("mlir_dialects/cdna.py", "from fencewright.lowering.ptx import rows"),
        ("passes/cdna/waits/insert_waits.py", "import fencewright.tools.fence_opt"),
        ("lowering/cdna/code/text.py", "from fencewright.passes import pipelines"),
    ],
)
def test_a_forbidden_import_is_found(path: str, source: str) -> None:
    assert len(violations(path, imported_modules(source))) == 1


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


@pytest.mark.parametrize("layer", LAYERS)
def test_package_roots_import_nothing(layer: str) -> None:
    for init in (ROOT / layer).rglob("__init__.py"):
        assert list(imported_modules(init.read_text(encoding="utf-8"))) == []


def rooms_imported(path: str) -> Iterator[str]:
    """The rooms, other than its own, whose modules a file imports."""
    for module in imports_of(path):
        if not module.startswith("fencewright."):
            continue
        place = module.removeprefix("fencewright.").replace(".", "/")
        yield from (str(each) for each in PurePosixPath(place).parents if str(each) in ROOMS)


ROOMS = frozenset(str(PurePosixPath(path).parent) for path in FILES) - {"lowering"}
"""Every folder of code; the vocabulary and the chips of ``lowering`` are of one room."""


MOST_FILES = 15
"""The files that a room may have before it gets rooms of its own."""


def files_needed(path: str) -> frozenset[str]:
    """A file, and all that it imports, at any distance."""
    needed, pending = {path}, [path]
    while pending:
        names = (each.removeprefix("fencewright.") for each in imports_of(pending.pop()))
        modules = {str(PurePosixPath(name.replace(".", "/")).parent) for name in names}
        found = {f"{each}.py" for each in modules if (ROOT / f"{each}.py").exists()} - needed
        needed |= found
        pending += found
    return frozenset(needed)


READER = ("lowering/ptx/code/text.py", "simulator/programs/nvidia.py")
"""What reads the text of PTX, ours and everybody's."""
TWIN = (
    "simulator/certify/programs/code.py",
    "simulator/certify/programs/ptx.py",
    "lowering/ptx/text.py",
)
"""What makes programs of sequences, without their text (docs/architecture.md)."""


@pytest.mark.parametrize(("path", "twin"), [*((e, TWIN) for e in READER), (TWIN[1], READER)])
def test_twins_share_no_reader(path: str, twin: tuple[str, ...]) -> None:
    needed = files_needed(path)
    assert len(needed) > 5
    assert needed.isdisjoint(twin)


def test_no_room_has_too_many_files() -> None:
    sizes = Counter(
        str(PurePosixPath(path).parent) for path in FILES if not path.endswith("__init__.py")
    )
    assert {room: size for room, size in sizes.items() if size > MOST_FILES} == {}


DRIVERS = "tools"
"""The room whose files are called as the commands are, ``fence_check`` and so on."""


def prefixes(paths: Iterable[str]) -> dict[str, int]:
    """The first words that three files of a room or more share, each with its room, and how many do."""
    names = (PurePosixPath(path) for path in paths if not path.endswith("__init__.py"))
    shared = Counter(f"{each.parent}/{each.stem.partition('_')[0]}" for each in names)
    return {prefix: count for prefix, count in shared.items() if count > 2}


def test_prefixes_of_file_names_are_rooms() -> None:
    assert prefixes(path for path in FILES if str(PurePosixPath(path).parent) != DRIVERS) == {}


def test_a_prefix_of_three_files_is_found() -> None:
    files = ("tools/inputs/x.py", "tools/inputs/x_a.py", "tools/inputs/x_b.py", "tools/y_c.py")
    assert prefixes(files) == {"tools/inputs/x": 3}


def test_no_room_needs_itself_by_way_of_others() -> None:
    needs = {room: set[str]() for room in ROOMS}
    for path in FILES:
        mine = str(PurePosixPath(path).parent)
        if mine in ROOMS and mine != "tools":
            needs[mine] |= {room for room in rooms_imported(path) if not mine.startswith(room)}
    assert len(list(TopologicalSorter(needs).static_order())) == len(ROOMS)


MOST_ARROWS = 23
"""Of the rooms of the checker to one another."""


def test_the_rooms_of_the_checker_have_few_arrows() -> None:
    arrows = {
        (str(PurePosixPath(path).parent), room)
        for path in FILES
        if path.startswith("checker/")
        for room in rooms_imported(path)
        if room.startswith("checker/")
    }
    assert len({(a, b) for a, b in arrows if a != b}) <= MOST_ARROWS
