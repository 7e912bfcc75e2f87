"""The reader of PTX files: functions, blocks and edges, names of inner scopes, bad input."""

import subprocess
from functools import cache
from pathlib import Path

import pytest

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.source_location import SourceLine
from fencewright.lowering.ptx.code.text import PtxError, PtxFunction, read_ptx
from fencewright.tools.embedded.in_process import TOOLS, call
from fencewright.tools.inputs.code_kind import is_ptx
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "async").glob("*.mlir"))
CHIPS = {"tensormap_update": "sm_90a", "tma_to_wgmma": "sm_90a", "core_to_wgmma_smem": "sm_90a"}
HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"


@cache
def lowered(name: str) -> str:
    """A pattern of examples/async as PTX."""
    chip = CHIPS.get(name, "sm_100a" if "tcgen05" in name else "sm_90")
    path = ROOT / "examples" / "async" / f"{name}.mlir"
    done = call(TOOLS["fence-opt"], [str(path), "--mcpu", chip, "-t", "asm"])
    assert not done.status, done.stderr
    return done.stdout


TEXT = (
    HEAD
    + """\
.extern .shared .align 16 .b8 dynamic[];
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.func (.param .b32 result) helper(.param .b32 x);
.file 1 "a.cu"

.visible .entry k(
	.param .u64 .ptr .global .align 4 k_param_0, // the data
	.param .align 8 .b8 k_param_1[16]
)
.reqntid 128
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<3>;
	.shared .align 8 .b64 bar;
	.shared .align 4 .f32 tile[4][8];
	.loc	1 7 3
	ld.param.u64 %rd1, [k_param_0];
	setp.eq.s32 %p1, %r1, 0;
	@%p1 bra $L1;
	// begin inline asm
	{ .reg .pred p; .reg .b32 t<2>;
	W: mbarrier.try_wait.parity.shared.b64 p, [%r2], t0;
	@p bra D; bra W; D: }
	// end inline asm
	{
	.param .b32 param0;
	call.uni (param0), helper, (param0);
	}
$L1:
	brx.idx %r3, targets;
targets: .branchtargets $L2, $L3;
$L2:
	bar.sync 0; exit;
$L3:
	.loc	1 9 1
	ret;
}
"""
)


def only(text: str, name: str = "k") -> PtxFunction:
    return read_ptx(text, "k.ptx").functions[name]


def test_a_whole_file() -> None:
    module = read_ptx(TEXT, "k.ptx")
    assert (module.version, module.target, module.address_size) == ((8, 6), "sm_90a", 64)
    assert {name: each.size for name, each in module.variables.items()} == {
        "dynamic": None,
        "table": 8,
    }
    assert [*module.functions] == ["k"]
    kernel = module.functions["k"]
    assert kernel.is_entry
    assert [(p.name, p.type, p.size) for p in kernel.parameters] == [
        ("k_param_0", "u64", None),
        ("k_param_1", "b8", 16),
    ]
    assert {name: v.size for name, v in kernel.variables.items() if v.space == "shared"} == {
        "bar": 8,
        "tile": 128,
    }
    assert kernel.type_of("%rd2") == "b64"
    assert kernel.type_of("%x1") is None


def test_a_family_may_have_digits_in_its_name() -> None:
    text = TEXT.replace(".reg .pred", ".reg .f32 %acc_r3_<4>; .reg .pred", 1)
    assert text != TEXT
    kernel = only(text)
    assert [kernel.type_of(name) for name in ("%acc_r3_0", "%acc_r4_0", "%acc_r3_")] == [
        "f32",
        None,
        None,
    ]


def test_blocks_and_edges() -> None:
    kernel = only(TEXT)
    edges = {
        ",".join(block.labels) or str(block.number): [
            kernel.blocks[n].labels[-1:] or n for n in block.successors
        ]
        for block in kernel.blocks
    }
    assert edges == {
        "0": [("$L1",), ("W$1",)],
        "W$1": [("D$1",), 2],
        "2": [("W$1",)],
        "D$1": [("$L1",)],
        "$L1": [("$L2",), ("$L3",)],
        "$L2": [],
        "$L3": [],
        "7": [],
    }


