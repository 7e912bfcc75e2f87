"""The recipe "An instruction" of docs/architecture.md, followed with instructions that no chip has.

Each made-up instruction has the rows that the recipe names, and no others; every command then takes it.
Without them each command says that it does not know the instruction.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from fencewright.lowering.cdna import instructions
from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands import operands
from fencewright.lowering.cdna.instruction_row import InstructionRow, Unit
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx import instructions as registers
from fencewright.lowering.ptx.code import statements
from fencewright.simulator.kernels.amd import arithmetic as amd_arithmetic
from fencewright.simulator.kernels.ptx import functions
from fencewright.simulator.programs import nvidia
from fencewright.simulator.programs.amd import rows as amd_programs
from fencewright.simulator.semantics import formulas
from fencewright.simulator.semantics import rows as semantics
from fencewright.tools.embedded.in_process import TOOLS, Finished, call

Patch = pytest.MonkeyPatch

# What is decoded is kept by its text.
_CACHES = (
    operands.family_of,
    statements.read_opcode,
    statements.read_statement,
    registers.registers_of,
    amd_programs.row_of,
    amd_programs.row_of_any,
    nvidia._function_of,  # pyright: ignore[reportPrivateUsage]
)


def _forget() -> None:
    for each in (*_CACHES, *vars(functions).values(), *vars(formulas).values()):
        if hasattr(each, "cache_clear"):
            each.cache_clear()
    operands.effects_by_text.cache_clear()


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> Iterator[None]:
    _forget()
    yield
    _forget()


# AMD: v_frob_b32, which is what v_xor_b32 is


def amd_name(patch: Patch) -> None:
    """Step 1."""
    tables = operands._TABLES  # pyright: ignore[reportPrivateUsage]
    table = tables[Generation.GFX942]
    named = replace(table, vector_names=table.vector_names | {"frob_b32"})
    patch.setattr(operands, "_TABLES", MappingProxyType({**tables, Generation.GFX942: named}))


def amd_meaning(patch: Patch) -> None:
    """Step 2; lanes compute by rows that are made of the meanings."""
    for module, name in (
        (amd_programs, "MEANINGS"),
        (amd_arithmetic, "MEANINGS"),
        (amd_arithmetic, "ROWS"),
    ):
        known = getattr(module, name)
        patch.setattr(module, name, MappingProxyType({**known, "v_frob_b32": known["v_xor_b32"]}))


def amd_printed(patch: Patch) -> None:
    """Step 3."""
    row = InstructionRow(
        mnemonic="v_frob_b32_e32",
        operands="{dst}, {a}, {b}",
        kind=Kind.COMPUTE,
        counters=(),
        chips=frozenset({"gfx942"}),
        source="made up",
        unit=Unit.VALU,
    )
    patch.setitem(instructions.INSTRUCTIONS, (row.mnemonic, False), row)


AMD_STEPS = (amd_name, amd_meaning, amd_printed)

AMD_CODE = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	frob
	.type	frob,@function
frob:
	s_load_dwordx2 s[0:1], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[0:1]
	s_waitcnt vmcnt(0)
	v_frob_b32_e32 v1, 1, v1
	global_store_dword v0, v1, s[0:1]
	s_endpgm
.Lfunc_end0:
	.section	.rodata,"a",@progbits
	.amdhsa_kernel frob
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 2
		.amdhsa_next_free_sgpr 2
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .kernarg_segment_size: 8
    .name:           frob
    .symbol:         frob.kd
    .wavefront_size: 64
...
	.end_amdgpu_metadata
"""

AMD_TEST = """
litmus.test @frob {
  litmus.location @x = 5 : i32
  litmus.thread @P0 at <workgroup = 0> {
    %p = litmus.address @x : !cdna.vgpr<2>
    %a = cdna.load global_load_dword %p : (!cdna.vgpr<2>) -> !cdna.vgpr
    cdna.s_waitcnt vmcnt(0)
    %one = cdna.const 1 : !cdna.vgpr
    %r = cdna.alu v_frob_b32_e32 %a, %one : (!cdna.vgpr, !cdna.vgpr) -> !cdna.vgpr
    litmus.observe "r0", %r : !cdna.vgpr
    cdna.end s_endpgm
  }
  litmus.condition "forall (P0:r0 = 4)"
}
"""

# PTX: frob.b32, which is what xor.b32 is


