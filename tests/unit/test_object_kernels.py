"""Kernels of code objects: what their descriptors and metadata say, beside the assembly that they are made of."""

import json
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_amd_variables import KERNEL

from fencewright.lowering.cdna.code.object_kernels import with_descriptors
from fencewright.lowering.cdna.code.objects import image_of
from fencewright.lowering.cdna.code.text import Function, read_assembly
from fencewright.lowering.code.source_location import AssemblyError
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.tools import fence_check, fence_sim
from fencewright.tools.commands.amd_check import read_input, read_kernels
from fencewright.tools.inputs.amd_kernels import kernels_of_code
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

EXAMPLE = Path(__file__).parents[2] / "examples" / "execute" / "smooth.s"
LAUNCH = "smooth<<<4, 64>>>(f32[256]=random, f32[256], 256)"

pytestmark = pytest.mark.skipif(
    any(find_llvm_tool(each) is None for each in ("llvm-mc", "ld.lld", "llvm-objdump")),
    reason=LLVM_HINT,
)


@pytest.fixture(scope="module")
def code_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _linked(EXAMPLE.read_text(), "gfx942", tmp_path_factory.mktemp("object"))


def _linked(text: str, chip: str, folder: Path) -> Path:
    assembler, linker = find_llvm_tool("llvm-mc"), find_llvm_tool("ld.lld")
    assert assembler is not None
    assert linker is not None
    target = ("-triple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-filetype=obj")
    subprocess.run([assembler, *target, "-o", folder / "code.o"], input=text.encode(), check=True)
    subprocess.run([linker, "-shared", folder / "code.o", "-o", folder / "code.co"], check=True)
    return folder / "code.co"


def _of_text() -> Function:
    return read_assembly(EXAMPLE.read_text(), "smooth.s").functions["smooth"]


def test_an_object_says_what_its_assembly_does(code_object: Path) -> None:
    assembly, _, _ = read_kernels(code_object.read_bytes(), "smooth.co")
    found, expected = assembly.functions["smooth"], _of_text()
    assert found.arguments == expected.arguments
    assert found.metadata == expected.metadata
    both = found.descriptor.keys() & expected.descriptor.keys()
    assert len(both) >= 14
    assert {name: found.descriptor[name] for name in both} == {
        name: expected.descriptor[name] for name in both
    }


def _counted(file: Path, folder: Path) -> list[dict[str, Any]]:
    output = folder / "traffic.json"
    given = ["traffic", str(file), "--mcpu", "gfx942", "--launch", LAUNCH, "--json"]
    assert fence_sim.main([*given, "-o", str(output)]) == 0
    found: list[dict[str, Any]] = json.loads(output.read_text())["instructions"]
    for each in found:
        del each["place"]
    return found


def test_the_traffic_of_an_object_is_that_of_its_assembly(
    code_object: Path, tmp_path: Path
) -> None:
    assert _counted(code_object, tmp_path) == _counted(EXAMPLE, tmp_path)


