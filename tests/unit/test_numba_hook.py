"""The hook of numba-cuda, with a fake of the module that it wraps, and with numba where it is."""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from fencewright import numba as hook
from fencewright.triton import NotLoweredError

NVVM = "numba.cuda.cudadrv.nvvm"
PTX = """\
.version 9.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
.reg .b32 %r<6>;
.shared .align 4 .b8 tile[256];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, tile;
add.u32 %r4, %r3, %r2;
.loc 1 7 3
st.shared.b32 [%r4], %r1;
.loc 1 9 3
ld.shared.b32 %r5, [tile];
fence.acq_rel.gpu;
ret;
}
.file 1 "/x/user.py"
"""
IR = """\
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p) {
  fence syncscope("device") seq_cst
  fence syncscope("device") seq_cst
  ret void
}
"""
TYPED = IR.replace("ptr addrspace(1)", "i32 addrspace(1)*")


class Nvvm(ModuleType):
    """A fake: ``compile_ir`` remembers what it is given, and gives PTX as libNVVM does."""

    def __init__(self) -> None:
        super().__init__(NVVM)
        self.given: list[tuple[list[str], dict[str, Any]]] = []

    def compile_ir(self, llvmir: str | Sequence[str], **options: Any) -> bytes:
        self.given.append(([llvmir] if isinstance(llvmir, str) else list(llvmir), options))
        return b"bitcode" if "gen-lto" in options else f"{PTX}\0".encode()


@pytest.fixture
def nvvm(monkeypatch: pytest.MonkeyPatch) -> Nvvm:
    fake = Nvvm()
    monkeypatch.setitem(sys.modules, NVVM, fake)
    for name in ("numba", "numba.cuda", "numba.cuda.cudadrv"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    return fake


def test_a_check_leaves_a_kernel_as_it_was_and_names_its_lines(nvvm: Nvvm) -> None:
    before = nvvm.compile_ir
    with hook.enabled("check") as entered:
        made = nvvm.compile_ir([IR], arch="compute_90", opt=3)
    assert made.decode() == f"{PTX}\0"
    assert nvvm.given == [([IR], {"arch": "compute_90", "opt": 3})]
    (report,) = entered.reports
    assert (report.kernel, report.target, report.changed, report.problem) == (
        "k",
        "sm_90",
        False,
        None,
    )
    assert sum(report.after.values()) == 1
    (finding,) = report.findings()
    assert finding.startswith("/x/user.py:9: error: ")
    assert "write cuda.syncthreads() between" in finding
    assert nvvm.compile_ir == before


def test_lowered_ir_is_what_the_compiler_gets(nvvm: Nvvm) -> None:
    with hook.enabled("lower") as entered:
        nvvm.compile_ir(IR, arch="compute_90")
    ((given,), _) = nvvm.given[0]
    assert given != IR
    assert given.count("seq_cst") < IR.count("seq_cst")
    (report,) = entered.reports
    assert (report.changed, report.problem) == (True, None)
    assert sum(report.before.values()) == 1


def test_what_is_not_lowered_is_compiled_as_it_was(nvvm: Nvvm) -> None:
    with hook.enabled("lower") as entered, pytest.warns(UserWarning, match="not lowered"):
        nvvm.compile_ir([TYPED], arch="compute_90")
    assert nvvm.given[0][0] == [TYPED]
    assert "a pointer with a type" in (entered.reports[0].problem or "")
    with hook.enabled("lower", strict=True), pytest.raises(NotLoweredError, match="sm_90"):
        nvvm.compile_ir([TYPED], arch="compute_90")


def test_bitcode_for_the_linker_is_left_alone(nvvm: Nvvm) -> None:
    with hook.enabled("lower") as entered:
        assert nvvm.compile_ir([IR], **{"arch": "compute_90", "gen-lto": None}) == b"bitcode"
    assert entered.reports == []


def test_a_hook_that_came_later_has_to_go_first(nvvm: Nvvm) -> None:
    seen: list[str] = []
    hook.install("check", on_report=lambda report: seen.append(report.kernel))
    ours: Any = nvvm.compile_ir

    def another(*given: Any, **options: Any) -> bytes:
        return ours(*given, **options)

    nvvm.compile_ir = another
    with pytest.raises(RuntimeError, match="replaced after"):
        hook.uninstall()
    nvvm.compile_ir([IR])
    nvvm.compile_ir = ours
    hook.uninstall()
    assert seen == ["k"]
    with pytest.raises(RuntimeError, match="no hook"):
        hook.uninstall()


def test_an_unknown_mode_is_an_error(nvvm: Nvvm) -> None:
    mode: Any = "look"
    with pytest.raises(ValueError, match="accepted: check, lower"):
        hook.install(mode)


def test_numba_itself_names_the_lines_of_a_kernel() -> None:
    """Without a GPU; with the numba-cuda that is installed."""
    pytest.importorskip("numba.cuda.cudadrv.nvvm")
    numba: Any = pytest.importorskip("numba")

    def kernel(given: Any, out: Any) -> None:
        thread = numba.cuda.threadIdx.x
        tile = numba.cuda.shared.array(64, numba.int32)
        tile[thread] = given[thread]
        out[thread] = tile[63 - thread]

    with hook.enabled("check") as entered:
        numba.cuda.compile_ptx(kernel, (numba.int32[:], numba.int32[:]), cc=(9, 0), lineinfo=True)
    found = [each for report in entered.reports for each in report.findings()]
    assert [each.partition(": ")[0].rpartition("/")[2].partition(":")[0] for each in found] == [
        "test_numba_hook.py"
    ]