def test_source_lines() -> None:
    found = {str(each): (each.line, each.source) for each in only(TEXT).instructions}
    assert found["ret"][1] is not None
    assert (found["ret"][1].file, found["ret"][1].line) == (1, 9)
    assert found["bar.sync 0"][1] == found["exit"][1] != found["ret"][1]
    assert TEXT.splitlines()[found["ret"][0] - 1].strip() == "ret;"


def test_names_of_inner_scopes_are_apart() -> None:
    text = HEAD + (
        ".entry k() { .reg .b32 r<4>; .reg .pred p;\n"
        "{ .reg .pred p; L: setp.eq.u32 p, r1, 0; @p bra L; }\n"
        "{ .reg .pred p; L: setp.eq.u32 p, r2, 0; @!p bra L; }\n"
        "setp.eq.u32 p, r3, 0; @p ret; }\n"
    )
    kernel = only(text)
    written = [each.statement.defines for each in kernel.instructions if each.statement.defines]
    assert written == [("p$1",), ("p$2",), ("p",)]
    assert [each.statement.guard for each in kernel.instructions if each.statement.guard] == [
        "p$1",
        "!p$2",
        "p",
    ]
    loops = [block.number for block in kernel.blocks if block.number in block.successors]
    assert [kernel.blocks[n].labels for n in loops] == [("L$1",), ("L$2",)]


def check_definitions(function: PtxFunction) -> None:
    """Every register that is used is defined, and what is defined is a register."""
    defined = {name for each in function.instructions for name in each.statement.defines}
    used = {name for each in function.instructions for name in each.statement.uses}
    assert {name for name in used if function.type_of(name)} <= defined
    assert {name for name in defined if function.type_of(name) is None} == set()


@pytest.mark.parametrize("example", [path.stem for path in EXAMPLES])
def test_every_register_that_our_own_code_uses_is_defined(example: str) -> None:
    """A role that is wrong shows here: a result that is taken for a use has no definition."""
    module = read_ptx(lowered(example), example)
    for function in module.functions.values():
        check_definitions(function)
        assert not [e for e in function.instructions if e.statement.kind is Kind.OPAQUE]


LLC = find_llvm_tool("llc")
OF_LLVM = [
    ROOT / "tests" / "data" / "llvm-ir" / "nvptx-noalias.ll",
    *sorted((ROOT / "tests" / "data" / "triton" / "sm_90").glob("*.ll")),
]


