"""The rows of the memory hierarchy: each figure with a source, and no two that contradict."""

from collections.abc import Iterator
from dataclasses import fields

import pytest

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.performance.accesses import HIERARCHIES as CDNA
from fencewright.lowering.cdna.performance.accesses import SCALAR_REGISTERS, UNDESCRIBED
from fencewright.lowering.cdna.performance.devices import DEVICES as CDNA_DEVICES
from fencewright.lowering.evidence import Evidence, Figure
from fencewright.lowering.ptx.chip import CHIPS as PTX_CHIPS
from fencewright.lowering.ptx.performance.accesses import HIERARCHIES as PTX
from fencewright.lowering.ptx.performance.devices import DEVICES as PTX_DEVICES
from fencewright.lowering.ptx.performance.devices import USUAL


def figures() -> Iterator[tuple[str, Figure]]:
    named = [
        *((each.chip, each) for each in CDNA),
        *((f"sm_{each.number}", each) for each in PTX),
        *((each.name, each) for each in (*CDNA_DEVICES, *PTX_DEVICES)),
    ]
    for name, row in named:
        for field in fields(row):
            value = getattr(row, field.name)
            if isinstance(value, Figure):
                yield f"{name} {field.name}", value


@pytest.mark.parametrize(("name", "figure"), list(figures()))
def test_a_figure_is_a_range_with_a_source(name: str, figure: Figure) -> None:
    assert 0 <= figure.low <= figure.high, name
    assert figure.source, name


def test_every_chip_has_its_memories() -> None:
    described = {each.chip for each in CDNA}
    for name, chip in CHIPS.items():
        assert (name in described) + chip.generic + (chip.generation in UNDESCRIBED) == 1, name
    assert {each.number for each in PTX} == {each.number for each in PTX_CHIPS}


def test_a_cache_is_whole_sets_of_lines() -> None:
    for each in CDNA:
        assert each.l1 % each.l1_line == 0
        for size, ways in ((each.l2, each.l2_ways), (each.mall, each.mall_ways)):
            if size is not None:
                assert ways is not None
                sets = size / (each.l2_line * ways.high)
                assert sets == int(sets)
                assert int(sets).bit_count() == 1
        assert CHIPS[each.chip].lds_bytes % each.lds_granule == 0


def test_levels_are_slower_the_farther_they_are() -> None:
    for each in PTX:
        found = [each.l1_latency, each.l2_latency, each.memory_latency]
        known = [figure.low for figure in found if figure is not None]
        assert known == sorted(known)
    for device in CDNA_DEVICES:
        found = [device.l2_latency, device.last_level_latency, device.memory_latency]
        known = [figure.low for figure in found if figure is not None]
        assert known == sorted(known)


def test_what_was_measured_in_cycles_and_in_nanoseconds_agrees() -> None:
    """MI300X, L2: 208 to 224 cycles by one author, 81.3 to 85.3 ns by another, who did not say of what."""
    (chip,) = [each for each in CDNA if each.chip == "gfx942"]
    (device,) = [each for each in CDNA_DEVICES if each.name == "mi300x"]
    assert chip.l2_latency is not None
    assert device.l2_latency is not None
    assert chip.l2_latency.evidence is device.l2_latency.evidence is Evidence.MEASURED
    nanoseconds = chip.l2_latency.low * 1000 / device.clock.high
    assert device.l2_latency.low < nanoseconds < 1.3 * device.l2_latency.high


def test_a_device_has_the_memory_chip_that_its_name_means() -> None:
    for number, name in USUAL.items():
        (device,) = [each for each in PTX_DEVICES if each.name == name]
        assert device.number == number


def test_waves_fall_with_scalar_registers() -> None:
    waves = [count for _, count in SCALAR_REGISTERS.waves]
    assert waves == sorted(waves, reverse=True)
    assert SCALAR_REGISTERS.waves[-1][0] == SCALAR_REGISTERS.addressable
