"""A chip is one row: a fake twin gets all that its twin gets, a fake generation a list of holes."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from campaigns import first_of

from fencewright.lowering.cdna import assembly, caches
from fencewright.lowering.cdna.chips import (
    CHIPS,
    KNOWN_CHIPS,
    LOWERED_GENERATIONS,
    ChipRow,
    Generation,
    chips_of,
)
from fencewright.lowering.cdna.generations.common import load_chip
from fencewright.lowering.cdna.instructions import CACHE_COUNTS, Counts
from fencewright.lowering.cdna.performance import accesses as memory
from fencewright.lowering.cdna.performance.accesses import HIERARCHIES
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.table import Illegal, Table
from fencewright.lowering.targets import backend_of, known_targets
from fencewright.simulator.cdna import rows
from fencewright.tools.fuzz.checks import CDNA_SETTINGS

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "fake_chips.py"
TWIN = "gfx9z"


def said_of(what: str) -> dict[str, Any]:
    """The findings of ``fake_chips.py``."""
    command = [sys.executable, str(SCRIPT), what]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def twin() -> dict[str, Any]:
    """The results of gfx942 and of its fake twin; the tests of every tenth operation are counted."""
    return said_of("twin")


def are_alike(found: dict[str, Any]) -> bool:
    return json.loads(json.dumps(found[TWIN]).replace(TWIN, "gfx942")) == found["gfx942"]


def has_tests(found: dict[str, Any]) -> bool:
    return all(sum(each) > 1_000 for name, each in found.items() if name.startswith("tests"))


def test_a_twin_gets_what_its_twin_gets(twin: dict[str, Any]) -> None:
    """Sequences and the number of tests of each, in every mode; code, verdicts, certificates."""
    assert len(twin["gfx942"]) == 11
    assert are_alike(twin)


@pytest.mark.parametrize("operations", first_of(["the first", "others"]))
def test_a_twin_has_as_many_tests_of_each_operation(operations: str, twin: dict[str, Any]) -> None:
    found = twin if operations == "the first" else said_of("tests")
    names = [name for name in found["gfx942"] if name.startswith("tests")]
    assert len(names) == 2
    assert are_alike(found)
    assert has_tests(found[TWIN])


def test_what_is_found_of_a_twin_is_something(twin: dict[str, Any]) -> None:
    found = twin[TWIN]
    assert all(len(each) > 100 for name, each in found.items() if name.startswith("sequences"))
    assert ".amdhsa_kernel" in found["assembly"]
    assert found["simulated"].startswith("0: Test")
    assert found["certified"][0] > 50
    assert found["fuzzed"] == "sound"


def test_a_twin_is_wherever_chips_are_listed(twin: dict[str, Any]) -> None:
    found = twin["all"]
    assert TWIN in found["targets"]
    assert found["target id"] == TWIN
    assert TWIN in found["covers"]
    assert found["shipped"] == "gfx942"
    assert not any(TWIN in mode for mode in found["modes"])
    assert f"## gfx942, gfx950, gfx9-4-generic and {TWIN}" in found["headings"]


def test_a_twin_does_not_change_the_order_of_settings(twin: dict[str, Any]) -> None:
    before = list(map(str, CDNA_SETTINGS))
    assert twin["all"]["settings"] == [*before, TWIN, f"{TWIN}-tgsplit"]


def test_a_generation_without_rows_says_which_are_missing() -> None:
    said = said_of("generation")
    assert said.pop("backend_of") == "gfx9y: no file of rows lowering/cdna/generations/gfx9y.py"
    assert set(said) == {"lowering.cdna.assembly", "lowering.cdna.caches", "simulator.cdna.rows"}
    for message in said.values():
        assert "no row covers" in message
        assert "generation=gfx9y" in message


def test_the_tables_of_generations_are_those_that_say_so() -> None:
    """Every other table is of a chip's own file, or of all chips."""
    found = {
        file.relative_to(ROOT).as_posix()
        for folder in ("lowering", "passes", "simulator", "tools")
        for file in (ROOT / folder).rglob("*.py")
        if re.search(
            '"generation": (LOWERED_GENERATIONS|Generation)', file.read_text(encoding="utf-8")
        )
    }
    modules = (assembly, caches, memory, rows)
    assert {
        f"{each.__name__.removeprefix('fencewright.').replace('.', '/')}.py" for each in modules
    } == found
    for module in modules:
        assert any(
            isinstance(each, Table) and "generation" in each.columns
            for each in vars(module).values()
        )


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_every_chip_has_a_source_and_a_generation_with_rules(chip: ChipRow) -> None:
    assert chip.source
    assert chip.name in chips_of(chip.generation)
    assert chip.generation in LOWERED_GENERATIONS
    assert load_chip(chip.name).features == chip.feature_sets[-1]


