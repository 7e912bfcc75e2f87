"""Results of a chip that nobody makes, in a process of its own: ``fake_chips.py twin|tests|generation``.

The chip is registered before anything but ``lowering/cdna/chips.py`` is imported, as if its row
stood there, and what is found is printed as JSON.
"""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from fencewright.lowering.cdna import chips
from fencewright.lowering.sequence import Target
from fencewright.lowering.table import TableError
from fencewright.lowering.vocabulary import FastStrEnum

TWIN, GENERATION = "gfx9z", "gfx9y"
EXAMPLES = Path(__file__).parents[2] / "examples"


def register(row: chips.ChipRow) -> None:
    """Add a row to the chips of this process."""
    chips.CHIPS = MappingProxyType({**chips.CHIPS, row.name: row})
    chips.KNOWN_CHIPS = MappingProxyType({**chips.KNOWN_CHIPS, row.name: row})


STEP = 10
"""``twin`` counts the tests of one operation in so many, ``tests`` those of all others."""


def twin() -> dict[str, Any]:
    """The results of gfx942 and of its fake twin by the name of the chip, and the changes of both."""
    return _of_both(_found) | {"all": _shared()}


def tests() -> dict[str, Any]:
    """The numbers of tests that gfx942 and its fake twin have, by the name of the chip."""
    return _of_both(lambda chip: _tests(chip, lambda number: number % STEP > 0))


def _of_both(found: Callable[[str], Iterator[tuple[str, Any]]]) -> dict[str, Any]:
    register(replace(chips.GFX942, name=TWIN, source="a test"))
    return {chip: dict(found(chip)) for chip in (chips.GFX942.name, TWIN)}


def _tests(chip: str, is_counted: Callable[[int], bool]) -> Iterator[tuple[str, Any]]:
    from fencewright.simulator.certify import certificate
    from fencewright.simulator.certify.shapes import shape_tests

    for features in chips.CHIPS[chip].feature_sets:
        mode = Target(chip, features)
        asked = enumerate(certificate.requests_of(mode))
        counts = [len(shape_tests(each, mode)) for number, each in asked if is_counted(number)]
        yield f"tests{mode}".replace(chip, ""), counts


def _printed(main: Callable[[list[str]], int], *arguments: str) -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        status = main(list(arguments))
    return f"{status}: {text.getvalue()}"


def _found(chip: str) -> Iterator[tuple[str, Any]]:
    from fencewright.lowering.cdna.assembly import hazards_of
    from fencewright.lowering.facts import facts_for
    from fencewright.lowering.lower import lower_request
    from fencewright.simulator.certify import certificate
    from fencewright.tools import fence_opt, fence_sim
    from fencewright.tools.fuzz import checks

    yield from _tests(chip, lambda number: number % STEP == 0)
    for features in chips.CHIPS[chip].feature_sets:
        mode = Target(chip, features)
        asked = certificate.requests_of(mode)
        texts = [(certificate.describe(each), lower_request(each).text) for each in asked]
        yield f"sequences{mode}".replace(chip, ""), texts
    mode = Target(chip)
    yield "machines", [each.name for each in certificate.machines_of(mode)]
    certified = certificate.certify_operation(certificate.requests_of(mode)[20], mode)
    yield "certified", [certified.tests, certified.operation, *map(str, certified.parts)]
    yield "hazards", hazards_of(chip)
    yield "facts", sorted(facts_for(("uncached-memory", "coherent-stores"), chip))
    example = str(EXAMPLES / "message_passing.mlir")
    yield "assembly", _printed(fence_opt.main, example, "--mcpu", chip, "-t", "asm")
    test = str(EXAMPLES / "litmus" / "message_passing.mlir")
    printed = _printed(fence_sim.main, "run", test, "--mcpu", chip)
    yield "simulated", printed.partition("\nTime")[0]
    program, setting = checks.program_of(0), checks.SETTINGS[chip]
    yield "fuzzed", checks.check(program, setting, checks.meant_by(program)).verdict


def _shared() -> dict[str, Any]:
    from fencewright.lowering.targets import backend_of, known_targets
    from fencewright.simulator.certify import certificate
    from fencewright.tools.dev.update_docs import PAGES
    from fencewright.tools.fuzz.checks import CDNA_SETTINGS

    (page,) = (make() for name, make in PAGES.items() if name.endswith("lowering-cdna.md"))
    return {
        "targets": known_targets(),
        "target id": backend_of(f"{TWIN}:xnack-").chip,
        "covers": certificate.covers(Target("gfx942")),
        "shipped": str(certificate.shipped(Target(TWIN)).mode),
        "modes": list(map(str, certificate.modes())),
        "settings": list(map(str, CDNA_SETTINGS)),
        "headings": [line for line in page.splitlines() if line.startswith("## ")],
    }


def generation() -> dict[str, str]:
    """What each module with rows of generations says of one that has none."""
    names = {each.name: each.value for each in chips.Generation} | {"FAKE": GENERATION}
    chips.Generation = cast("Any", FastStrEnum)("Generation", names)
    chips.LOWERED_GENERATIONS = (*chips.LOWERED_GENERATIONS, chips.Generation.FAKE)
    fake = cast("chips.Generation", GENERATION)
    register(replace(chips.GFX942, name=GENERATION, generation=fake, source="a test"))
    said: dict[str, str] = {}
    for module in ("lowering.cdna.assembly", "lowering.cdna.caches", "simulator.cdna.rows"):
        try:
            import_module(f"fencewright.{module}")
        except TableError as error:
            said[module] = str(error)
    from fencewright.lowering.targets import backend_of

    try:
        backend_of(GENERATION)
    except TableError as error:
        said["backend_of"] = str(error)
    return said


if __name__ == "__main__":
    print(json.dumps({"twin": twin, "tests": tests, "generation": generation}[sys.argv[1]]()))
