"""Wait states, registers as text, and the assembly file as a whole."""

import io
import re
import subprocess
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, gpu, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.cdna.assembly import (
    VCC,
    WAIT_STATES,
    Hazard,
    Names,
    Printed,
    effect_of,
    hazards_of,
    insert_wait_states,
)
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.instruction_row import Unit
from fencewright.lowering.cdna.instructions import either_form
from fencewright.lowering.cdna.kernel import argument_offsets, entry_registers
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.sequence import UnsupportedError
from fencewright.mlir_dialects import scoped
from fencewright.mlir_dialects.cdna import CDNA, SGPRType, VGPRType
from fencewright.passes.cdna.allocate_registers import AllocateRegistersPass
from fencewright.passes.cdna.waits.insert_waits import InsertWaitsPass
from fencewright.passes.print.cdna import CDNAAssemblyTarget, literal
from fencewright.passes.to_cdna.convert_scoped_to_cdna import ConvertScopedToCDNAPass
from fencewright.tools.llvm_tools import find_llvm_tool

LLVM_MC = find_llvm_tool("llvm-mc")
LD_LLD = find_llvm_tool("ld.lld")
OBJDUMP = find_llvm_tool("llvm-objdump")
needs_llvm = pytest.mark.skipif(
    not (LLVM_MC and LD_LLD and OBJDUMP),
    reason="llvm-mc, ld.lld or llvm-objdump is not installed",
)


# Registers


def test_registers_of_different_size_or_index_differ():
    assert VGPRType.of() is VGPRType.of(1) is VGPRType.of(1, None)
    assert VGPRType.of(1) != VGPRType.of(2)
    assert VGPRType.of(1, 3) != VGPRType.of(1, 4)
    assert len({VGPRType.of(1), VGPRType.of(2), VGPRType.of(1, 3), SGPRType.of(1)}) == 4


def test_registers_as_text():
    assert VGPRType.of(1, 3).assembly == "v3"
    assert VGPRType.of(2, 4).assembly == "v[4:5]"
    assert SGPRType.of(2, 0).assembly == "s[0:1]"
    assert f"{VGPRType.of(2, 4).hi}" == "v5"
    assert list(VGPRType.of(3, 6).registers) == [6, 7, 8]
    with pytest.raises(ValueError, match="run allocate-registers"):
        _ = VGPRType.of(2).assembly


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (64, "64"), (65, "0x41"), (-16, "-16"), (-17, "0xffffffef"), (1 << 32, "0")],
)
def test_literals_as_the_disassembler_writes_them(value: int, text: str):
    assert literal(value) == text


# Wait states: what LLVM's hazard recognizer inserts for the same instructions.

COMPARE, SELECT = "v_cmp_eq_u32_e64 s[0:1], v0, v1", "v_cndmask_b32_e64 v2, v3, v4, s[0:1]"
ADD = "v_add_co_u32_e32 v0, vcc, v0, v1"
CARRY = "v_addc_co_u32_e32 v2, vcc, v2, v3, vcc"
WIDE, OVERWRITE = "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32_e32 v5, 0"


def printed(text: str) -> Printed:
    """A line as the printer of kernels gives it."""
    mnemonic, _, rest = text.partition(" ")
    row = either_form(mnemonic)
    operands = tuple(map(names, rest.split(", ")))
    if row is None:
        unlisted = Unit.VALU if mnemonic.startswith("v_") else Unit.SALU
        return Printed(text, effect_of(Kind.COMPUTE, unlisted, None, False, operands))
    return Printed(text, effect_of(row.kind, row.unit, row.space, row.returns, operands))


def names(operand: str) -> Names:
    if operand == "vcc":
        return VCC
    found = re.fullmatch(r"([sv])\[?(\d+)(?::(\d+)\])?", operand)
    if found is None:
        return ()
    return tuple(f"{found[1]}{n}" for n in range(int(found[2]), int(found[3] or found[2]) + 1))


def inserted(chip: str, *lines: str) -> list[str]:
    (result,) = insert_wait_states([list(map(printed, lines))], chip)
    return [line for line in result if line.startswith("s_nop")]


@pytest.mark.parametrize(
    ("chip", "expected"),
    [("gfx908", []), ("gfx90a", []), ("gfx942", ["s_nop 1"]), ("gfx950", ["s_nop 1"])],
)
def test_a_mask_is_read_late_enough(chip: str, expected: list[str]):
    assert inserted(chip, COMPARE, SELECT) == expected
    assert inserted(chip, ADD, CARRY) == expected
    assert inserted(chip, COMPARE, "s_nop 0", "s_nop 0", SELECT) == ["s_nop 0", "s_nop 0"]
    assert inserted(chip, COMPARE, "s_and_b64 s[2:3], s[0:1], s[0:1]") == []


def test_instructions_in_between_count():
    assert inserted("gfx942", COMPARE, "s_barrier", SELECT) == ["s_nop 0"]
    assert inserted("gfx942", COMPARE, "s_barrier", "s_barrier", SELECT) == []
    assert inserted("gfx942", COMPARE, SELECT.replace("s[0:1]", "s[2:3]")) == []


