"""Constants and names as newer LLVMs print them: read with the same bits, at the same places."""

import random
import re
import subprocess
import sys

import pytest
from xdsl.utils.exceptions import ParseError

from fencewright import lower_llvm_ir
from fencewright.mlir_dialects.llvm_ir.newer import column_as_given, in_older_words, is_newer
from fencewright.mlir_dialects.llvm_ir.parser import disassemble, llvm_module
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.mlir_dialects.llvm_ir.write import export_llvm_ir

WIDTHS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
SIGNIFICANDS = {"half": 10, "bfloat": 7, "float": 23, "double": 52}


def bits_of(type: str, constant: str) -> int:
    """What LLVM makes of a constant, as the bits of an integer."""
    width = WIDTHS[type]
    text = f"define i{width} @f() {{\n  ret i{width} bitcast ({type} {constant} to i{width})\n}}\n"
    with llvm_module(text, "constant") as module:
        found = re.search(rf"ret i{width} (-?[0-9]+)", str(module))
    assert found is not None
    return int(found[1]) & ((1 << width) - 1)


@pytest.mark.parametrize("type", WIDTHS)
def test_bit_patterns_keep_their_bits(type: str) -> None:
    width, significand = WIDTHS[type], SIGNIFICANDS[type]
    exponents = ((1 << (width - 1 - significand)) - 1) << significand
    chosen = random.Random(0)
    for _ in range(60):
        drawn = chosen.getrandbits(width)
        # Anything; an infinity or a NaN, which may signal; zero or a denormal value.
        for bits in (drawn, drawn | exponents, drawn & ~exponents):
            assert bits_of(type, f"f0x{bits:0{width // 4}X}") == bits


@pytest.mark.parametrize(
    ("type", "constant", "bits"),
    [
        ("half", "+inf", 0x7C00),
        ("half", "-inf", 0xFC00),
        ("bfloat", "-inf", 0xFF80),
        ("float", "-inf", 0xFF800000),
        ("double", "+inf", 0x7FF0000000000000),
        ("half", "+qnan", 0x7E00),
        ("float", "-qnan", 0xFFC00000),
        ("double", "+qnan", 0x7FF8000000000000),
        ("float", "+nan(0x1)", 0x7FC00001),
        ("float", "+snan(0x1)", 0x7F800001),
        ("bfloat", "-snan(0x3f)", 0xFFBF),
        ("float", "1.000000e-01", 0x3DCCCCCD),
        ("float", "-3.300000e-05", 0xB80A697B),
        ("half", "9.997550e-02", 0x2E66),
        ("bfloat", "1.000000e-01", 0x3DCD),
        # Half way between two values of the type: to the even one.
        ("float", "16777217.0", 0x4B800000),
        ("float", "16777219.0", 0x4B800002),
        ("half", "2049.0", 0x6800),
        # Rounded to a double first, the first would be half way, and the second is not either.
        ("float", "16777217.0000000001", 0x4B800001),
        ("float", "1.0e-45", 0x00000001),
        ("half", "6.0e-8", 0x0001),
        ("float", "1.17549431e-38", 0x00800000),
        ("float", "2.500000e+00", 0x40200000),
        ("double", "1.000000e-01", 0x3FB999999999999A),
    ],
)
def test_constants_have_the_bits_that_newer_llvms_give_them(
    type: str, constant: str, bits: int
) -> None:
    assert bits_of(type, constant) == bits


def by_triton(text: str) -> str:
    """What LLVM 22 prints of the bitcode that Triton's LLVM makes of ``text``."""
    script = (
        "import sys; from triton._C.libtriton import llvm; llvm.init_targets();"
        "sys.stdout.buffer.write(llvm.to_bitcode(sys.stdin.read(), False))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        input=text.encode(),
        check=True,
        stdout=subprocess.PIPE,
    )
    return disassemble(done.stdout)


