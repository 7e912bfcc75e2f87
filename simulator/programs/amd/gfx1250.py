"""The meaning of gfx1250's instructions, as ``rows`` has those of GFX9.

A lane mask is one word, arithmetic has other names, comparisons can write exec, and two vector
instructions can be one (``code.text.halves``). Sources: LLVM 24 AMDGPU, SOPInstructions.td,
VOPInstructions.td, VOPDInstructions.td, SMInstructions.td: gfx12 and gfx1250.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.simulator.core.program import ArithmeticKind
from fencewright.simulator.programs.amd.rows import (
    LOGIC,
    PREDICATES,
    ROWS,
    SAVING,
    SCC,
    Await,
    CompareWords,
    CompareWordsToExec,
    Copy,
    CopyRow,
    LoadScalar,
    LogicByTable,
    Maintain,
    Meaning,
    Meet,
    MnemonicRow,
    Nothing,
    SaveExec,
    Select,
    Sum,
    scalar,
    unique,
    vector,
)

_ADD, _SUB = ArithmeticKind.ADD, ArithmeticKind.SUB
_EXEC = ("exec_lo",)
_WORDS = {"b32": 1, "b64": 2}
_RENAMED = {"andn1": "and_not0", "andn2": "and_not1", "orn1": "or_not0", "orn2": "or_not1"}
"""The names of logic here, by those that GFX9 has."""


_BY_TABLE = LogicByTable(
    MappingProxyType(
        {
            ("bitop3:0x40",): LOGIC["and"],
            ("bitop3:0x54",): LOGIC["or"],
            ("bitop3:0x14",): LOGIC["xor"],
        }
    )
)
"""Truth tables of three operands, of which the third is 0: those of a, b and c are 0xf0, 0xcc,
0xaa."""


def _salu() -> Iterator[MnemonicRow]:
    for type, words in _WORDS.items():
        for name in ("andn2", "orn2"):
            roles = f"d{words} u{words} u{words}"
            yield scalar(f"s_{_RENAMED[name]}_{type}", roles, LOGIC[name], SCC)
    for name, logic in SAVING.items():
        name = f"s_{_RENAMED.get(name, name)}_saveexec_b32"
        yield scalar(name, "d1 u1", SaveExec(logic), (*_EXEC, *SCC), _EXEC)
    for type in ("i32", "u32"):
        yield scalar(f"s_add_co_{type}", "d1 u1 u1", Sum(_ADD, carries=type == "u32"), SCC)
        yield scalar(f"s_sub_co_{type}", "d1 u1 u1", Sum(_SUB, carries=type == "u32"), SCC)
    yield scalar("s_add_co_ci_u32", "d1 u1 u1", Sum(_ADD, carries=True, takes=True), SCC, SCC)


def _vector(mnemonic: str, roles: str, meaning: Meaning) -> MnemonicRow:
    return vector(mnemonic, roles, meaning, _EXEC)


def _valu() -> Iterator[MnemonicRow]:
    yield _vector("v_dual_mov_b32", "d1 u1", Copy())
    yield _vector("v_dual_bitop2_b32", "d1 u1 u1", _BY_TABLE)
    yield _vector("v_nop", "", Nothing())
    for name, meaning in (
        ("add_nc_u32", Sum(_ADD)),
        ("sub_nc_u32", Sum(_SUB)),
        ("subrev_nc_u32", Sum(_SUB, reverse=True)),
    ):
        yield _vector(f"v_{name}_e32", "d1 u1 u1", meaning)
        yield _vector(f"v_dual_{name}", "d1 u1 u1", meaning)
    for encoding in ("e32", "e64"):
        yield _vector(f"v_cndmask_b32_{encoding}", "d1 u1 u1 u1", Select())
        for type in ("i32", "u32"):
            for predicate, (kind, swap) in PREDICATES.items():
                compare, name = CompareWords(kind, type == "i32", swap), f"{predicate}_{type}"
                yield _vector(f"v_cmp_{name}_{encoding}", "d1 u1 u1", compare)
                to_exec = CompareWordsToExec(compare)
                yield scalar(f"v_cmpx_{name}_{encoding}", "u1 u1", to_exec, _EXEC, _EXEC)


def _copies() -> Iterator[MnemonicRow]:
    for width in (8, 32, 64, 128):
        yield _vector(f"global_load_async_to_lds_b{width}", "", CopyRow(True, width))
        yield _vector(f"global_store_async_from_lds_b{width}", "", CopyRow(False, width))
    yield MnemonicRow("tensor_load_to_lds", CopyRow(to_lds=True, is_tile=True))
    yield MnemonicRow("tensor_store_from_lds", CopyRow(to_lds=False, is_tile=True))


def _control() -> Iterator[MnemonicRow]:
    for words in (1, 2, 3, 4, 8, 16):
        yield scalar(f"s_load_b{32 * words}", f"d{words} u2 u1", LoadScalar(words))
    for counter in ("load", "store", "sample", "bvh", "ds", "km", "x", "async", "tensor"):
        yield MnemonicRow(f"s_wait_{counter}cnt", Await())
    for both in ("load", "store"):
        yield MnemonicRow(f"s_wait_{both}cnt_dscnt", Await())
    for mnemonic in ("global_wb", "global_inv"):
        yield MnemonicRow(mnemonic, Maintain())
    for what in ("signal", "signal_isfirst", "wait", "init", "join", "leave"):
        yield MnemonicRow(f"s_barrier_{what}", Meet())
    for mnemonic in ("s_clause", "s_delay_alu", "s_setreg_imm32_b32"):
        yield MnemonicRow(mnemonic, Nothing())


_OTHERWISE = unique((*_salu(), *_valu(), *_copies(), *_control()))


def rows_for(chip: str) -> Mapping[str, MnemonicRow]:
    """The instructions that are executed on a chip, by their mnemonics."""
    known = KNOWN_CHIPS.get(chip)
    return ROWS if known is None else _ROWS[known.splits_counters]


_ROWS = {False: ROWS, True: {**ROWS, **_OTHERWISE}}
