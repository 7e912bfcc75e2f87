"""Partition modes: what one agent has of a device."""

import pytest

from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.performance.devices import DEVICES, PARTITIONINGS, USUAL
from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.performance.partitions import partition_of

GIB = 1 << 30


@pytest.mark.parametrize(
    ("name", "mode", "said"),
    [
        # agents, XCDs of one, CUs of one
        ("mi300x", "SPX", (1, 8, 304)),
        ("mi300x", "DPX", (2, 4, 152)),
        ("mi300x", "QPX", (4, 2, 76)),
        ("mi300x", "CPX", (8, 1, 38)),
        ("mi300a", "SPX", (1, 6, 228)),
        ("mi300a", "TPX", (3, 2, 76)),
        ("mi300a", "CPX", (6, 1, 38)),
        ("mi355x", "SPX", (1, 8, 256)),
        ("mi250x", None, (2, 1, 110)),
        ("mi100", None, (1, 1, 120)),
    ],
)
def test_what_an_agent_has(name: str, mode: str | None, said: tuple[int, int, int]) -> None:
    found = partition_of(name, mode)
    units = found.dies * found.device.compute_units
    assert (found.agents, found.dies, units) == said
    assert found.agents * found.dies == found.device.dies


def test_an_agent_of_one_xcd_has_one_l2() -> None:
    """As the lowering says: in CPX a release at agent scope writes nothing back."""
    one, many = (partition_of("gfx942", mode).l2_per_agent for mode in ("CPX", "SPX"))
    assert (one, many) == (L2PerAgent.ONE, L2PerAgent.MANY)
    for l2_per_agent, writes_back in ((one, False), (many, True)):
        sequence = lower(
            op="fence", ordering="release", scope="agent", target="gfx942",
            l2_per_agent=l2_per_agent,
        )  # fmt: skip
        found = any("buffer_wbl2" in each.text for each in sequence.instructions)
        assert found is writes_back


def test_devices_without_modes_agree_with_their_chips() -> None:
    for name in ("gfx908", "gfx90a"):
        assert partition_of(name).l2_per_agent is CHIPS[name].l2_per_agent


def test_every_device_is_a_board_of_its_chip() -> None:
    for device in DEVICES:
        assert device.name in CHIPS[device.chip].boards
        for mode in device.modes:
            assert partition_of(device.name, mode).agents >= 1
    assert {device.chip for device in DEVICES} == set(USUAL)


def test_an_agent_has_as_many_xcds_as_the_driver_wants() -> None:
    least = {row.mode: row.least for row in PARTITIONINGS}
    for device in DEVICES:
        for mode in device.modes:
            assert partition_of(device.name, mode).dies >= least[mode]


@pytest.mark.parametrize(
    ("name", "mode", "said"),
    [
        ("mi300", "SPX", "unknown device; accepted: mi100"),
        ("mi300x", "TPX", "no such mode; accepted: SPX, DPX, QPX, CPX"),
        ("mi250x", "CPX", "no partition modes: each die is an agent"),
    ],
)
def test_what_there_is_not(name: str, mode: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        partition_of(name, mode)