@pytest.mark.parametrize(
    ("chip", "expected"),
    [("gfx908", "s_nop 0"), ("gfx90a", "s_nop 0"), ("gfx942", "s_nop 1"), ("gfx950", "s_nop 1")],
)
def test_store_data_is_overwritten_late_enough(chip: str, expected: str):
    compare_exchange = "global_atomic_cmpswap_x2 v[0:1], v[4:7], off"
    assert inserted(chip, WIDE, OVERWRITE) == [expected]
    assert inserted(chip, compare_exchange, OVERWRITE) == [expected]
    assert inserted(chip, "ds_write_b128 v0, v[4:7]", OVERWRITE) == []
    assert inserted(chip, "global_store_dwordx2 v[0:1], v[4:5], off", OVERWRITE) == []


@pytest.mark.parametrize("chip", [c for c in CHIPS if Hazard.CLAUSE in hazards_of(c)])
def test_a_clause_does_not_overwrite_what_it_reads(chip: str):
    first, second = "global_load_dword v4, v[0:1], off", "global_load_dword v0, v[2:3], off"
    assert inserted(chip, first, second) == ["s_nop 0"]
    assert inserted(chip, first, "s_waitcnt vmcnt(0)", second) == []
    assert inserted(chip, second, first.replace("v[0:1]", "v[6:7]")) == []
    assert inserted(chip, first, "global_store_dword v[2:3], v6, off") == ["s_nop 0"]
    assert inserted(chip, "s_load_dword s4, s[0:1], 0x0", "s_load_dword s0, s[0:1], 0x4") == [
        "s_nop 0"
    ]


def test_a_chip_without_the_hazard_breaks_no_clause():
    """gfx1250 waits for translations, and only where what may be replayed is overwritten."""
    first, second = "global_load_dword v4, v[0:1], off", "global_store_dword v[2:3], v6, off"
    assert insert_wait_states([[printed(first), printed(second)]], "gfx1250") == [[first, second]]


def test_what_is_pending_at_the_end_of_a_block_is_so_in_the_others():
    blocks = [[printed(each)] for each in ("s_branch .L1", SELECT, COMPARE)]
    assert insert_wait_states(blocks, "gfx942")[1] == [
        "s_nop 1",
        SELECT,
    ]


def test_every_hazard_has_a_source():
    assert {hazard for (hazard, _), row in WAIT_STATES.items() if row.value} == set(Hazard)
    assert all(row.source for row in WAIT_STATES.rows)


# Kernels


def test_arguments_are_aligned_to_their_size():
    assert argument_offsets([8, 4, 2, 1, 1]) == ((0, 8, 12, 14, 15), 16)
    assert argument_offsets([1, 8]) == ((0, 8), 16)
    assert argument_offsets([1]) == ((0,), 4)


def test_entry_registers_follow_the_scratch_convention():
    gfx90a, gfx942 = (entry_registers(chip, 2, True) for chip in ("gfx90a", "gfx942"))
    assert (gfx90a.resource, gfx90a.kernarg, gfx90a.workgroup_ids) == (0, 4, (6, 7))
    assert gfx90a.scratch_offset == 8
    assert (gfx942.resource, gfx942.kernarg, gfx942.workgroup_ids) == (None, 0, (2, 3))


PROGRAM = """
llvm.mlir.global internal @lds() {addr_space = 3 : i32} : !llvm.array<64 x i32>
func.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr, %a: i64, %b: i32, %s: i8) {
  %tid = "gpu.thread_id"() <{dimension = #gpu<dim y>}> : () -> index
  %bid = "gpu.block_id"() <{dimension = #gpu<dim z>}> : () -> index
  %sum = arith.addi %tid, %bid : index
  %t = arith.index_cast %sum : index to i64
  %x = arith.muli %a, %t : i64
  %c = arith.cmpi ult, %x, %t : i64
  %z = arith.select %c, %x, %t : i64
  %g = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
  scoped.store release system %z, %g : i64, !llvm.ptr<1>
  %v = scoped.load acquire agent %p : !llvm.ptr<1> -> i32
  %o, %ok = scoped.cmpxchg acq_rel acquire workgroup %p, %v, %b : !llvm.ptr<1>, i32
  %old = scoped.atomic_rmw umin acq_rel workgroup %q, %o : !llvm.ptr, i32
  LDS
  scoped.barrier workgroup
  %e = arith.cmpi eq, %v, %b : i32
  cf.cond_br %e, ^l(%v : i32), ^x(%old : i32)
^l(%i : i32):
  %one = arith.constant 1 : i32
  %n = arith.addi %i, %one : i32
  %r = arith.cmpi slt, %n, %b : i32
  cf.cond_br %r, ^l(%n : i32), ^x(%n : i32)
^x(%w : i32):
  scoped.store weak %w, %p {nontemporal} : i32, !llvm.ptr<1>
  scoped.store weak %s, %p {volatile} : i8, !llvm.ptr<1>
  func.return
}
"""
LDS = """%l = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %lo = scoped.atomic_rmw add acq_rel workgroup %l, %b : !llvm.ptr<3>, i32"""