def test_a_launch_of_an_object_is_judged(
    code_object: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fence_check.main([str(code_object), "--launch", LAUNCH]) == 0
    said = "smooth: no race in this launch (4 blocks x 64 threads, 2 schedules, 9 of 9"
    assert said in capsys.readouterr().out


_VARIABLES = """
	.type	table,@object
	.section	.data.rel.ro,"aw",@progbits
	.globl	table
	.p2align	4
table:
	.long	1
	.long	3000000000
	.quad	other+4
	.quad	hidden+8
	.size	table, 24
	.type	other,@object
	.data
	.globl	other
	.protected	other
	.p2align	4
other:
	.long	7, 8, 9
	.size	other, 12
	.type	hidden,@object
	.bss
hidden:
	.zero	64
	.size	hidden, 64
"""


@pytest.mark.parametrize(
    ("chip", "load", "expected"),
    [
        ("gfx942", "s_nop 0", 3000000000),
        ("gfx942", "s_load_dwordx2 s[2:3], s[2:3], 0x8", 9),
        ("gfx942", "s_load_dwordx2 s[2:3], s[2:3], 0x10", 0),
        ("gfx90a", "s_load_dwordx2 s[2:3], s[2:3], 0x8", 9),
    ],
)
@pytest.mark.parametrize("kind", ["rel32", "gotpcrel32"])
def test_an_object_has_its_variables(
    chip: str, load: str, expected: int, kind: str, tmp_path: Path
) -> None:
    if kind == "gotpcrel32":
        load = f"s_load_dwordx2 s[2:3], s[2:3], 0x0\ns_waitcnt lgkmcnt(0)\n{load}"
    text = KERNEL.replace("NAME", "table").replace("KIND", kind).replace("LOAD", load)
    text = text.replace("gfx942", chip)
    # A symbol that others may define is reached by its pointer alone.
    hidden = _VARIABLES.replace(".globl	table", ".globl	table\n.protected table")
    variables = hidden if kind == "rel32" else _VARIABLES
    path = _linked(text + variables, chip, tmp_path)
    (kernel,) = kernels_of_code(*read_kernels(path.read_bytes(), "k.co"), "k.co")
    program = kernel.read()
    launch = Launch((1, 1, 1), (64, 1, 1), (np.zeros(1, np.uint32),))
    memory = execute(program, launch, allocate(program, launch), lambda _: None, needs_results=True)
    assert memory.contents("out", np.uint32)[0] == expected


def test_an_object_that_is_cut_short_has_no_variables(code_object: Path) -> None:
    content = code_object.read_bytes()
    assert image_of(content) is not None
    for end in (10, 40, 70, 500, 0x900):
        assert image_of(content[:end]) is None
    assert image_of(content[:32] + b"\xff" * 8 + content[40:]) is None


def _with_metadata(code_object: Path, data: bytes) -> bytes:
    """The object with other metadata, which are no longer than its own."""
    content = code_object.read_bytes()
    at = content.index(b"AMDGPU\0\0") + 8
    (size,) = struct.unpack_from("<I", content, at - 16)
    assert len(data) <= size
    return content[:at] + data.ljust(size, b"\xc0") + content[at + size :]


def test_every_form_of_the_metadata_is_read(code_object: Path) -> None:
    def text(value: str) -> bytes:
        return bytes([0xD9, len(value)]) + value.encode()

    argument = b"\x83" + text(".offset") + b"\xcc\x08" + text(".size") + b"\xcd\0\x04"
    argument += text(".value_kind") + b"\xda\0\x08by_value"
    kernel = (
        b"\xde\0\x05" + text(".name") + b"\xa6smooth" + text(".args") + b"\xdc\0\x01" + argument
    )
    kernel += text(".a") + b"\xd0\xff" + text(".b") + b"\xc3" + text(".c") + b"\xce\0\0\0\x09"
    data = b"\x81" + text("amdhsa.kernels") + b"\x91" + kernel
    content = _with_metadata(code_object, data)
    assembly, _ = read_input(content, "smooth.co")
    found = with_descriptors(assembly, content, "smooth.co").functions["smooth"]
    assert [(each.name, each.offset, each.size, each.kind) for each in found.arguments] == [
        ("argument 0", 8, 4, "by_value")
    ]
    assert found.metadata == {"a": -1, "c": 9}


@pytest.mark.parametrize("data", [b"\xc1", b"\x81\xaeamdhsa.kernels\x91\xd9\xff", b"\x81\x90\x90"])
def test_metadata_that_cannot_be_read_are_said(code_object: Path, data: bytes) -> None:
    content = _with_metadata(code_object, data)
    assembly, _ = read_input(content, "smooth.co")
    with pytest.raises(AssemblyError, match=r"smooth\.co:1: error: its metadata cannot be read"):
        with_descriptors(assembly, content, "smooth.co")