def test_a_chip_that_is_only_read_is_nowhere_to_be_lowered_for() -> None:
    only_read = KNOWN_CHIPS.keys() - CHIPS.keys()
    assert {"gfx1010", "gfx1030", "gfx1100", "gfx1151"} <= only_read
    assert not only_read & set(known_targets())
    assert not {KNOWN_CHIPS[name].generation for name in only_read} & set(LOWERED_GENERATIONS)
    for name in sorted(only_read):
        with pytest.raises(
            UnsupportedError, match=f"target {name}: fence-check and fence-sim know"
        ):
            backend_of(name)


def test_no_two_chips_have_one_number_in_code_objects() -> None:
    assert len({each.elf_machine for each in KNOWN_CHIPS.values()}) == len(KNOWN_CHIPS)


def test_every_generation_is_called_as_its_first_chip() -> None:
    assert [chips_of(each)[0] for each in Generation] == list(Generation)


def test_what_was_measured_is_of_chips_in_the_rows() -> None:
    assert {each.chip for each in HIERARCHIES} <= CHIPS.keys()


# No other place names a chip


ROWS = {
    *(
        f"lowering/cdna/{name}.py"
        for name in ("chips", "performance/accesses", "performance/devices")
    ),
    "checker/findings/amd.py",
    "checker/findings/page.py",
}
"""Where chips have their names, the others for what was measured on one, or as what examples of rules
are for; all else has a generation, a trait, or asks ``chips``.
"""


def named_chips(file: Path) -> Iterator[str]:
    """The strings of a file that are a chip's name."""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "gfx" in text else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"gfx\d[\w-]*", node.value):
                yield node.value


def test_chips_are_named_in_their_rows_alone() -> None:
    folders = (
        "checker",
        "fencewright",
        "lowering",
        "mlir_dialects",
        "passes",
        "simulator",
        "tools",
    )
    files = {file for folder in folders for file in (ROOT / folder).rglob("*.py")}
    found = {file.relative_to(ROOT).as_posix() for file in files if any(named_chips(file))}
    assert found == ROWS


# Does cache maintenance count in vmcnt?


def test_the_machine_counts_what_surely_counts_and_nothing_that_does_not() -> None:
    """The machine has rows of its own; it decides where the lowering has to allow for both."""
    (mnemonics,) = CACHE_COUNTS.columns.values()
    seen = set[tuple[object, bool]]()
    for (_, mnemonic, *_), row in rows.CACHE.items():
        if mnemonic in mnemonics and not isinstance(row.value, Illegal):
            seen.add((mnemonic, row.value.counts))
    for mnemonic, counts in product(mnemonics, (False, True)):
        if (mnemonic, counts) in seen:
            assert CACHE_COUNTS[mnemonic,].value in (
                Counts.MAY,
                Counts.YES if counts else Counts.NO,
            )
    assert {mnemonic for mnemonic, _ in seen} == set(mnemonics)
    assert len(seen) == len(mnemonics)