def convert(text: str, chip: str, tgsplit: bool = False) -> tuple[ModuleOp, Context]:
    ctx = Context()
    dialects = (
        builtin.Builtin, func.Func, arith.Arith, cf.Cf, llvm.LLVM, gpu.GPU, CDNA, scoped.Scoped,
    )  # fmt: skip
    for dialect in dialects:
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    ConvertScopedToCDNAPass(mcpu=chip, tgsplit=tgsplit).apply(ctx, module)
    module.verify()
    return module, ctx


def emit(module: ModuleOp, ctx: Context, explain: bool = False) -> str:
    InsertWaitsPass().apply(ctx, module)
    AllocateRegistersPass().apply(ctx, module)
    output = io.StringIO()
    CDNAAssemblyTarget(explain=explain).emit(ctx, module, output)
    return output.getvalue()


def instructions(assembly: str) -> list[str]:
    body = assembly.split("@function\n", 1)[1].split("_end:", 1)[0]
    lines = [line.partition(" ;")[0].strip() for line in body.splitlines()[1:]]
    return [line for line in lines if line and not line.startswith(".")]


MODES = [(c, t) for c in sorted(CHIPS) for t in (False, True) if not t or CHIPS[c].split_mode]


@needs_llvm
@pytest.mark.parametrize(("chip", "tgsplit"), MODES)
def test_the_file_assembles_links_and_disassembles_to_itself(
    chip: str, tgsplit: bool, tmp_path: Path
):
    assert LLVM_MC
    assert LD_LLD
    assert OBJDUMP
    assembly = emit(*convert(PROGRAM.replace("LDS", "" if tgsplit else LDS), chip, tgsplit))
    source, object_file, linked = (tmp_path / name for name in ("k.s", "k.o", "k.hsaco"))
    source.write_text(assembly)
    flags = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=obj"]
    subprocess.run([LLVM_MC, *flags, str(source), "-o", str(object_file)], check=True)
    subprocess.run([LD_LLD, "-shared", str(object_file), "-o", str(linked)], check=True)
    command = [OBJDUMP, "-d", f"--mcpu={chip}", str(object_file)]
    dump = subprocess.run(command, text=True, capture_output=True, check=True).stdout
    dump = dump.replace("s_barrier_wait 0xffff", "s_barrier_wait -1")
    disassembled = re.findall(r"^\t(\S.*?)\s*//", dump, re.MULTILINE)
    written = instructions(assembly)
    assert len(disassembled) == len(written) > 50
    for ours, theirs in zip(written, disassembled, strict=True):
        if not ours.startswith(("s_branch", "s_cbranch")):
            assert ours == theirs.strip()


@needs_llvm
def test_the_assembler_refuses_a_broken_file(tmp_path: Path):
    assert LLVM_MC
    assembly = emit(*convert(PROGRAM.replace("LDS", LDS), "gfx942"))
    broken = assembly.replace(".amdhsa_accum_offset", ".amdhsa_no_such_thing")
    done = subprocess.run(
        [LLVM_MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=null"],
        input=broken, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0


@pytest.mark.parametrize(("chip", "tgsplit"), MODES)
def test_tgsplit_is_in_the_descriptor(chip: str, tgsplit: bool):
    assembly = emit(*convert(PROGRAM.replace("LDS", ""), chip, tgsplit))
    expected = [str(int(tgsplit))] if CHIPS[chip].split_mode else []
    assert re.findall(r"\.amdhsa_tg_split (\d)", assembly) == expected


def test_explain_says_why_beside_each_synchronisation_instruction():
    assembly = emit(*convert(PROGRAM.replace("LDS", LDS), "gfx942"), explain=True)
    lines = [line for line in assembly.splitlines() if re.search("buffer_(wbl2|inv)", line)]
    assert len(lines) == 2
    for line in lines:
        assert re.search(r"buffer_(wbl2 .*; release: .+|inv .*; acquire: .+)", line)


def test_registers_have_to_be_allocated():
    module, ctx = convert(PROGRAM.replace("LDS", LDS), "gfx942")
    with pytest.raises(DiagnosticException, match="run allocate-registers"):
        CDNAAssemblyTarget().emit(ctx, module, io.StringIO())


def test_without_a_kernel_there_is_nothing_to_print():
    function = func.FuncOp("k", ((), ()))
    with pytest.raises(DiagnosticException, match="run convert-scoped-to-cdna"):
        CDNAAssemblyTarget().emit(Context(), ModuleOp([function]), io.StringIO())
    with pytest.raises(DiagnosticException, match="nor any function to make one of"):
        CDNAAssemblyTarget().emit(Context(), ModuleOp([]), io.StringIO())


@pytest.mark.parametrize(
    ("chip", "tgsplit", "message"),
    [("gfx1100", False, "not a CDNA chip"), ("gfx908", True, "no threadgroup split mode")],
)
def test_what_is_no_target(chip: str, tgsplit: bool, message: str):
    with pytest.raises(UnsupportedError, match=message):
        convert("func.func @k() {\n  func.return\n}", chip, tgsplit)
