"""Every instruction row exists on its chips and on no others, as the assembler says."""

import re
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from fencewright.lowering.cdna.chips import CHIPS, KNOWN_CHIPS
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.cdna.instructions import (
    INSTRUCTIONS,
    MEMORY_ROWS,
    PACKED_ROWS,
    Access,
    Counter,
    InstructionRow,
    has_instruction,
    instruction,
    memory_instruction,
    operand_places,
)
from fencewright.lowering.cdna.instructions_gfx1250 import IN_PLACE_OF
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.lower import lower
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import AddressSpace, Operation, RmwKind
from fencewright.mlir_dialects.cdna import SGPRType, VGPRType
from fencewright.tools.llvm_tools import find_llvm_tool

LLVM_MC = find_llvm_tool("llvm-mc")
needs_llvm_mc = pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc is not installed")


def assemble(chip: str, text: str) -> list[int]:
    """The lines of ``text`` (from 1) that the assembler refuses for ``chip``."""
    assert LLVM_MC is not None
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=null"]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    return sorted({int(n) for n in re.findall(r"<stdin>:(\d+):\d+: error", done.stderr)})


def is_known(chip: str) -> bool:
    """Whether the assembler knows the chip: else it takes it for none in particular."""
    assert LLVM_MC is not None
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=null"]
    done = subprocess.run(command, input="", text=True, capture_output=True, check=False)
    return "not a recognized processor" not in done.stderr


def vector(size: int, number: int) -> VGPRType:
    return VGPRType.of(size, 8 * number)