FINITE = ("1.000000e-01", "-3.300000e-05", "9.997550e-02", "6.000000e-08", "65504.0", "2049.0")
LEAST = {"half": "6.0e-8", "bfloat": "9.2e-41", "float": "1.4e-45", "double": "4.9e-324"}
SPECIAL = ("+inf", "-inf", "+qnan", "-qnan", "+nan(0x1)", "-nan(0x2a)", "+snan(0x1)", "-snan(0x3f)")


def constants() -> list[tuple[str, str]]:
    """Constants of each type as newer LLVMs write them, each with its type; some in vectors."""
    chosen = random.Random(1)
    patterns = {
        type: [f"f0x{chosen.getrandbits(width):0{width // 4}X}" for _ in range(6)]
        for type, width in WIDTHS.items()
    }
    scalars = [
        (type, each) for type in WIDTHS for each in (*FINITE, *SPECIAL, *patterns[type], LEAST[type])
    ]  # fmt: skip
    vectors = [(f"<2 x {type}>", f"<{type} {each}, {type} +inf>") for type, each in scalars[::9]]
    return [*scalars, *vectors, *((f"<4 x {type}>", f"splat ({type} -inf)") for type in WIDTHS)]


def test_constants_have_the_bits_that_tritons_llvm_gives_them() -> None:
    triton = pytest.importorskip("triton", reason="needs triton 3.9 (make oracles)")
    if not triton.__version__.startswith("3.9."):
        pytest.skip("needs triton 3.9 (make oracles)")
    lines = [f"@g{n} = global {type} {each}" for n, (type, each) in enumerate(constants())]
    text = "\n".join([*lines, ""])
    with llvm_module(text, "constants") as module:
        read = [line for line in str(module).splitlines() if line.startswith("@g")]
    assert read == [line for line in by_triton(text).splitlines() if line.startswith("@g")]
    assert len(read) == len(lines) > 38


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fmul float %57, f0x3F800000, !dbg !1", "fmul float %57, 0x3FF0000000000000, !dbg !1"),
        (
            "phi <1 x float> [ %20, %19 ], [ splat (float -inf), %5 ]",
            "phi <1 x float> [ %20, %19 ], [ splat (float 0xFFF0000000000000), %5 ]",
        ),
        ("{ half +inf, bfloat +inf }", "{ half 0xH7C00, bfloat 0xR7F80 }"),
        ("fptrunc double 0.1 to float", "fptrunc double 0.1 to float"),
        # Exact decimals are as good for every LLVM.
        ("float 1.500000e+00", "float 1.500000e+00"),
        # Neither strings nor names nor comments are constants.
        ('float c"+inf" ; float +inf', 'float c"+inf" ; float +inf'),
        ("call float @f.0.1(float %0.1)", "call float @f.0.1(float %0.1)"),
        # What says nothing, or not the same as the type, is for LLVM to reject.
        ("float f0x3F80", "float f0x3F80"),
        ("i32 f0x3F800000", "i32 f0x3F800000"),
        ("%float.x = add i32 +inf", "%float.x = add i32 +inf"),
        ("float +snan(0x0)", "float +snan(0x0)"),
        ("float +nan(0xFFFFFFFF)", "float +nan(0xFFFFFFFF)"),
        ("half 1.0e+30", "half 1.0e+30"),
        ("float 1.0e-46", "float 1.0e-46"),
        ("float\n+inf", "float\n+inf"),
        (
            'float c"\nfloat +inf" ; a string of two lines',
            'float c"\nfloat +inf" ; a string of two lines',
        ),
    ],
)
def test_only_what_older_llvms_do_not_read_is_rewritten(text: str, expected: str) -> None:
    assert in_older_words(text) == expected


MODULE = """target triple = "amdgpu9.42-amd-amdhsa"
define void @f(ptr addrspace(1) %p, float %v) {
  %a = fmul float %v, f0x3FB8AA3B
  %b = fadd float %a, -inf
  store atomic float -inf, ptr addrspace(1) %p syncscope("agent") release, align 4
  ret void
}
"""


