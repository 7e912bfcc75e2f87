"""docs/reference/memory.md: the rows of the memory hierarchy of both vendors."""

from collections.abc import Iterable, Mapping

from fencewright.lowering.cdna.caches import ACCESS_NOUNS
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.performance import accesses as cdna
from fencewright.lowering.cdna.performance import devices as cdna_devices
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.evidence import Figure
from fencewright.lowering.ptx.performance import accesses as ptx
from fencewright.lowering.ptx.performance import devices as ptx_devices
from fencewright.lowering.table import Illegal
from fencewright.tools.reports.markdown import markdown_table

UNKNOWN = "not known"
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def memory_parts() -> Mapping[str, str]:
    """The tables of docs/reference/memory.md."""
    return {
        "caches": "\n".join((_by_chip(_cdna_caches()), *_undescribed())),
        "figures": _by_chip(_cdna_figures()),
        "lds": _lds(),
        "control": _control(),
        "devices": _cdna_devices(),
        "between": _between(),
        "partitions": _partitionings(),
        "sms": _ptx_memories(),
        "requests": _requests(),
        "policies": _policies(),
        "fences": _fences(),
        "gpus": _gpus(),
    }


def _bytes(size: float) -> str:
    for unit, name in _UNITS:
        if size >= unit and size % unit == 0:
            return f"{size / unit:g} {name}"
    return f"{size:g} B"


def _figure(figure: Figure | None) -> str:
    return UNKNOWN if figure is None else f"{figure} ({figure.evidence}: {figure.source})"


def _size(figure: Figure | None) -> str:
    return (
        UNKNOWN if figure is None else f"{_bytes(figure.high)} ({figure.evidence}: {figure.source})"
    )


def _or_none(size: int | None) -> str:
    return "none" if size is None else _bytes(size)


# CDNA


def _by_chip(rows: Iterable[tuple[str, list[str]]]) -> str:
    return markdown_table(
        ("", *(each.chip for each in cdna.HIERARCHIES)), [(name, *cells) for name, cells in rows]
    )


def _shared(cache: cdna.SharedCache | None) -> str:
    if cache is None:
        return UNKNOWN
    ways = "" if cache.ways is None else f", {cache.ways} ways"
    return f"{_bytes(cache.size)} of {cache.compute_units} CUs, lines of {cache.line} B{ways}"


def _undescribed() -> Iterable[str]:
    """The generations without a row, by the reason."""
    for reason in dict.fromkeys(cdna.UNDESCRIBED.values()):
        chips = ", ".join(each for each, own in cdna.UNDESCRIBED.items() if own == reason)
        yield f"Chips of {chips} are {UNKNOWN}: {reason}. `access` and `traffic` refuse them.\n"


def _cdna_caches() -> list[tuple[str, list[str]]]:
    chips = cdna.HIERARCHIES
    return [
        ("LDS of a CU", [_bytes(CHIPS[each.chip].lds_bytes) for each in chips]),
        ("LDS granule", [_bytes(each.lds_granule) for each in chips]),
        ("LDS banks", [f"{each.lds_banks} of 4 B" for each in chips]),
        ("vector L1 of a CU", [_bytes(each.l1) for each in chips]),
        ("L1 line", [_bytes(each.l1_line) for each in chips]),
        ("L1 ways", [UNKNOWN if each.l1_ways is None else str(each.l1_ways) for each in chips]),
        ("L1 read request", [f"{_bytes(each.l1_request)} ({each.l1_request_evidence})"
                             for each in chips]),
        ("L1 write request", [_bytes(cdna.WRITE_REQUEST) for _ in chips]),
        ("private memory of a lane, bytes together", [_figure(cdna.PRIVATE_WORD) for _ in chips]),
        ("scalar L1", [_shared(each.scalar) for each in chips]),
        ("instruction L1", [_shared(each.instructions) for each in chips]),
        ("L2", [_bytes(each.l2) for each in chips]),
        ("L2 line", [_bytes(each.l2_line) for each in chips]),
        ("L2 ways", [_figure(each.l2_ways) for each in chips]),
        ("L2 channels", [str(each.l2_channels) for each in chips]),
        ("L2 channel interleave", [_figure(each.channel_interleave) for each in chips]),
        ("L2 read from the fabric", [_bytes(each.fabric_read) for each in chips]),
        ("L2 write to the fabric", [_bytes(each.fabric_write) for each in chips]),
        ("last-level cache of the device", [_or_none(each.mall) for each in chips]),
        ("its ways", ["none" if each.mall is None else _figure(each.mall_ways) for each in chips]),
        ("source", [each.source for each in chips]),
    ]  # fmt: skip


