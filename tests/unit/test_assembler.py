"""AMD assembly in every spelling of the assembler: read as llvm-mc reads it, or named as not read."""

import re
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from campaigns import some_of

from fencewright.lowering.cdna.chips import Generation
from fencewright.lowering.cdna.code.operands.family import FamilyRow
from fencewright.lowering.cdna.code.operands.instruction_names import (
    NAMES_GFX9,
    NAMES_GFX10,
    NAMES_GFX11,
    NAMES_GFX12,
)
from fencewright.lowering.cdna.code.operands.operands import family_of, fault_of
from fencewright.lowering.cdna.code.text import (
    Registers,
    code_lines,
    read_assembly,
    read_instruction,
    read_integer,
)
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.tools import fence_check
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

TARGET = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"'
LOAD, WAIT, USE = (
    "global_load_dword v0, v1, s[0:1]",
    "s_waitcnt vmcnt(0)",
    "v_add_u32_e32 v2, 1, v0",
)
END = ("s_endpgm", ".Lend:", "\t.size k, .Lend-k")


def kernel(*body: str) -> str:
    return "\n".join((TARGET, "\t.type k,@function", "k:", *body, *END, ""))


LLVM_MC = find_llvm_tool("llvm-mc")
needs_llvm_mc = pytest.mark.skipif(
    LLVM_MC is None or find_llvm_tool("llvm-objdump") is None, reason=LLVM_HINT
)


def assembled(
    text: str, *options: str, chip: str = "gfx942"
) -> "subprocess.CompletedProcess[bytes]":
    assert LLVM_MC is not None
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", *options]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=False)


class Checked:
    """The status of ``fence-check`` for a content, and what it says."""

    def __init__(self, capsys: pytest.CaptureFixture[str], path: Path, content: bytes):
        path.write_bytes(content)
        self.status = fence_check.main([str(path)])
        out, err = capsys.readouterr()
        self.said = out + err