@pytest.mark.skipif(LLC is None, reason=LLVM_HINT)
@pytest.mark.parametrize("path", OF_LLVM, ids=lambda path: path.stem)
def test_what_llvm_prints_is_read(path: Path) -> None:
    assert LLC is not None
    command = [LLC, "-march=nvptx64", "-mcpu=sm_90", "-mattr=+ptx86", str(path), "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    module = read_ptx(done.stdout, path.stem)
    assert module.functions
    for function in module.functions.values():
        assert not [e for e in function.instructions if e.statement.kind is Kind.OPAQUE]
        check_definitions(function)


def read_error(text: str) -> str:
    with pytest.raises(PtxError) as caught:
        read_ptx(text, "k.ptx")
    return str(caught.value)


BODY = ".entry k() {\n.reg .b32 r<2>;\nmov.u32 r0, r1;\nret;\n}\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + BODY[:-2], "k.ptx:8: error: the file is cut short: 'k' has no end"),
        (HEAD + BODY[:-8], "k.ptx:6: error: the file is cut short: 'k' has no end"),
        (HEAD + BODY[: BODY.index("{")], "k.ptx:4: error: the file is cut short: a declaration"),
        (HEAD + ".global .b32 x", "k.ptx:4: error: the file is cut short: a statement has no end"),
        (HEAD + ".section .debug_str {\n.b8 1", "k.ptx:4: error: the file is cut short: a section"),
        (BODY, "k.ptx:1: error: expected '.version', found '.entry': this is no PTX"),
        ("define void @f() {", "k.ptx:1: error: expected '.version', found 'define void @f() {'"),
        (".version x\n", "k.ptx:1: error: '.version x' is no version"),
        (".version 8.0\n.target gfx942\n", "k.ptx:2: error: '.target gfx942' names no chip of"),
        (".version 8.0\n" + BODY, "k.ptx:1: error: no .target line: this is no whole PTX file"),
        (HEAD + BODY.replace("ret", "bra L"), "k.ptx:7: error: there is no label 'L' to jump to"),
        (HEAD + BODY.replace("ret", "= 3"), "k.ptx:7: error: '= 3' is no instruction of PTX"),
        (HEAD + BODY + HEAD + BODY, "k.ptx:12: error: 'k' is defined twice, first in line 4"),
        (
            HEAD + BODY + HEAD.replace("sm_90a", "sm_80") + BODY.replace(" k(", " j("),
            "k.ptx:10: error: a module for sm_80 follows one for sm_90a: give each a file",
        ),
        (
            HEAD + ".global .b32 x;\n.global .b64 x;\n" + BODY,
            "k.ptx:5: error: 'x' is defined twice, first in line 4",
        ),
        (HEAD + BODY.replace("ret", "\0ret"), "k.ptx:7: error: there is a NUL character in it"),
        *(
            (HEAD + BODY.replace("ret", text), f"k.ptx:7: error: '{text}' is no instruction of PTX")
            for text in (
                "atom.global.add.u32 %r2, %rd2, 1",
                "ld.global.u32 %r2, 5",
                "ld.global.u32 %r2, []",
                "ld.param.u64 %rd1, [data_",
                "mbarrier.arrive.shared::cta.b64 ], [full]",
                "mbarrier.try_wait.shared::cta.b64 %p1, full, 0",
                "cp.async.ca.shared.global [%r1], %rd1, 4",
            )
        ),
        (
            HEAD + BODY.replace("ret;", ".entry j() {"),
            "k.ptx:7: error: a function begins within 'k'",
        ),
        (HEAD + BODY + "}", "k.ptx:9: error: '}' outside of a function"),
        (HEAD + "mov.u32 r0, r1;", "k.ptx:4: error: 'mov.u32 r0, r1;' outside of a function"),
    ],
)
def test_what_cannot_be_read(text: str, problem: str) -> None:
    assert read_error(text).startswith(problem)


def test_several_modules_and_the_nuls_after_them_are_read() -> None:
    """The runtime compiler ends its text with a NUL; texts that follow each other are all read."""
    other = BODY.replace(" k(", " j(")
    found = read_ptx(
        f".extern .shared .b32 x[];\n{BODY}".join(
            (HEAD, f"{HEAD}.extern .shared .b32 x[];\n{other}\0\0")
        )
    )
    assert list(found.functions) == ["k", "j"]
    assert found.target == "sm_90a"


def test_every_prefix_is_read_or_refused() -> None:
    """Wherever a file is cut, there is an error with its line or a whole file, never a traceback."""
    whole = sum(bool(read_or_refuse(TEXT[:end])) for end in range(len(TEXT) + 1))
    assert 1 <= whole <= 2


def read_or_refuse(text: str) -> int:
    """How many functions are read; none where the text is refused with its line."""
    try:
        return len(read_ptx(text, "k.ptx").functions)
    except PtxError as problem:
        return 0 if str(problem).startswith("k.ptx:") else 1 << 10


def test_ptx_is_known_by_its_first_line() -> None:
    assert is_ptx(TEXT)
    assert is_ptx("// made by hand\n.version 8.0  // of CUDA 12\n")
    assert not is_ptx('\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n')
    assert not is_ptx("define void @f() {")


def test_lines_say_where_they_were_inlined() -> None:
    """Two calls deep: the line is that of the call in the file of the kernel."""
    text = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k() {
.loc 2 5 1, function_name $L__info_string0, inlined_at 1 11 8
.loc 3 9 2, function_name $L__info_string1, inlined_at 2 5 1
bar.sync 0;
.loc 1 12 1
ret;
}
"""
    barrier, ret = read_ptx(text, "k.ptx").functions["k"].instructions
    assert barrier.source is not None
    assert (barrier.source.file, barrier.source.line) == (3, 9)
    assert barrier.source.in_kernel == SourceLine(1, 11, 8)
    assert ret.source is not None
    assert ret.source.in_kernel is ret.source