def _cdna_figures() -> list[tuple[str, list[str]]]:
    chips = cdna.HIERARCHIES
    registers = cdna.SCALAR_REGISTERS
    waves = ", ".join(f"{count} up to {most}" for most, count in registers.waves)
    return [
        ("L1 latency", [_figure(each.l1_latency) for each in chips]),
        ("L2 latency", [_figure(each.l2_latency) for each in chips]),
        ("last-level latency", ["none" if each.mall is None else _figure(each.mall_latency)
                                for each in chips]),
        ("memory latency", [_figure(each.memory_latency) for each in chips]),
        ("write-back of one wave, ns", [_figure(each.write_back) for each in chips]),
        ("invalidate of one wave, ns", [_figure(each.invalidate) for each in chips]),
        ("L1 rate", [_figure(each.l1_rate) for each in chips]),
        ("LDS rate, of 32 banks", [_figure(cdna.LDS_BANDWIDTH) for _ in chips]),
        ("L2 rate", [_figure(each.l2_rate) for each in chips]),
        ("waves of a SIMD", [str(each.waves) for each in chips]),
        ("SIMDs of a CU", [str(cdna.SIMDS) for _ in chips]),
        ("vector registers of a lane, granule", [_vector(each.chip) for each in chips]),
        (f"waves by scalar registers ({registers.source})", [waves for _ in chips]),
    ]  # fmt: skip


def _vector(chip: str) -> str:
    row = CHIPS[chip].vector_registers
    also = "" if row.unified else f", and {row.count} accumulation registers apart"
    return f"{row.count}, {row.granule}{also}"


