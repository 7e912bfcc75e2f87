"""Operations of ``cdna`` and ``ptx`` answer their effects through the decoders of code."""

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute

from fencewright.lowering.cdna.chips import KNOWN_CHIPS, Counter
from fencewright.lowering.cdna.code.operands.operands import effects_of_name
from fencewright.lowering.cdna.instructions import INSTRUCTIONS
from fencewright.lowering.code.effects import Access, Kind, Proxy
from fencewright.lowering.sequence import Instruction
from fencewright.lowering.vocabulary import AddressSpace, Phase
from fencewright.mlir_dialects import cdna, ptx

OTHER_KINDS = {
    (Kind.COPY, False): {Kind.STORE},
    (Kind.BARRIER, False): {Kind.BARRIER, Kind.BRANCH, Kind.COMPUTE},
    (Kind.BRANCH, False): {Kind.BRANCH, Kind.JUMP},
}
"""Kinds of rows that the decoder divides: a copy from LDS stores, a barrier is initialised, and left."""


@pytest.mark.parametrize("kind", sorted({row.kind for row in INSTRUCTIONS.values()}))
def test_the_decoder_knows_every_row_of_the_lowering(kind: Kind) -> None:
    for row in INSTRUCTIONS.values():
        if row.kind is not kind:
            continue
        expected = OTHER_KINDS.get((kind, row.into_lds), {kind})
        for chip in row.chips:
            name = row.code[0].mnemonic
            effects = effects_of_name(name, KNOWN_CHIPS[chip].generation)
            assert effects.kind in expected, (chip, name)
            assert effects.unit is row.unit, (chip, name)
            is_buffer = "{resource}" in row.operands or row.expansion
            assert is_buffer or row.space is None or effects.space is row.space, (chip, name)


def _created(
    op_type: type[cdna.OpcodeOp], opcode: str, modifiers: Sequence[str] = ()
) -> cdna.OpcodeOp:
    properties: dict[str, Attribute] = {"opcode": StringAttr(opcode)}
    if modifiers:
        properties["modifiers"] = ArrayAttr([StringAttr(each) for each in modifiers])
    types = [cdna.VGPR] if op_type is cdna.LoadOp else []
    return op_type.create(properties=properties, result_types=types)


def test_cdna_operations() -> None:
    load = _created(cdna.LoadOp, "global_load_dwordx2", ["sc1"]).effects
    assert load.accesses == (Access("", True, False, Proxy.GENERIC, AddressSpace.GLOBAL, 8),)
    assert [each.counter for each in load.events] == [Counter.VMCNT]
    atomic = _created(cdna.AtomicOp, "global_atomic_smax_x2", ["sc1"]).effects
    assert (atomic.kind, atomic.rmw, atomic.accesses[0].size) == ("rmw", "max", 8)
    cache = _created(cdna.CacheOp, "buffer_wbl2", ["sc1"]).effects
    assert (cache.kind, cache.accesses) == ("cache", ())
    copy = _created(cdna.AsyncOp, "global_load_async_to_lds_b32").effects
    assert [each.space for each in copy.accesses] == ["global", "local"]


def test_an_atomic_of_gfx12_counts_by_its_result() -> None:
    events = {
        returns: effects_of_name("global_atomic_add_u32", KNOWN_CHIPS["gfx1250"].generation, words)
        for returns, words in ((False, ()), (True, ("th:TH_ATOMIC_RETURN",)))
    }
    assert [each.counter for each in events[False].events] == [Counter.STORECNT]
    assert [each.counter for each in events[True].events] == [Counter.LOADCNT]


def test_a_pseudo_instruction_does_what_its_instructions_do() -> None:
    effects = _created(cdna.AluOp, "v_add_u64").effects
    assert (effects.kind, effects.unit) == ("compute", "valu")


def test_ptx_operations_name_registers_by_their_places() -> None:
    address, value = (ptx.ConstOp.create(result_types=[each]) for each in (ptx.B64, ptx.B32))
    atomic = ptx.AtomicOp.create(
        operands=[address.dst, value.dst],
        result_types=[ptx.B32],
        properties={"opcode": StringAttr("atom.acquire.gpu.global.add.u32")},
    ).effects
    assert (atomic.kind, atomic.ordering, atomic.scope, atomic.rmw) == (
        "rmw", "acquire", "agent", "add",
    )  # fmt: skip
    assert atomic.accesses == (Access("%0", True, True, Proxy.GENERIC, AddressSpace.GLOBAL, 4),)
    assert (atomic.defines, atomic.uses) == (("%2",), ("%0", "%1"))
    fence = ptx.FenceOp.create(properties={"opcode": StringAttr("fence.proxy.async")}).effects
    assert (fence.kind, fence.accesses) == ("fence", ())


def test_lines_of_a_sequence_are_instructions_and_print_as_they_were_written() -> None:
    texts = (
        ".reg .b32 {n}",
        "@{p} neg.s32 {n}, {data}",
        "again:",
        "atom.add.u32 {dst}, [{addr}], {n}",
    )
    lines = ptx.LinesAttr.read(texts)
    assert [line.mnemonic for line in lines.data] == [".reg", "neg.s32", "", "atom.add.u32"]
    listed = ", ".join(f'"{text}"' for text in texts)
    assert str(lines) == f"#ptx.lines[{listed}]"
    known = (Instruction("neg.s32", lines.data[1].operands, phase=Phase.ACCESS, source="here"),)
    assert ptx.LinesAttr.of(known) == ptx.LinesAttr.read(("neg.s32 {n}, {data}",))