def ptx_decoded(patch: Patch) -> None:
    """Step 1."""
    known = statements._BY_FIRST_WORD  # pyright: ignore[reportPrivateUsage]
    row = replace(known["xor"][0], name="frob")
    patch.setattr(statements, "_BY_FIRST_WORD", MappingProxyType({**known, "frob": (row,)}))


def ptx_executed(patch: Patch) -> None:
    """Step 2."""
    by_head = semantics._BY_HEAD  # pyright: ignore[reportPrivateUsage]
    patch.setitem(by_head, "frob", [replace(each, head="frob") for each in by_head["xor"]])


def ptx_printed(patch: Patch) -> None:
    """Step 3."""
    patch.setitem(registers.ROWS, "frob", registers.ROWS["xor"])


PTX_STEPS = (ptx_decoded, ptx_executed, ptx_printed)

PTX_CODE = """
.version 8.0
.target sm_90
.address_size 64

.visible .entry frob(.param .u64 data)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [data];
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r1, %tid.x;
	frob.b32 %r1, %r1, 1;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.b32 %r2, [%rd3];
	ret;
}
"""

PTX_TEST = """
litmus.test @frob {
  litmus.location @x = 5 : i32
  litmus.thread @P0 {
    %p = litmus.address @x : !ptx.reg<b64>
    %a = ptx.load "ld.relaxed.gpu.global.b32" %p : !ptx.reg<b64> -> !ptx.reg<b32>
    %one = ptx.const 1 : !ptx.reg<b32>
    %r = ptx.alu "frob.b32"(%a, %one) : (!ptx.reg<b32>, !ptx.reg<b32>) -> !ptx.reg<b32>
    litmus.observe "r0", %r : !ptx.reg<b32>
    litmus.end
  }
  litmus.condition "forall (P0:r0 = 4)"
}
"""

Sample = tuple[str, str, str, str]
AMD: Sample = (AMD_CODE, AMD_TEST, "s", "gfx942")
PTX: Sample = (PTX_CODE, PTX_TEST, "ptx", "sm_90")


def commands(sample: Sample, folder: Path) -> dict[str, Finished]:
    """All commands that read instructions, each with what it answers."""
    code, test, suffix, chip = sample
    written, litmus = folder / f"frob.{suffix}", folder / "frob.mlir"
    written.write_text(code)
    litmus.write_text(test)
    launch = ("--mcpu", chip, "--grid", "1", "--block", "64", "--arg", "i32:64")
    check, simulate = TOOLS["fence-check"], TOOLS["fence-sim"]
    for_amd = ("--mcpu", chip) if sample is AMD else ()
    of_ptx = {"race": call(check, [f"{written}", "--launch", "frob<<<1, 64>>>(i32[64])"])}
    return ({} if sample is AMD else of_ptx) | {
        "check": call(check, [f"{written}", "--notes"]),
        "lift": call(check, [f"{written}", "--to", "scoped"]),
        "run": call(simulate, ["run", f"{litmus}", *for_amd]),
        "traffic": call(simulate, ["traffic", f"{written}", *launch]),
    }


@pytest.mark.parametrize(("sample", "steps"), [(AMD, AMD_STEPS), (PTX, PTX_STEPS)])
def test_an_instruction_with_its_rows_is_read_by_every_command(
    sample: Sample,
    steps: tuple[Callable[[Patch], None], ...],
    tmp_path: Path,
    monkeypatch: Patch,
) -> None:
    for step in steps:
        step(monkeypatch)
    answers = commands(sample, tmp_path)
    for name, answer in answers.items():
        assert takes(answer), (name, answer)


def takes(answer: Finished) -> bool:
    """True of a command that has nothing against the instruction."""
    said = answer.stdout + answer.stderr
    return answer.status == 0 and "not known" not in said and "unknown" not in said


@pytest.mark.parametrize(("sample", "steps"), [(AMD, AMD_STEPS), (PTX, PTX_STEPS)])
def test_every_row_of_the_recipe_is_needed(
    sample: Sample, steps: tuple[Callable[[Patch], None], ...], tmp_path: Path
) -> None:
    for left_out in steps:
        _forget()
        with pytest.MonkeyPatch.context() as patch:
            for step in steps:
                if step is not left_out:
                    step(patch)
            assert not all(map(takes, commands(sample, tmp_path).values())), left_out.__name__


@pytest.mark.parametrize("sample", [AMD, PTX])
def test_without_its_rows_no_command_takes_it(sample: Sample, tmp_path: Path) -> None:
    for name, answer in commands(sample, tmp_path).items():
        assert not takes(answer), (name, answer)
