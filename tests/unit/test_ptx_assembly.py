"""What is printed as PTX is assembled by NVIDIA's ptxas, for every chip that it knows.

FENCEWRIGHT_PTXAS names assemblers beyond those found on the PATH and in NVIDIA's wheels.
"""

import io
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from campaigns import first_of, some_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ptxas import find_assemblers, knows
from test_cdna_execution import parse, programs
from test_ptx_execution import lower, ptx_context
from xdsl.parser import Parser

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.chip import CHIPS, PtxChip, Version, default_version, forms_of
from fencewright.lowering.ptx.code.statements import read_opcode
from fencewright.lowering.ptx.instructions import (
    ROWS,
    RegisterClass,
    register_for,
    registers_of,
)
from fencewright.lowering.ptx.module import PtxKernel, Variable, is_identifier, module_text
from fencewright.lowering.vocabulary import AddressSpace, Ordering, RmwKind, Scope
from fencewright.passes.print.ptx import PTXTarget
from fencewright.passes.to_ptx.convert_scoped_to_ptx import ConvertScopedToPTXPass

ASSEMBLERS = find_assemblers()
needs_ptxas = pytest.mark.skipif(not ASSEMBLERS, reason="needs ptxas (make oracles)")
ROOT = Path(__file__).parents[2]
TARGETS = {chip.name: default_version(chip) for chip in CHIPS}


def convert(text: str, chip: str) -> str:
    module, ctx = parse(text), ptx_context()
    ConvertScopedToPTXPass(mcpu=chip).apply(ctx, module)
    output = io.StringIO()
    PTXTarget().emit(ctx, module, output)
    return output.getvalue()


LEVEL = "-O3" if "FENCEWRIGHT_THOROUGH" in os.environ else "-O0"
"""How hard ptxas optimises what it has accepted, which takes it half of its time."""


