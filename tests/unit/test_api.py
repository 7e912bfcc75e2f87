"""What users import from ``fencewright``."""

import re
from inspect import signature
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException, VerifyException

import fencewright
from fencewright.mlir_dialects import scoped
from fencewright.universe import UNIVERSE

ROOT = Path(__file__).parents[2]
KERNEL = """func.func @k(%p: !llvm.ptr<1>, %v: i32) attributes {{gpu.kernel}} {{
  {}
  func.return
}}"""
RELEASE = KERNEL.format("scoped.store release agent %v, %p : i32, !llvm.ptr<1>")


def _context() -> Context:
    context = Context()
    for dialects in (Universe.get_multiverse().all_dialects, UNIVERSE.all_dialects):
        for name, factory in dialects.items():
            if name not in context.registered_dialect_names:
                context.register_dialect(name, factory)
    return context


def _parse(text: str) -> ModuleOp:
    return Parser(_context(), text).parse_module()


def test_only_what_is_public():
    with pytest.raises(AttributeError, match="no attribute 'lowr'"):
        _ = fencewright.lowr  # pyright: ignore[reportAttributeAccessIssue]  (that is the point)


def test_lower_module_in_place():
    module = _parse(RELEASE)
    fencewright.lower_module(module, "gfx942", opt_level=0)
    assert "buffer_wbl2 sc1" in fencewright.print_assembly(module)


def test_lower_module_keeps_only_what_the_kernel_needs():
    module = _parse(RELEASE)
    fencewright.lower_module(module, "gfx942")
    assert "buffer_wbl2" not in fencewright.print_assembly(module)


def test_lower_module_takes_the_options_of_lower():
    module = _parse(RELEASE)
    fencewright.lower_module(
        module, "gfx942", features=["tgsplit"], l2_per_agent="one", opt_level=0
    )
    text = fencewright.print_assembly(module)
    assert "buffer_wbl2" not in text
    assert ".amdhsa_tg_split 1" in text


def test_lower_module_for_ptx():
    module = _parse(RELEASE)
    fencewright.lower_module(module, "sm_90", ptx_version="8.6")
    assert "st.release.gpu.global.b32" in fencewright.print_assembly(module)


def test_lower_module_refuses_what_a_target_has_no_use_for():
    with pytest.raises(fencewright.UnsupportedError, match="sm_90 has no option l2_per_agent"):
        fencewright.lower_module(_parse(RELEASE), "sm_90", l2_per_agent="one")


def test_lower_module_verifies_first():
    module = _parse(KERNEL.format("scoped.fence relaxed agent"))
    with pytest.raises(VerifyException, match="a fence weaker than acquire orders nothing"):
        fencewright.lower_module(module, "gfx942")


def test_print_assembly_says_why_on_request():
    module = _parse(RELEASE)
    fencewright.lower_module(module, "gfx942", opt_level=0)
    plain = fencewright.print_assembly(module)
    assert "buffer_wbl2 sc1" in plain
    assert "; release: MI300 ISA" not in plain
    assert "; release: MI300 ISA" in fencewright.print_assembly(module, explain=True)


def test_print_assembly_refuses_what_is_not_lowered():
    with pytest.raises(DiagnosticException, match=r"no cdna\.kernel and no ptx\.kernel"):
        fencewright.print_assembly(_parse(RELEASE))


def test_lower_llvm_ir():
    text = """target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  store atomic i32 1, ptr addrspace(1) %p syncscope("agent") release, align 4
  ret void
}"""
    lowered = fencewright.lower_llvm_ir(text, target="gfx942", opt_level=0)
    assert "buffer_wbl2 sc1" in lowered
    assert 'syncscope("agent") monotonic' in lowered
    assert "buffer_wbl2" not in fencewright.lower_llvm_ir(text, target="gfx942")


@pytest.mark.parametrize("chip", ["sm_90", "gfx1250"])
def test_a_policy_of_stores_on_a_chip_without_one(chip: str) -> None:
    with pytest.raises(
        fencewright.UnsupportedError, match=r"stores=through on .*: it has no effect there"
    ):
        fencewright.lower_llvm_ir("define void @f() {\n  ret void\n}\n", chip, stores="through")


def _default(value: object) -> str:
    return "None" if value is None else f'"{value}"'


CONSTRUCTOR = re.compile(r"\| `(\w+Op)\((.*)\)` \|(.*)\|")


def test_the_constructors_that_are_public_are_those_of_the_page() -> None:
    """Parameters in their order with their defaults, and every option."""
    page = (ROOT / "docs" / "python.md").read_text()
    rows = {name: (given, set(re.findall(r"`(\w+)`", options)))
            for name, given, options in CONSTRUCTOR.findall(page)}  # fmt: skip
    everywhere = {"one_as", "spaces", "availability"}
    assert {*rows} == {each.__name__ for each in scoped.SYNCHRONOUS.operations}
    for name, (given, options) in rows.items():
        _, *parameters = signature(getattr(scoped, name).__init__).parameters.values()
        *plain, keywords = parameters
        written = [
            each.name if each.default is each.empty else f"{each.name}={_default(each.default)}"
            for each in plain
        ]
        assert given == ", ".join(written), name
        accepted = get_type_hints(get_args(keywords.annotation)[0]).keys()
        assert options | everywhere == accepted, name