def test_a_module_of_a_newer_llvm_is_read() -> None:
    exported = export_llvm_ir(import_llvm_ir(MODULE))
    assert 'target triple = "amdgpu9.42-amd-amdhsa"' in exported
    assert "fmul float %v, 0x3FF7154760000000" in exported
    assert (
        'store atomic float 0xFFF0000000000000, ptr addrspace(1) %p syncscope("agent")' in exported
    )


def test_what_is_not_known_has_its_place_and_its_reason() -> None:
    text = MODULE.replace("f0x3FB8AA3B", "f0x3FB8AA3B bogus")
    with pytest.raises(ParseError) as caught:
        import_llvm_ir(text, "new.ll")
    place = caught.value.span.get_location()
    line = text.splitlines()[2]
    assert (place.line, place.col) == (3, line.index("bogus") + 1)
    assert "this is the LLVM IR of a newer LLVM, and llvmlite here reads that of 22.1" in str(
        caught.value
    )


def test_columns_are_those_of_the_text_as_given() -> None:
    line = "call void @f(float f0x3F800000, float -inf, i32 x)"
    older = in_older_words(line)
    assert column_as_given(older, 3) == 3
    for word in ("call", "i32", "x)"):
        assert column_as_given(line, older.index(word) + 1) == line.index(word) + 1
    assert column_as_given(line, older.index("0xFFF") + 3) == line.index("-inf") + 1


@pytest.mark.parametrize(
    ("text", "newer"),
    [
        ("define void @f() {\n  ret void\n}\n", False),
        ('target triple = "amdgpu9.42-amd-amdhsa"\n', True),
        ('target triple = "amdgcn-amd-amdhsa"\n', False),
        ('!0 = !{!"AMD clang version 24.0.0git"}\n', True),
        ('!0 = !{!"clang version 22.1.0"}\n', False),
        ("@g = global float +inf\n", True),
    ],
)
def test_signs_of_a_newer_llvm(text: str, newer: bool) -> None:
    assert is_newer(text, 22) is newer


def test_errors_in_todays_ir_do_not_speak_of_newer_llvms() -> None:
    with pytest.raises(ParseError) as caught:
        import_llvm_ir("define void @f() {\n  bogus\n}\n")
    assert "newer" not in str(caught.value)


@pytest.mark.parametrize("kind", ["raw", "struct"])
def test_an_intrinsic_that_llvm_22_takes_for_another_is_read_by_its_name(kind: str) -> None:
    """``.buffer.load`` of a type that is called ``async.lds``, which LLVM 22 then rejects."""
    name = f"llvm.amdgcn.{kind}.ptr.buffer.load.async.lds"
    parameters = "ptr addrspace(8), ptr addrspace(3), i32 immarg, i32, i32, i32 immarg, i32 immarg"
    copy = (
        f"  call void @{name}(ptr addrspace(8) %b, ptr addrspace(3) @s, i32 16, i32 0, i32 0, "
        "i32 0, i32 0)"
    )
    flag = '  store atomic i32 1, ptr addrspace(3) @s syncscope("agent") release, align 4'
    text = "\n".join([
        'target triple = "amdgcn-amd-amdhsa"',
        "@s = internal addrspace(3) global [64 x i32] poison",
        f"declare void @{name}({parameters})",
        "define amdgpu_kernel void @k(ptr addrspace(8) %b) {",
        copy,
        flag,
        "  ret void",
        "}",
        "",
    ])  # fmt: skip
    printed = lower_llvm_ir(text, "gfx950")
    assert copy in printed.splitlines()
    assert f"@{name}(" in str(import_llvm_ir(text))
    edited = lower_llvm_ir(text, "gfx950", edit=True)
    assert copy in edited.splitlines()
    # What it copies to LDS is in flight, and counts in vmcnt.
    assert "@llvm.amdgcn.s.waitcnt(i32 112)" in edited