def complaints(folder: Path, ptx: str, chip: str) -> list[str]:
    """What the assemblers that know the chip say against the module."""
    source = folder / "module.ptx"
    source.write_text(ptx)
    able = [each for each in ASSEMBLERS if knows(each, chip, TARGETS[chip])]
    if not able:
        pytest.skip(f"needs a ptxas that knows {chip}")
    said: list[str] = []
    for ptxas in able:
        command = [ptxas, f"-arch={chip}", LEVEL, str(source), "-o", str(folder / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said.append(f"{ptxas}: {done.stdout}{done.stderr}"[:2000])
    return said


# Whole modules

POINTERS = {
    AddressSpace.GENERIC: "!llvm.ptr",
    AddressSpace.GLOBAL: "!llvm.ptr<1>",
    AddressSpace.LOCAL: "!llvm.ptr<3>",
    AddressSpace.PRIVATE: "!llvm.ptr<5>",
}
TYPES = ("i8", "i16", "i32", "i64", "f32", "f64", "vector<2xf16>", "!llvm.ptr")
FLOATS = ("f32", "f64", "vector<2xf16>")


def _operations() -> Iterator[str]:
    """One of each kind of operation on each space and type, with orderings and scopes mixed."""
    orderings = [each for each in Ordering if each is not Ordering.WEAK]
    scopes = [each for each in Scope if each is not Scope.SINGLETHREAD]
    every = product(POINTERS.items(), TYPES)
    for number, ((space, pointer), type) in enumerate(every, 1):
        scope, ordering = scopes[number % len(scopes)], orderings[number % len(orderings)]
        load = Ordering.ACQUIRE if ordering.releases else ordering
        store = Ordering.RELEASE if ordering.acquires else ordering
        at, value = f"%{space.value}", f"%v{TYPES.index(type)}"
        yield f"%l{number} = scoped.load weak {at} : {pointer} -> {type}"
        yield f"%m{number} = scoped.load {load} {scope} {at} : {pointer} -> {type}"
        yield f"scoped.store {store} {scope} %l{number}, {at} : {type}, {pointer}"
        yield f"scoped.store weak %m{number}, {at} {{volatile}} : {type}, {pointer}"
        if type in FLOATS[:2]:
            for kind in (RmwKind.FADD, RmwKind.FSUB, RmwKind.FMIN, RmwKind.FMAX, RmwKind.XCHG):
                yield from _rmw(f"{number}_{kind}", kind, ordering, scope, at, value, pointer, type)
        elif type.startswith("i"):
            for kind in RmwKind:
                if not kind.startswith("f"):
                    name = f"{number}_{kind}"
                    yield from _rmw(name, kind, ordering, scope, at, value, pointer, type)
        if type not in FLOATS:
            yield (
                f"%c{number}, %k{number} = scoped.cmpxchg {ordering} relaxed {scope} {at}, "
                f"{value}, %l{number} : {pointer}, {type}"
            )
            yield f"%x{number} = arith.extui %k{number} : i1 to i64"
            yield f"scoped.store weak %x{number}, {at} : i64, {pointer}"


def _rmw(
    name: str, kind: str, ordering: str, scope: str, at: str, value: str, pointer: str, type: str
) -> Iterator[str]:
    head = f"scoped.atomic_rmw {kind} {ordering} {scope} {at}, {value} : {pointer}, {type}"
    yield f"%dropped_{name} = {head}"
    yield f"%old_{name} = {head}"
    yield f"scoped.store weak %old_{name}, {at} : {type}, {pointer}"


EVERYTHING = "\n".join(
    [
        "func.func @everything(",
        ", ".join(
            [
                *(f"%{space.value}: {pointer}" for space, pointer in POINTERS.items()),
                *(f"%v{n}: {type}" for n, type in enumerate(TYPES)),
            ]
        ),
        ") {",
        *_operations(),
        *(f"scoped.fence acq_rel {scope}" for scope in Scope),
        *(f"scoped.barrier {scope}" for scope in ("wavefront", "workgroup", "cluster")),
        "func.return",
        "}",
    ]
)


@cache
def everything(chip: str) -> str:
    return convert(EVERYTHING, chip)


def firsts() -> list[str]:
    """Chips of which none has the forms of another one, then all other plain chips."""
    plain = [chip for chip in CHIPS if chip.is_plain]
    first = {forms_of(chip, default_version(chip)): chip for chip in reversed(plain)}
    return [chip.name for chip in sorted(plain, key=lambda chip: chip not in first.values())]


DISTINCT = len({forms_of(chip, default_version(chip)) for chip in CHIPS if chip.is_plain})


@needs_ptxas
@pytest.mark.parametrize("chip", first_of(firsts(), DISTINCT))
def test_every_operation_assembles(tmp_path: Path, chip: str):
    assert complaints(tmp_path, everything(chip), chip) == []


@pytest.mark.parametrize("chip", some_of([c for c in CHIPS if not c.is_plain], 3), ids=str)
def test_a_chip_of_a_family_gets_what_its_plain_chip_gets(chip: PtxChip):
    """So it need not be assembled again. Source: PTX ISA, ".target": such a chip has all features."""
    texts = map(everything, (chip.name, f"sm_{chip.number}"))
    mine, plain = (text[text.index(".visible") :] for text in texts)
    assert mine == plain


@needs_ptxas
@pytest.mark.parametrize("chip", TARGETS)
def test_the_example_assembles(tmp_path: Path, chip: str):
    text = (ROOT / "examples" / "message_passing.mlir").read_text(encoding="utf-8")
    assert complaints(tmp_path, convert(text, chip), chip) == []


@needs_ptxas
@pytest.mark.parametrize(
    "name",
    [
        "to_ptx/arithmetic",
        "to_ptx/control-flow",
        "kernels/gpu-func",
        "to_ptx/memory",
        "print/ptx-module",
        "to_ptx/sequences",
    ],
)
def test_what_the_lit_tests_show_assembles(tmp_path: Path, name: str):
    text = (ROOT / "tests" / "lit" / "passes" / f"{name}.mlir").read_text(encoding="utf-8")
    assert complaints(tmp_path, convert(text, "sm_90"), "sm_90") == []


@needs_ptxas
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(programs(), st.sampled_from([name for name in TARGETS if name != "sm_70"]))
def test_random_programs_assemble(tmp_path_factory: pytest.TempPathFactory, text: str, chip: str):
    assert complaints(tmp_path_factory.mktemp("ptx"), lower(text, chip), chip) == []


CACHED = (
    *(f"ld.weak.global.{each}.b32" for each in ("ca", "cg", "cs", "lu", "cv")),
    "ld.global.nc.b32",
    *(f"ld.global.{each}.nc.b32" for each in ("ca", "cg", "cs")),
)


@needs_ptxas
@pytest.mark.parametrize("chip", ["sm_70", "sm_90", "sm_100"])
def test_loads_with_cache_operators_assemble(tmp_path: Path, chip: str):
    """Written in the dialect; a litmus test reads the same words (test_ptx_litmus)."""
    loads = "\n".join(
        f'%v{number} = ptx.load "{each}" %p : !ptx.reg<b64> -> !ptx.reg<b32>\n'
        f'ptx.store "st.weak.global.wt.b32" %p, %v{number} : !ptx.reg<b64>, !ptx.reg<b32>'
        for number, each in enumerate(CACHED)
    )
    version = ".".join(map(str, TARGETS[chip]))
    text = (
        f'ptx.kernel @k attributes {{target = "{chip}", version = "{version}", '
        f"parameters = array<i64: 64>}} {{\n%p = ptx.param 0 : !ptx.reg<b64>\n{loads}\nptx.ret\n}}"
    )
    ctx, output = ptx_context(), io.StringIO()
    PTXTarget().emit(ctx, Parser(ctx, text).parse_module(), output)
    ptx = output.getvalue()
    assert all(each in ptx for each in CACHED)
    assert complaints(tmp_path, ptx, chip) == []
    for strong in ("ld.relaxed.gpu.global.cg.b32", "ld.acquire.gpu.global.nc.b32"):
        assert complaints(tmp_path, ptx.replace(CACHED[0], strong), chip)


@needs_ptxas
def test_a_wrong_register_is_refused(tmp_path: Path):
    text = convert(EVERYTHING, "sm_90")
    wrong = re.sub(r"(ld\.weak\.global\.b64) %rd(\d+)", r"\1 %r1", text, count=1)
    assert wrong != text
    assert complaints(tmp_path, wrong, "sm_90")


# Rows and text

FORMS = (
    *(f"{name}.s{bits}" for name in ("add", "sub", "mul.lo") for bits in (16, 32, 64)),
    *(f"{name}.{s}{bits}" for name in ("min", "max") for s in "su" for bits in (16, 32, 64)),
    *(f"{name}.b{bits}" for name in ("and", "or", "xor", "not") for bits in (16, 32, 64)),
    *(f"{name}.pred" for name in ("and", "or", "xor", "not")),
    *(f"shl.b{bits}" for bits in (16, 32, 64)),
    *(f"shr.{s}{bits}" for s in "su" for bits in (16, 32, 64)),
    *(f"bfe.{s}32" for s in "su"),
    *(f"setp.{name}.b{bits}" for name in ("eq", "ne") for bits in (16, 32, 64)),
    *(
        f"setp.{name}.{s}{bits}"
        for name in ("lt", "le", "gt", "ge")
        for s in "su"
        for bits in (16, 32, 64)
    ),
    *(f"selp.b{bits}" for bits in (16, 32, 64)),
    *(f"cvt.{s}{to}.{s}{of}" for s in "su" for to in (16, 32, 64) for of in (8, 16, 32, 64)),
)
"""Every arithmetic instruction that is ever emitted, and a few more."""


@needs_ptxas
def test_every_arithmetic_form_assembles_on_the_registers_of_its_row(tmp_path: Path):
    lines: list[str] = []
    for form in FORMS:
        found = registers_of(read_opcode(form))
        assert found is not None
        assert read_opcode(form).kind is Kind.COMPUTE
        assert found.result is not None
        operands = [f"{each.prefix}{n + 2}" for n, each in enumerate(found.operands)]
        if form.startswith("bfe"):
            operands[1:] = ["0", "7"]
        lines.append(f"{form} {found.result.prefix}1, {', '.join(operands)};")
        # A constant takes the place of any operand but a predicate, and of all of them.
        registers = [n for n, each in enumerate(operands) if each[:2] not in ("%p", "0", "7")]
        for places in (*((n,) for n in registers), registers):
            replaced = ["-1" if n in places else each for n, each in enumerate(operands)]
            lines.append(f"{form} {found.result.prefix}1, {', '.join(replaced)};")
    kernel = PtxKernel("k", (), None, dict.fromkeys(RegisterClass, 9), [*lines, "ret;"])
    text = module_text("sm_90", TARGETS["sm_90"], (), [kernel])
    assert complaints(tmp_path, text, "sm_90") == []


@pytest.mark.parametrize(
    ("mnemonic", "operands", "result"),
    [
        ("add.s16", "b16 b16", "b16"),
        ("shl.b64", "b64 b32", "b64"),
        ("setp.lt.u64", "b64 b64", "pred"),
        ("selp.b16", "b16 b16 pred", "b16"),
        ("cvt.s64.s8", "b16", "b64"),
        ("and.pred", "pred pred", "pred"),
        ("ld.acquire.gpu.global.b8", "b64", "b16"),
        ("ld.weak.shared::cluster.b128", "b64", "b128"),
        ("st.weak.local.b64", "b64 b64", None),
        ("atom.relaxed.cta.shared.add.f64", "b64 b64", "b64"),
        ("atom.acquire.gpu.global.cas.b32", "b64 b32 b32", "b32"),
        ("red.relaxed.gpu.global.add.u32", "b64 b32", None),
        ("fence.sc.gpu", "", None),
        ("barrier.sync 0", "", None),
    ],
)
def test_signatures(mnemonic: str, operands: str, result: str | None):
    found = registers_of(read_opcode(mnemonic.partition(" ")[0]))
    assert found is not None
    assert " ".join(found.operands) == operands
    assert found.result == result


@pytest.mark.parametrize("mnemonic", ["nothing.b32", "add", "cvt.u32", "ld.weak.global", ""])
def test_unknown_instructions(mnemonic: str):
    assert registers_of(read_opcode(mnemonic.partition(" ")[0])) is None


def test_every_row_has_a_source():
    assert all(row.source.startswith("PTX ISA") for row in ROWS.values())


def test_registers():
    assert [register_for(bits) for bits in (1, 2, 16, 17, 64, 128, 129)] == [
        RegisterClass.PRED,
        RegisterClass.B16,
        RegisterClass.B16,
        RegisterClass.B32,
        RegisterClass.B64,
        RegisterClass.B128,
        None,
    ]
    assert len({register.prefix for register in RegisterClass}) == len(RegisterClass)


@pytest.mark.parametrize(
    ("name", "accepted"),
    [("kernel", True), ("_x", True), ("$x", True), ("a1$", True), ("_", False), ("1a", False),
     ("a.b", False), ("", False), ("é", False)],
)  # fmt: skip
def test_identifiers(name: str, accepted: bool):
    assert is_identifier(name) is accepted


def test_module_text():
    kernel = PtxKernel("k", (64, 8, 128), (32, 1, 1), {RegisterClass.B32: 2}, ["$L:", "bra $L;"])
    version: Version = (8, 6)
    text = module_text("sm_90", version, [Variable("a", 4, 4), Variable("b", 0, 8)], [kernel])
    assert text == (
        ".version 8.6\n.target sm_90\n.address_size 64\n\n"
        ".shared .align 4 .b8 a[4];\n.extern .shared .align 8 .b8 b[];\n\n"
        ".visible .entry k(\n\t.param .b64 k_param_0,\n\t.param .b8 k_param_1,\n"
        "\t.param .align 16 .b8 k_param_2[16]\n)\n.reqntid 32, 1, 1\n{\n"
        "\t.reg .b32 %r<3>;\n$L:\n\tbra $L;\n}\n"
    )