def check(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> Checked:
    return Checked(capsys, tmp_path / "k.s", text.encode())


# One spelling stands between a load and its use: without a wait that is an error.
BETWEEN = (
    *(
        f"; c{end}{WAIT}"
        for end in ("\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
    ),
    f"; c\r{WAIT}",
    f"; c\r\n{WAIT}",
    f"// c\f{WAIT}",
    f'\t.ident "x\n{WAIT}\ny"',
    f'\t.ident "a;b//c" \n{WAIT}',
    f'\t.ident "a\\"\n{WAIT}\n"',
    f"/* a\n{WAIT}\n*/",
    f"/* a\n*/{WAIT}",
    f"/* a */ {WAIT} /* b */",
    f"s_nop 0 // /*\n{WAIT}\n// */",
    f"; /*\n{WAIT}\n; */",
    f"# a comment\n{WAIT}",
    f" # {WAIT}",
    f"s_nop 0 ; {WAIT}",
    f"lab : {WAIT}",
    f"a: b: {WAIT}",
    f'"a label": {WAIT}',
    f"a?b: {WAIT}",
    "s_waitcnt vmcnt(00)",
    "s_waitcnt vmcnt(0x0)",
    "s_waitcnt vmcnt(0b0)",
    "s_waitcnt vmcnt(01)",
    "s_waitcnt vmcnt(1-1)",
    "s_waitcnt vmcnt( 0 )",
    "s_waitcnt vmcnt (0)",
    "s_waitcnt vmcnt(0), lgkmcnt(0)",
    "s_waitcnt vmcnt(0),lgkmcnt(0)",
    "s_waitcnt lgkmcnt(0)&vmcnt(0)",
    "s_waitcnt vmcnt(0) & lgkmcnt(0)",
    "s_waitcnt vmcnt(0) & foo(0)",
    "s_waitcnt vmcnt(0) foo(0)",
    "s_waitcnt vmcnt(0) &",
    "s_waitcnt vmcnt(0)|lgkmcnt(0)",
    "s_waitcnt vmcnt(1) vmcnt(0)",
    "s_waitcnt vmcnt(64)",
    "s_waitcnt vmcnt(63)",
    "s_waitcnt vmcnt_sat(64)",
    "s_waitcnt vscnt(0)",
    "s_waitcnt VMCNT(0)",
    "s_waitcnt",
    "s_waitcnt 0",
    "s_waitcnt 00",
    "s_waitcnt 0xf70",
    "s_waitcnt 0Xf70",
    "s_waitcnt 0b111101110000",
    "s_waitcnt 07560",
    "s_waitcnt 3952u",
    "s_waitcnt -1",
    "s_waitcnt ~0",
    "s_waitcnt 0+0",
    "s_waitcnt (0)",
    "s_waitcnt a",
    "a = 0\ns_waitcnt a",
    "\t.set a, 0\n\ts_waitcnt a",
    "S_WAITCNT vmcnt(0)",
    "s_waitcnt(0)",
    "\t.long 0xbf8c0f70",
    "\t.4byte 0xbf8c0f70",
    "\t.byte 0x70, 0xf, 0x8c, 0xbf",
    '\t.ascii "p\\017\\214\\277"',
    "\t.word 0xbf8c0f70",
    "\t.p2align 6",
    "\t.macro m\ns_waitcnt 0\n.endm\nm",
    "\t.macro s_waitcnt\ns_nop 0\n.endm\ns_waitcnt",
    f"\t.if 0\n{WAIT}\n.endif",
    f"\t.rept 0\n{WAIT}\n.endr",
    f"\t.rep 0\n{WAIT}\n.endr",
    f"\t.section .data\n{WAIT}\n\t.text",
    "\t.section .rodata\n\t.long 1\n\t.text",
    "\t.pushsection .data\n\t.long 1\n\t.popsection",
    f"\t.pushsection .text.o\no:\n{WAIT}\ns_endpgm\n\t.popsection",
    "\t.subsection 1\n\ts_nop 0\n\t.subsection 0",
    f"s_branch 0\n{WAIT}",
    f"s_branch 1\n{WAIT}",
    f"s_branch 1f\n{WAIT}\n1:",
    f"s_branch .+8\n{WAIT}",
    f"s_branch nowhere\n{WAIT}",
    f"b = c\ns_branch b\n{WAIT}\nc:",
    f"s_branch c\n{WAIT}\nc:",
    f"{WAIT}\ns_cbranch_scc0 k",
)

# One spelling of something in code that is right as far as it is read.
WITHIN = (
    *(
        f"global_load_dword v0, v1, s[0:1] {each}"
        for each in (
            "sc0", "sc1", "nt", "sc0 sc1 nt", "sc3", "SC0", "sc", "foo", "foo:1", "offset:4", "offset: 4",
            "noffset:4", "offset:0x4 sc0", "sc0, sc1", "nosc0", "lds", "scope:SCOPE_SYS", "glc",
        )
    ),
    "global_load_dword v0, v1, s[0:1], sc3",
    "global_load_dword v0 v1 s[0:1]",
    "global_load_dword v0, v1, s[0:1]sc0",
    "global_load_dword v00, v01, s[0:1]",
    "global_load_dword v[0], v[1], s[0:1]",
    "global_load_dword v[1-1], v1, s[0:1]",
    "global_load_dword v [0], v1, s[0:1]",
    "global_load_dword v[0x0], v1, s[0:1]",
    "global_load_dword v[1:0], v1, s[0:1]",
    "global_load_dword v[0:9999999], v1, s[0:1]",
    "global_load_dword v99999, v1, s[0:1]",
    'global_load_dword "v0", v1, s[0:1]',
    "global_load_dword",
    "global_load_dword v0",
    "global_load_dwordd v0, v1, s[0:1]",
    "global_laod_dword v0, v1, s[0:1]",
    "ds_read_b31 v0, v1",
    "ds_frobnicate v0, v1",
    "s_frobnicate s0",
    "s_load_dwordx3 s[4:6], s[0:1], 0x0",
    "buffer_inv sc2",
    "buffer_inv sc0 sc1",
    "buffer_wbl3 sc1",
    "s_barier",
    "s_nop 01",
    "s_nop 08",
    "s_nop 0b1",
    "s_nop -1",
    "s_nop 1u",
    "s_nop 1h",
    "\t.frobnicate 1",
)  # fmt: skip


def judged(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> tuple[Checked, Checked | None]:
    """What is said of a text, and of the object that llvm-mc makes of it; None: it makes none."""
    done = assembled(text, "-filetype=obj")
    ours = check(capsys, tmp_path, text)
    if done.returncode:
        return ours, None
    return ours, Checked(capsys, tmp_path / "k.o", done.stdout)


@needs_llvm_mc
@pytest.mark.parametrize("spelling", some_of(BETWEEN, 3))
def test_what_is_between_a_load_and_its_use_is_what_the_assembler_sees(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, spelling: str
) -> None:
    ours, its = judged(capsys, tmp_path, kernel(LOAD, spelling, USE))
    if its is None:
        assert ours.status != 0
    elif ours.status != its.status:
        assert ours.status in (2, 3)
        assert re.search(r"k\.s:\d+:\d+: ", ours.said)


@needs_llvm_mc
@pytest.mark.parametrize("spelling", some_of(WITHIN, 3))
def test_what_the_assembler_refuses_is_never_right(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, spelling: str
) -> None:
    ours, its = judged(capsys, tmp_path, kernel(spelling, WAIT, USE))
    if its is not None:
        assert ours.status in (its.status, 2, 3)
    elif not spelling.startswith("s_nop"):
        # How long a wave does nothing changes no synchronisation.
        assert ours.status != 0
    if ours.status in (2, 3):
        assert "k.s:4:1: " in ours.said


SPELT = (
    (";c\f" + WAIT, 1, "k.s:6:1: error: v0 is used"),
    (f'\t.ident "x\n{WAIT}\ny"', 1, "k.s:8:1: error: v0 is used"),
    ("\t.long 0xbf8c0f70", 3, "k.s:5:1: warning: '.long' is not known"),
    ("s_waitcnt vmcnt(0) & foo(0)", 2, "k.s:5:1: error: unknown wait 'foo(0)'"),
    ("v_mov_b32 v2, v[1-0]", 2, "k.s:5:1: error: 'v_mov_b32 v2, v[1-0]' is for the assembler"),
    ("v_mov_b32 v2, v01", 2, "k.s:5:1: error: 'v01' is for the assembler"),
    ("v_mov_b64 v[2:3], v[0:9999999]", 2, "k.s:5:1: error: there are no registers 'v[0:9999999]'"),
    ("buffer_inv sc3", 3, "k.s:5:1: warning: 'buffer_inv' has 'sc3', which is not known"),
    ("global_load_dwordd v4, v1, s[0:1]", 3, "k.s:5:1: warning: 'global_load_dwordd' is not known"),
    ("global_load_dword", 3, "k.s:5:1: warning: 'global_load_dword' has too few operands"),
    ("k:", 2, "k.s:5:1: error: 'k' is defined twice, first in line 3"),
    ("s_branch nowhere", 3, "k.s:5:1: warning: 'nowhere' is no label of this function"),
    ("1:", 2, "k.s:5:1: error: '1:' is for the assembler"),
    ("\t.end", 2, "k.s:5:1: error: '.end' is for the assembler"),
    ('\t.ident "x', 2, "k.s:5:1: error: the string that begins here has no end"),
    ("/* x", 2, "k.s:5:1: error: the comment that begins here has no end"),
    ("\t.macro s_nop\n.endm\ns_nop 1", 2, "k.s:7:1: error: 's_nop' is for the assembler"),
)


@pytest.mark.parametrize(("spelling", "status", "said"), SPELT)
def test_a_spelling_is_read_or_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, spelling: str, status: int, said: str
) -> None:
    found = check(capsys, tmp_path, kernel(LOAD, spelling, USE))
    assert said in found.said
    # The use of what has not been waited for is an error beside what is not known.
    assert found.status == (1 if status == 3 and "v0 is used" in found.said else status)


TYPES = (
    "@function", "%function", "#function", '"function"', "function", "STT_FUNC", "@ function",
    '@"function"',
)  # fmt: skip


@pytest.mark.parametrize(
    "kind", [*(f"\t.type k2,{each}" for each in TYPES), "\t.type k2 @function", "\t.globl k2", ""]
)
@pytest.mark.parametrize("section", ["", '\t.section .text.k2,"ax",@progbits'])
def test_a_function_is_one_however_it_is_declared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str, section: str
) -> None:
    text = kernel(LOAD, WAIT, USE) + "\n".join((section, kind, "k2:", LOAD, USE, "s_endpgm", ""))
    found = check(capsys, tmp_path, text)
    assert (found.status, "functions k, k2: 1 error" in found.said) == (1, True)
    if LLVM_MC is not None and find_llvm_tool("llvm-objdump") is not None:
        _, its = judged(capsys, tmp_path, text)
        assert its is not None
        assert (its.status, "functions k, k2: 1 error" in its.said) == (1, True)


@pytest.mark.parametrize("beside", [(".Ltmp0:", "\t.p2align 8", ".LBB0_0:"), (".LBB0_0: .Ltmp0:",)])
def test_a_label_of_debug_information_ends_no_function(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, beside: tuple[str, ...]
) -> None:
    """As behind the branch over the preloading of arguments."""
    found = check(capsys, tmp_path, kernel(LOAD, "s_branch .LBB0_0", *beside, USE))
    assert (found.status, "functions k: 1 error" in found.said) == (1, True)


def test_a_loop_begins_a_function_that_nothing_leads_to(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    loop = ("k2:", ".LBB1_0:", LOAD, USE, "s_cbranch_scc1 .LBB1_0", "s_endpgm", "")
    found = check(capsys, tmp_path, kernel(LOAD, WAIT, USE) + "\n".join(loop))
    assert (found.status, "functions k, k2: 1 error" in found.said) == (1, True)


def test_a_label_of_debug_information_is_no_function(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Kernels whose arguments are preloaded begin with a branch over such labels to an aligned block."""
    found = check(
        capsys,
        tmp_path,
        kernel("s_branch .LBB0_0", ".Ltmp0:", "\t.p2align 8", ".LBB0_0:", LOAD, ".Ltmp1:", USE),
    )
    assert "functions k: 1 error" in found.said
    assert "is no label" not in found.said
    assert found.status == 1


def test_code_before_any_label_is_a_function_of_its_section(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = check(capsys, tmp_path, "\n".join((TARGET, LOAD, USE, "s_endpgm", "")))
    assert (found.status, "functions .text: 1 error" in found.said) == (1, True)


def test_a_section_goes_on_where_it_was_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    away = ('\t.section .rodata,"a",@progbits', "\t.long 1", "\t.text")
    found = check(capsys, tmp_path, kernel(LOAD, *away, USE))
    assert (found.status, "k.s:8:1: error: v0 is used" in found.said) == (1, True)
    found = check(capsys, tmp_path, kernel(LOAD, "\t.pushsection .data", "\t.popsection", USE))
    assert (found.status, "k.s:7:1: error: v0 is used" in found.said) == (1, True)


def test_sections_are_left_as_they_were_entered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    away = ("\t.pushsection .data", "\t.section .rodata", "\t.long 1", "\t.popsection")
    found = check(capsys, tmp_path, kernel(LOAD, *away, USE))
    assert (found.status, "k.s:9:1: error: v0 is used" in found.said) == (1, True)
    away = ("\t.section .rodata", "\t.long 1", "\t.previous")
    found = check(capsys, tmp_path, kernel(LOAD, *away, USE))
    assert (found.status, "k.s:8:1: error: v0 is used" in found.said) == (1, True)


def test_lines_are_read_in_linear_time() -> None:
    """Thirty thousand of each: what is quadratic takes minutes."""
    many = 30_000
    for filling in (
        "\n" * many,
        ' .ident "' + '\\"\n' * many + '"\n',
        "/*" + "\n" * many + "*/\n",
        " " * many + "\n",
    ):
        text = kernel(LOAD, filling, USE)
        begin = time.process_time()
        assert len(read_assembly(text).functions["k"].instructions) == 3
        assert time.process_time() - begin < 5


def test_a_function_without_an_instruction_at_the_end_is_cut_short(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = kernel(LOAD, WAIT, USE) + "\t.type e,@function\ne:\n"
    found = check(capsys, tmp_path, text)
    assert (found.status, "k.s:11:1: error: 'e' has no instructions" in found.said) == (2, True)


@needs_llvm_mc
def test_data_in_the_code_of_an_object_are_not_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    done = assembled(kernel(LOAD, "\t.long 0xffffffff", WAIT, USE), "-filetype=obj")
    found = Checked(capsys, tmp_path / "k.o", done.stdout)
    assert (found.status, "'.long' is not known: it may do anything" in found.said) == (3, True)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0), ("01", 1), ("017", 15), ("0x1F", 31), ("0X1f", 31), ("0b11", 3), ("0B11", 3), ("-1", -1),
        ("-017", -15), ("10", 10), ("1u", 1), ("1ull", 1), ("08", None), ("0xg", None), ("0b2", None),
        ("1h", None), ("1.0", None), ("a", None), ("", None), ("--1", None),
    ],
)  # fmt: skip
def test_integers(text: str, number: int | None) -> None:
    assert read_integer(text) == number
    if number is not None:
        assert read_instruction(f"s_nop {text}", 1).operands == (number,)


@needs_llvm_mc
def test_integers_are_those_of_the_assembler() -> None:
    for text in (
        "0",
        "01",
        "017",
        "0x1F",
        "0X1f",
        "0b11",
        "-1",
        "-017",
        "1u",
        "1ull",
        "08",
        "0xg",
        "1h",
    ):
        done = assembled(f"s_mov_b32 s0, {text}\n")
        number = read_integer(text)
        assert (done.returncode == 0) == (number is not None), text
        if number is not None:
            said = done.stdout.decode().split()[-1]
            assert read_integer(said) == number


def test_registers_are_made_of_ranges_that_there_are() -> None:
    assert read_instruction("v_mov_b32 v0, v[0:99999999]", 1).operands[1] == "v[0:99999999]"
    (made, _) = read_instruction("x v[0:1023], s[4]", 1).operands
    assert isinstance(made, Registers)
    assert len(made.names) == 1024


def test_lines_keep_their_numbers() -> None:
    text = (
        'a\r\nb ; c\rd // e\n/* f\n g */ h\ni /* j */ k\n.ident "l\nm" // n\n# o\np v0 /*v256*/, v1'
    )
    assert code_lines(text, "k.s") == [
        "a", "b", "d", "", "h", "i   k", '.ident "l\nm"', "", "", "p v0  , v1"
    ]  # fmt: skip


def test_metadata_are_no_code() -> None:
    lines = (
        "\t.amdgpu_metadata",
        "---",
        "amdhsa.kernels: 'it''s \"'",
        "...",
        "\t.end_amdgpu_metadata",
    )
    assert read_assembly(kernel("s_nop 0") + "\n".join((*lines, ""))).functions.keys() == {"k"}
    with pytest.raises(AssemblyError, match=r"k\.s:10: "):
        read_assembly(kernel("s_nop 0") + '\n\n"', "k.s")


NAMES: dict[tuple[str, ...], frozenset[str]] = {
    ("gfx908", "gfx90a", "gfx942", "gfx950"): NAMES_GFX9,
    ("gfx1010", "gfx1030"): NAMES_GFX10,
    ("gfx1100", "gfx1150"): NAMES_GFX11,
    ("gfx1200", "gfx1201", "gfx1250"): NAMES_GFX12,
}


@needs_llvm_mc
@pytest.mark.parametrize("chips", NAMES)
def test_names_are_those_of_the_assembler(chips: tuple[str, ...]) -> None:
    every = sorted({name for names in NAMES.values() for name in names})
    known: set[str] = set()
    for chip in chips:
        done = assembled("\n".join((*every, "")), chip=chip)
        refused = {
            int(found[1])
            for found in re.finditer(
                r"<stdin>:(\d+):\d+: error: (?:instruction not supported|invalid instruction)",
                done.stderr.decode(),
            )
        }
        known.update(name for number, name in enumerate(every, 1) if number not in refused)
    assert known == NAMES[chips]


FORMS = (
    *("{}, v4", "v4, {}", "{}, v4, v5", "{}, v[4:5]", "{}, v4, s[0:1]", "v4, {}, s[0:1]"),
    *("{}, off, s0", "{}, off, s[0:3], 0", "{}, off, s[0:3], null"),
)
OPERANDS = (
    *("s0, s1", "s0, s1, s2", "s[0:1], s[2:3]", "0"),
    *(f"{data}, s[2:3], 0x0" for data in ("s0", "s[4:5]", "s[4:7]", "s[4:11]", "s[4:19]")),
    *(form.format(data) for data in ("v1", "v[0:1]", "v[0:2]", "v[0:3]") for form in FORMS),
)


@needs_llvm_mc
@pytest.mark.parametrize("chip", ["gfx1100", "gfx1200", "gfx1250"])
def test_an_older_name_has_the_row_of_the_new_one(chip: str) -> None:
    names = sorted({name for names in NAMES.values() for name in names})
    lines = [f"{name} {operands}" for name in names for operands in OPERANDS]
    done = assembled("\n".join((*lines, "")), chip=chip)
    refused = {int(n) for n in re.findall(r"<stdin>:(\d+):\d+: error", done.stderr.decode())}
    accepted = [line.split()[0] for n, line in enumerate(lines, 1) if n not in refused]
    printed = re.findall(r"^\t(\w+)", done.stdout.decode(), re.MULTILINE)
    aliases = {(a, b) for a, b in zip(accepted, printed, strict=True) if a != b}
    assert len(aliases) > 100

    def facts(name: str) -> FamilyRow:
        row = family_of(name, Generation(chip))
        assert row is not None, name
        return replace(row, pattern="")

    assert [pair for pair in sorted(aliases) if facts(pair[0]) != facts(pair[1])] == []


def test_a_fault_says_what_is_not_known() -> None:
    def fault(text: str) -> str:
        return fault_of(read_instruction(text, 1), Generation.GFX942)

    assert fault("s_nop 0") == ""
    assert fault("v_add_u32_e32 v0, v1, v2") == ""
    assert fault("buffer_load_dword v1, s[4:7], 0 offen offset:4 lds") == ""
    assert fault("s_load_dword s0, s[0:1], sym - 4") == ""
    assert (
        fault("global_store_dword v0, v1, s[0:1] sc0 sc2")
        == "'global_store_dword' has 'sc2', which is not known"
    )
    assert fault("ds_read_b32 v0, v1, x") == "'ds_read_b32' has 'x', which is not known"
    assert fault("v_nosuch v0") == "'v_nosuch' is not known"