def memory_places(access: Access) -> Mapping[str, object]:
    operation, space, width, _, _ = access
    size = max(width // 32, 1)
    wide = space in (AddressSpace.GLOBAL, AddressSpace.GENERIC)
    pair = operation is Operation.CMPXCHG and wide
    return {
        "dst": vector(size, 1),
        "addr": vector(2 if wide else 1, 2),
        "data": vector(2 * size if pair else size, 3),
        "compare": vector(size, 4),
        "resource": SGPRType.of(4, 0),
        **{f"offset+{n}": n for n in (4, 8, 12)},
    }


ARITHMETIC_SIZES: Mapping[str, Mapping[str, int]] = {
    "v_lshlrev_b64": {"b": 1},
    "v_lshrrev_b64": {"b": 1},
    "v_ashrrev_i64": {"b": 1},
    **{f"v_{shift}_e64": {"b": 1} for shift in ("lshlrev_b64", "lshrrev_b64", "ashrrev_i64")},
    "v_zext_b32_b64": {"a": 1},
    "v_sext_b32_b64": {"a": 1},
}


def arithmetic_places(chip: str, row: InstructionRow) -> Mapping[str, object]:
    mask = CHIPS[chip].wave_size // 32
    mnemonic = row.mnemonic
    wide = bool(re.search(r"[buif]64", mnemonic))
    usual: dict[str, int] = dict.fromkeys(("dst", "a", "b", "c"), 2 if wide else 1)
    sizes = usual | {**ARITHMETIC_SIZES.get(mnemonic, {})}
    places: dict[str, object] = {
        name: vector(size, number) for number, (name, size) in enumerate(sizes.items())
    }
    if mnemonic.startswith("v_cmp"):
        places["dst"] = SGPRType.of(mask, 20)
    if mnemonic.startswith("v_cndmask_b32"):
        places["a"] = SGPRType.of(mask, 22)
    if "mask" in mnemonic:
        places["a"] = SGPRType.of(mask, 22)
    if row.kind is Kind.COPY:
        four = {name: SGPRType.of(4, 12) for name in ("a", "c", "d")}
        tensor = {**four, "b": SGPRType.of(8, 4)}
        return {"addr": vector(2, 8), "lds": vector(1, 9)} | tensor
    if mnemonic == "s_add_scratch_offset":
        return {"dst": SGPRType.of(4, 0), "a": SGPRType.of(4, 0), "b": SGPRType.of(1, 9)}
    if row.unit is Unit.SALU:
        size = 2 if mnemonic.endswith("b64") else 1
        places |= {n: SGPRType.of(size, 4 + 4 * i) for i, n in enumerate(("dst", "a", "b"))}
    return places | {"imm0": 10, "imm1": 10}


def scalar_places(row: InstructionRow) -> Mapping[str, object]:
    bits = row.mnemonic.partition("_b")[2]
    size = int(bits) // 32 if bits else int(row.mnemonic.partition("dwordx")[2] or 1)
    return {"dst": SGPRType.of(size, 16), "addr": SGPRType.of(2, 2), "offset": "0x8"}


SPLIT = frozenset(name for name, chip in CHIPS.items() if chip.splits_counters)
RETURN_BIT = {
    **{chip: " glc" if chip in ("gfx908", "gfx90a") else " sc0" for chip in CHIPS},
    **dict.fromkeys(SPLIT, " th:TH_ATOMIC_RETURN"),
}
"""The cache policy bit that asks an atomic for the old value; not part of the rows."""


def suffix(chip: str, row: InstructionRow) -> str:
    if row.kind is Kind.WAIT:
        return " vmcnt(0)" if row.mnemonic == "s_waitcnt" else " 0x0"
    if row.kind is Kind.BARRIER and row.mnemonic not in ("s_barrier", "s_barrier_leave"):
        return " -1"
    if row.returns and row.space is not AddressSpace.LOCAL:
        return RETURN_BIT[chip]
    return ""


def texts(chip: str, row: InstructionRow, access: Access | None) -> Iterator[str]:
    if access is not None:
        places = memory_places(access)
    elif row.is_scalar_load:
        places = scalar_places(row)
    else:
        places = {**arithmetic_places(chip, row), "target": "0"}
    for line in row.lines:
        yield line.format_map(places) + suffix(chip, row)


PACKED: list[tuple[InstructionRow, Access]] = [
    (row, (Operation.ATOMIC_RMW, space, 32, kind, returns))
    for (space, kind, _, returns), row in PACKED_ROWS
]
OF_MEMORY = {
    (r.mnemonic, r.returns) for r in (*(r for _, r in MEMORY_ROWS), *(r for r, _ in PACKED))
}
ROWS = [
    *((row, access) for access, row in MEMORY_ROWS),
    *PACKED,
    *((row, None) for key, row in INSTRUCTIONS.items() if key not in OF_MEMORY),
]


@needs_llvm_mc
@pytest.mark.parametrize("chip", sorted(CHIPS))
def test_chip_has_every_row_that_names_it(chip: str):
    lines = [text for row, access in ROWS if chip in row.chips for text in texts(chip, row, access)]
    assert len(lines) > 250
    refused = assemble(chip, "\n".join(lines))
    assert [lines[n - 1] for n in refused] == []


@needs_llvm_mc
@pytest.mark.parametrize("chip", sorted(CHIPS.keys() - SPLIT))
def test_chip_lacks_every_row_that_does_not_name_it(chip: str):
    # Private memory is accessed as the chip's scratch convention has it; every chip has both forms.
    # From gfx11 on the assembler takes the letters of older instructions too, for the newer ones.
    # Some of what gfx1250 has in place of an instruction, gfx9 has as well.
    lacking = [
        (row, access)
        for row, access in ROWS
        if chip not in INSTRUCTIONS[row.mnemonic, row.returns].chips
        and not row.expansion
        and row.space is not AddressSpace.PRIVATE
        and row.mnemonic not in IN_PLACE_OF.values()
    ]
    lines = [text for row, access in lacking for text in texts(chip, row, access)]
    assert lines
    refused = assemble(chip, "\n".join(lines))
    assert [line for n, line in enumerate(lines, 1) if n not in refused] == []


READ = sorted(KNOWN_CHIPS.keys() - CHIPS.keys())
"""Chips whose code is read and executed, and never made."""


OF_GFX12 = {
    "s_wait_loadcnt",
    "s_wait_storecnt_dscnt",
    "global_inv",
    "global_wb",
    "s_barrier_signal",
}
OF_GFX10_AND_GFX11 = {"buffer_gl0_inv", "buffer_gl1_inv", "s_waitcnt_vscnt", "s_barrier"}


def of_rdna(chip: str, row: InstructionRow, access: Access | None) -> list[str]:
    """As ``texts``, with the bit and the operand that the chip has."""
    splits = KNOWN_CHIPS[chip].splits_counters
    if row.kind is Kind.WAIT and row.mnemonic != "s_waitcnt":
        return [f"{row.mnemonic} {'' if splits else 'null, '}0x0"]
    if row.mnemonic in ("s_barrier_signal", "s_barrier_wait"):
        return [f"{row.mnemonic} -1"]
    returns = row.returns and row.space is not AddressSpace.LOCAL
    if returns and access is not None:
        places = memory_places(access)
        bit = "th:TH_ATOMIC_RETURN" if splits else "glc"
        return [f"{line.format_map(places)} {bit}" for line in row.lines]
    return list(texts("gfx90a", row, access))


@needs_llvm_mc
@pytest.mark.parametrize("chip", READ)
def test_a_chip_that_is_only_read_has_what_it_is_said_to_have(chip: str):
    if not is_known(chip):
        pytest.skip(f"llvm-mc does not know {chip}")
    has = [(row, access) for row, access in ROWS if has_instruction(chip, row)]
    lines = [text for row, access in has for text in of_rdna(chip, row, access)]
    assert len(lines) > 150
    refused = assemble(chip, "\n".join(lines))
    assert [lines[n - 1] for n in refused] == []
    mnemonics = {row.mnemonic for row, _ in has}
    bits = KNOWN_CHIPS[chip].names_bits
    own = OF_GFX12 if KNOWN_CHIPS[chip].splits_counters else OF_GFX10_AND_GFX11
    assert own <= mnemonics
    assert mnemonics.isdisjoint((OF_GFX12 | OF_GFX10_AND_GFX11) - own)
    assert ("global_load_b32" in mnemonics) is bits
    assert ("global_load_dword" in mnemonics) is not bits


def test_no_chip_that_is_lowered_for_has_what_only_others_have():
    for mnemonic in ("buffer_gl0_inv", "buffer_gl1_inv", "s_waitcnt_vscnt"):
        row = instruction(mnemonic)
        assert row is not None
        assert not any(has_instruction(chip, row) for chip in CHIPS)


@needs_llvm_mc
def test_the_assembler_refuses_a_wrong_line():
    """The two tests above can fail."""
    assert assemble("gfx942", "s_endpgm\nbuffer_wbinvl1_vol\ns_endpgm") == [2]
    assert assemble("gfx908", "buffer_inv sc1") == [1]


def test_counters_follow_the_address_space():
    expected = {
        AddressSpace.GLOBAL: {Counter.VMCNT},
        AddressSpace.PRIVATE: {Counter.VMCNT},
        AddressSpace.LOCAL: {Counter.LGKMCNT},
        AddressSpace.GENERIC: {Counter.VMCNT, Counter.LGKMCNT},
    }
    for (_, space, *_), row in MEMORY_ROWS:
        if not row.chips & SPLIT:
            assert set(row.counters) == expected[space], row


def test_split_counters_follow_the_address_space_and_what_comes_back():
    for (_, space, *_), row in MEMORY_ROWS:
        if not row.chips & SPLIT:
            continue
        comes_back = row.kind is Kind.LOAD or row.returns
        memory = {Counter.LOADCNT if comes_back else Counter.STORECNT}
        flat = space in (AddressSpace.LOCAL, AddressSpace.GENERIC)
        in_lds: set[Counter] = {Counter.DSCNT} if flat else set()
        assert set(row.counters) == (in_lds if space is AddressSpace.LOCAL else memory | in_lds)


def test_an_instruction_of_two_generations_counts_where_each_of_them_does():
    row = instruction("flat_atomic_add_f32")
    assert row is not None
    for chip in row.chips:
        assert len(set(row.counters) & CHIPS[chip].counters.keys()) == 2


def test_cache_operations_that_count():
    """buffer_wbl2 counts, or a release would not wait for the write-back."""
    for mnemonic in ("buffer_wbl2", "buffer_inv"):
        row = instruction(mnemonic)
        assert row is not None
        assert row.counters == (Counter.VMCNT,)


def test_every_row_has_a_source_and_a_chip():
    for row in INSTRUCTIONS.values():
        assert row.source
        assert row.chips
        assert row.chips <= KNOWN_CHIPS.keys()


INTEGER_KINDS = [
    kind
    for kind in RmwKind
    if kind not in (RmwKind.NAND, RmwKind.FADD, RmwKind.FSUB, RmwKind.FMIN, RmwKind.FMAX)
]


@pytest.mark.parametrize("chip", sorted(CHIPS))
@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("space", [AddressSpace.GLOBAL, AddressSpace.GENERIC, AddressSpace.LOCAL])
def test_integer_atomics_exist_everywhere(
    chip: str, width: int, returns: bool, space: AddressSpace
):
    for kind in INTEGER_KINDS:
        row = memory_instruction(chip, Operation.ATOMIC_RMW, space, width, kind, returns)
        assert row is not None, kind
    row = memory_instruction(chip, Operation.CMPXCHG, space, width, None, returns)
    assert row is not None
    assert ("compare" in operand_places(row)) == (space is AddressSpace.LOCAL)


def test_what_no_chip_has_is_none():
    for kind in (RmwKind.NAND, RmwKind.FSUB):
        row = memory_instruction(
            "gfx942", Operation.ATOMIC_RMW, AddressSpace.GLOBAL, 32, kind, True
        )
        assert row is None
    assert memory_instruction("gfx942", Operation.STORE, AddressSpace.CONSTANT, 32) is None
    assert memory_instruction("gfx942", Operation.LOAD, AddressSpace.GLOBAL, 256) is None


def test_float_add_on_gfx908_returns_nothing():
    asked = (Operation.ATOMIC_RMW, AddressSpace.GLOBAL, 32, RmwKind.FADD)
    assert memory_instruction("gfx908", *asked, returns=False) is not None
    assert memory_instruction("gfx908", *asked, returns=True) is None
    assert memory_instruction("gfx90a", *asked, returns=True) is not None


@pytest.mark.parametrize("chip", sorted(CHIPS.keys() - SPLIT))
@pytest.mark.parametrize("width", [64, 96, 128])
@pytest.mark.parametrize("operation", [Operation.LOAD, Operation.STORE])
def test_a_private_buffer_is_accessed_by_elements(chip: str, width: int, operation: Operation):
    row = memory_instruction(chip, operation, AddressSpace.PRIVATE, width)
    assert row is not None
    if chip not in ("gfx908", "gfx90a"):
        assert row.lines == (f"scratch_{operation}_dwordx{width // 32} {row.operands}",)
        assert not row.early_clobber
        return
    value = "dst" if operation is Operation.LOAD else "data"
    expected = [
        f"buffer_{operation}_dword {{{value}[{n}]}}, {{addr}}, {{resource}}, 0 offen"
        + (f" offset:{{offset+{4 * n}}}" if n else "")
        for n in range(width // 32)
    ]
    assert list(row.lines) == expected
    # The first element may otherwise arrive in the address of the others.
    assert row.early_clobber is (operation is Operation.LOAD)


@pytest.mark.parametrize(
    ("chip", "space", "type_", "returns", "mnemonic"),
    [
        ("gfx908", "global", "f16x2", False, "global_atomic_pk_add_f16"),
        ("gfx90a", "global", "f16x2", True, "global_atomic_pk_add_f16"),
        ("gfx942", "global", "bf16x2", True, "global_atomic_pk_add_bf16"),
        ("gfx950", "generic", "bf16x2", False, "flat_atomic_pk_add_bf16"),
        ("gfx942", "local", "f16x2", True, "ds_pk_add_rtn_f16"),
    ],
)
def test_packed_additions_are_one_instruction(
    chip: str, space: str, type_: str, returns: bool, mnemonic: str
):
    sequence = lower(
        op="atomic_rmw", ordering="relaxed", scope="agent", kind="fadd",
        space=space, type=type_, target=chip, returns=returns,
    )  # fmt: skip
    assert [each.mnemonic for each in sequence.instructions] == [mnemonic]


@pytest.mark.parametrize(
    ("chip", "kind", "type_"),
    [
        ("gfx908", "fadd", "f16x2"),
        ("gfx90a", "fadd", "bf16x2"),
        ("gfx942", "fadd", "f16"),
        ("gfx942", "fadd", "bf16"),
        ("gfx942", "fmax", "f16x2"),
        ("gfx942", "fsub", "f16x2"),
    ],
)
def test_no_other_half_is_taken_for_a_float(chip: str, kind: str, type_: str):
    with pytest.raises(UnsupportedError, match=f"{kind} relaxed agent {type_} on global: {chip}"):
        lower(
            op="atomic_rmw", ordering="relaxed", scope="agent", kind=kind,
            space="global", type=type_, target=chip,
        )  # fmt: skip
