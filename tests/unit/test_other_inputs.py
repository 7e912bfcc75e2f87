"""Inputs that are no code of a GPU: the way to that is said, or the compiler is run."""

from pathlib import Path

import pytest

from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.tools import fence_check
from fencewright.tools.inputs.code_kind import OTHER_INPUTS, check_is_code
from fencewright.tools.llvm_tools import find_llvm_tool

CLANG = find_llvm_tool("clang")
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k() { .loc 1 2 3
 ret; }
.file 1 "q.cu"
"""
OPENCL = """__kernel void take(__global volatile int *flag, __global int *data) {
  while (*flag == 0)
    ;
  data[1] = data[2] + get_local_id(0);
}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fake_compiler(folder: Path, name: str, text: str) -> None:
    """A program of that name that copies a text to the output that it is given."""
    program = folder / name
    code = folder / f"{name}.out"
    code.write_text(text)
    program.write_text(
        f'#!/bin/sh\necho "$@" > {folder}/arguments\n'
        'while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done\n'
        f'cp {code} "$out"\n'
    )
    program.chmod(0o755)


@pytest.mark.parametrize("options", [(), ("--launch", "all")])
@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("q.cu", b"__global__ void k() {}", "CUDA C++"),
        ("q.hip", b"__global__ void k() {}", "HIP C++"),
        ("q.cpp", b"#include <hip/hip_runtime.h>", "HIP C++"),
        ("q.cl", b"__kernel void k() {}", "OpenCL C"),
        ("q.py", b"import triton", "Python"),
        ("q.ll", b"define void @f() {", "LLVM IR"),
        ("q.mlir", b"module {}", "MLIR"),
        ("q.litmus", b"PTX x", "a litmus test"),
        ("q", b"\x50\xed\x55\xba\1\0", "a fat binary of CUDA"),
        ("q.cubin", b"\x7fELF", "machine code of NVIDIA's GPUs (SASS)"),
    ],
)
def test_an_input_is_named_with_the_way_to_its_code(
    name: str,
    content: bytes,
    kind: str,
    options: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(name).write_bytes(content)
    assert fence_check.main([name, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{name}: error: {kind}: ")
    assert err.count("\n") == 1


def test_every_kind_has_an_example_above() -> None:
    assert len(OTHER_INPUTS) == 9


def test_code_by_another_name_is_code() -> None:
    check_is_code("q.cu", PTX.encode(), "q.cu")
    check_is_code("q.py", b'\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"', "q.py")


def test_nvcc_is_run_with_lines(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_compiler(here, "nvcc", PTX)
    monkeypatch.setenv("PATH", f"{here}:/usr/bin:/bin")
    Path("q.cu").write_text("source")
    assert fence_check.main(["q.cu", "--compile", "nvcc -arch=sm_90", "--code", "q.ptx"]) == 0
    assert capsys.readouterr().out.startswith("q.ptx: sm_90: kernels k: 0 errors")
    assert Path("q.ptx").read_text() == PTX
    assert Path("arguments").read_text().startswith("-arch=sm_90 -ptx -lineinfo q.cu -o ")


def test_what_is_compiled_is_launched(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_compiler(here, "nvcc", PTX)
    monkeypatch.setenv("PATH", f"{here}:/usr/bin:/bin")
    Path("q.cu").write_text("source")
    assert fence_check.main(["q.cu", "--compile", "nvcc", "--launch", "k<<<2, 32>>>()"]) == 0
    assert capsys.readouterr().out.startswith("q.cu (compiled): k: no race in this launch (2 blo")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compile", "gcc"], "--compile takes nvcc, hipcc or clang and its options, not 'gcc'"),
        (["--compile", "hipcc-99"], "--compile: there is no program 'hipcc-99'"),
        (["--compile", " "], "--compile is empty"),
        (["--compile", "nvcc '"], "--compile nvcc ': no closing quotation"),
        (["--compile", "nvcc", "--run", "llc"], "--compile is for a source without LLVM IR"),
        (["--code", "x.s"], "--code needs --run or --compile"),
    ],
)
def test_a_compiler_that_cannot_run_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("q.cu").write_text("source")
    assert fence_check.main(["q.cu", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_compiler_that_fails_is_quoted(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = here / "nvcc"
    program.write_text("#!/bin/sh\necho 'q.cu(1): error: no such type' >&2\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{here}:/usr/bin:/bin")
    Path("q.cu").write_text("source")
    assert fence_check.main(["q.cu", "--compile", "nvcc"]) == 2
    assert capsys.readouterr().err == "q.cu: error: nvcc: q.cu(1): error: no such type\n"


@pytest.mark.skipif(CLANG is None, reason="there is no clang of LLVM 22")
def test_opencl_is_compiled_and_its_findings_are_at_its_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("q.cl").write_text(OPENCL)
    command = f"{CLANG} -target amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O2"
    assert fence_check.main(["q.cl", "--compile", command]) == 0
    out = capsys.readouterr().out
    assert "q.cl:2:10: warning: line 4 may read global memory as it was before the signal" in out
    assert "      while (*flag == 0)\n             ^\n" in out


def test_a_label_after_a_call_begins_no_function() -> None:
    """Debug information names the place that a call returns to, by a label of its own."""
    text = (
        '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.type k,@function\nk:\n'
        "s_swappc_b64 s[30:31], s[0:1]\n{}:\ns_endpgm\n"
    )
    (function,) = read_assembly(text.format(".Ltmp5")).functions.values()
    assert [each.mnemonic for each in function.instructions] == ["s_swappc_b64", "s_endpgm"]
    assert list(read_assembly(text.format("other")).functions) == ["k", "other"]