def _lds() -> str:
    rows = [
        (
            f"{ACCESS_NOUNS[row.access]}, {row.width} B",
            ", ".join(each.chip for each in cdna.HIERARCHIES if each.lds_banks in row.lds_banks),
            str(row.banks),
            " ".join(_ranges(phase) for phase in row.phases[: len(row.phases) // 2]),
            f"{row.evidence}: {row.source}",
        )
        for row in cdna.LDS_PHASES
    ]  # fmt: skip
    columns = ("access", "chips", "banks", "phases, of the lower 32 lanes; the same of the upper",
               "from")  # fmt: skip
    return markdown_table(columns, rows)


def _ranges(lanes: tuple[int, ...]) -> str:
    starts = [each for each in lanes if each - 1 not in lanes]
    ends = [each for each in lanes if each + 1 not in lanes]
    return "{" + ",".join(f"{a}-{b}" for a, b in zip(starts, ends, strict=True)) + "}"


def _control() -> str:
    rows: list[tuple[str, ...]] = []
    with_last_level = {each.chip for each in cdna.HIERARCHIES if each.mall is not None}
    for row in cdna.CONTROL.rows:
        if isinstance(row.value, Illegal):
            continue
        control, where = row.value, row.where
        chip = CHIPS[str(where["generation"][0])]
        hint = "nt" if chip.scope_bits else "slc"
        bits = " or ".join(str(each) or "none" for each in where["bits"])
        rows.append(
            (
                ", ".join(map(str, where["generation"])),
                ", ".join(ACCESS_NOUNS[Kind(each)] for each in where["access"]),
                control.scope,
                bits if where["reuse"][0] else f"{bits}, and {hint}",
                ", ".join(map(str, where.get("l2", ("one", "many")))),
                ", ".join("yes" if each else "no" for each in where.get("tgsplit", (False, True))),
                control.policy.l1, control.policy.l2,
                control.policy.last_level if chip.name in with_last_level else "none",
                f"{control.evidence}: {row.source}",
            )
        )  # fmt: skip
    columns = ("generation", "access", "scope", "bits", "L2s of an agent", "tgsplit", "L1", "L2",
               "last level", "from")  # fmt: skip
    return markdown_table(columns, rows)


def _cdna_devices() -> str:
    rows = [
        (
            each.name, each.chip, f"{each.dies} of {each.compute_units} CUs", _bytes(each.memory),
            _figure(each.clock), _figure(each.bandwidth), _figure(each.copy_bandwidth),
            _figure(each.last_level_bandwidth), _latency(each.l2_latency, each.clock.high),
            _latency(each.last_level_latency, each.clock.high),
            _latency(each.memory_latency, each.clock.high), each.source,
        )
        for each in cdna_devices.DEVICES
    ]  # fmt: skip
    columns = ("device", "chip", "XCDs or dies", "memory", "clock, MHz", "peak bandwidth",
               "measured copy", "last-level bandwidth", "L2 latency", "last-level latency",
               "memory latency", "source")  # fmt: skip
    return markdown_table(columns, rows)


def _latency(figure: Figure | None, clock: float) -> str:
    if figure is None:
        return UNKNOWN
    low, high = (round(each * clock / 1000) for each in (figure.low, figure.high))
    cycles = f"{low}" if low == high else f"{low} to {high}"
    return f"{figure} ns, {cycles} cycles ({figure.evidence}: {figure.source})"


def _between() -> str:
    rows = [
        ("an atomic, to a CU of the same XCD", cdna_devices.ATOMIC_WITHIN_XCD, "ns"),
        ("an atomic, to a CU of another XCD", cdna_devices.ATOMIC_ACROSS_XCDS, "ns"),
        ("a release and an acquire, one way", cdna_devices.RELEASE_TO_ACQUIRE, "ns"),
        ("an sc1 load of the device's own memory, SPX", cdna.BYPASS_OF_LOCAL_MEMORY, "cycles"),
        ("reach of the TLB", cdna_devices.TLB_REACH, "MiB"),
        ("beyond it", cdna_devices.TLB_MISS, "ns more"),
        ("a write-back at system scope (MI355X)", cdna.SYSTEM_WRITE_BACK, "ns more"),
        ("written back by an XCD, at most", cdna.WRITE_BACK_BANDWIDTH, "GB/s"),
    ]
    cells = [
        (what, f"{figure} {unit}", f"{figure.evidence}: {figure.source}")
        for what, figure, unit in rows
    ]
    return markdown_table(("what", "takes", "from"), cells)


def _partitionings() -> str:
    rows = [
        (
            each.mode,
            "as many as XCDs" if each.agents is None else str(each.agents),
            ", ".join(d.name for d in cdna_devices.DEVICES if each.mode in d.modes),
            ", ".join(f"NPS{n}" for n in each.memories),
            each.source,
        )
        for each in cdna_devices.PARTITIONINGS
    ]
    return markdown_table(("mode", "agents", "devices", "memory", "source"), rows)


# NVIDIA


def _ptx_memories() -> str:
    rows = [
        (
            f"sm_{each.number}", _size(each.l1), _bytes(each.shared.high),
            _bytes(each.shared_reserved.high), _size(each.l2), str(each.warps),
            f"{each.blocks}", f"{each.registers}", _figure(each.shared_latency),
            _figure(each.l1_latency),
            _figure(each.l2_latency), _figure(each.memory_latency),
        )
        for each in ptx.HIERARCHIES
    ]  # fmt: skip
    columns = ("chip", "L1 and shared memory", "shared, at most", "reserved of a block", "L2",
               "warps", "blocks", "registers", "shared latency", "L1 latency", "L2 latency",
               "memory latency")  # fmt: skip
    return (
        f"Lines of {ptx.LINE} bytes, sectors of {ptx.SECTOR}; shared memory has "
        f"{ptx.SHARED_BANKS} banks of {ptx.SHARED_WORD} bytes. Associativity: {UNKNOWN}. Shared "
        f"memory, warps, blocks and registers: {ptx.HIERARCHIES[0].threads.source}.\n\n"
        + markdown_table(columns, rows)
        + f"\nOf a thread's local memory lie together: {_figure(ptx.LOCAL_WORD)} bytes; then come "
        "the same of the next lane.\n"
    )


def _requests() -> str:
    rows = [
        (each.rule, each.says, ", ".join(f"sm_{n}" for n in each.measured_on), each.source)
        for each in ptx.RULES
    ]
    return markdown_table(("rule", "says", "measured on", "source"), rows)


def _gpus() -> str:
    rows = [
        (
            each.name, f"sm_{each.number}", str(each.sms), _bytes(each.memory),
            _figure(each.clock), _figure(each.bandwidth), _figure(each.l2_bandwidth),
            _figure(each.l1_bandwidth), _figure(each.register_bandwidth),
        )
        for each in ptx_devices.DEVICES
    ]  # fmt: skip
    columns = ("device", "chip", "SMs", "memory", "clock, MHz", "bandwidth, GB/s", "L2", "L1",
               "registers")  # fmt: skip
    return markdown_table(columns, rows)


def _policies() -> str:
    kinds = (("load", ptx.LOAD_POLICIES), ("store", ptx.STORE_POLICIES),
             ("atomic", ptx.ATOMIC_POLICIES))  # fmt: skip
    rows = [
        (
            kind,
            " ".join(f"`.{word}`" for word in row.words) or "any",
            row.l1,
            row.l2,
            f"{row.evidence}: {row.source}",
        )
        for kind, policies in kinds
        for row in policies
    ]
    return markdown_table(("access", "words", "L1", "L2", "from"), rows)


def _fences() -> str:
    rows = [
        (
            each.scope,
            _figure(each.idle),
            f"{each.coalesced} + {each.coalesced_step:g} n",
            f"{each.start:g} + {each.step:g} n up to n = {each.few}, then {each.later:g} + "
            f"{each.later_step:g} n, at most {each.most:g}",
            f"{each.crowded.idle}, {each.crowded.coalesced}, {each.crowded.scattered} "
            f"({each.crowded.source})",
        )
        for each in ptx.FENCE_COSTS
    ]
    head = ("scope", "no store", "coalesced", "scattered", "the same among many warps, at most")
    return markdown_table(head, rows)
