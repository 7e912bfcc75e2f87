"""Fences of some address spaces alone (MMRA), beside what LLVM makes of the same, on every chip."""

import re
import subprocess
from itertools import product

import pytest

from fencewright import lower_llvm_ir
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.tools.llvm_tools import find_llvm_tool

LLC = find_llvm_tool("llc")
needs_llvm = pytest.mark.skipif(LLC is None, reason="needs llc of LLVM 22")
LOWERED = [name for name, chip in CHIPS.items() if chip.lowered]
SCOPES = ("workgroup", "agent", "")
ORDERINGS = (("release", "acquire"), ("acq_rel", "acq_rel"), ("seq_cst", "seq_cst"))
SPACES = {"all": "", "local": ", !mmra !0", "global": ", !mmra !1", "both": ", !mmra !2"}
HEAD = 'target triple = "amdgcn-amd-amdhsa"\ndeclare void @llvm.amdgcn.s.barrier()\n'
METADATA = """!0 = !{!"amdgpu-synchronize-as", !"local"}
!1 = !{!"amdgpu-synchronize-as", !"global"}
!2 = !{!0, !1}
"""
KERNEL = """define amdgpu_kernel void @{name}(ptr addrspace(1) %p, ptr addrspace(3) %s, i32 %v) {{
  store i32 %v, ptr addrspace(1) %p
  store i32 %v, ptr addrspace(3) %s
  fence{scope} {release}{spaces}
  call void @llvm.amdgcn.s.barrier()
  fence{scope} {acquire}{spaces}
  %x = load i32, ptr addrspace(3) %s
  store i32 %x, ptr addrspace(1) %p
  ret void
}}
"""
CASES = {
    f"{spaces}_{scope or 'system'}_{release}": KERNEL.format(
        name=f"{spaces}_{scope or 'system'}_{release}",
        scope=f' syncscope("{scope}")' if scope else "",
        release=release,
        acquire=acquire,
        spaces=SPACES[spaces],
    )
    for spaces, scope, (release, acquire) in product(SPACES, SCOPES, ORDERINGS)
}
MODULE = HEAD + "".join(CASES.values()) + METADATA
_COUNTED = {
    "waits": r"(?:vm|lgkm|load|store|ds|km)cnt\b|(?:load|store)cnt(?=_)",
    "maintenance": r"\t(?:buffer|global)_(?:wb|inv)",
}


def counted(text: str, chip: str) -> dict[str, dict[str, int]]:
    """What each kernel has in the code that ``llc -O2`` makes of a module."""
    assert LLC is not None
    command = [LLC, "-O2", f"-mcpu={chip}", "-o", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    codes = re.findall(r"^(\w+): +; @.*?\ts_endpgm", done.stdout, re.M | re.S)
    assert sorted(codes) == sorted(CASES)
    found = re.finditer(r"^(\w+): +; @(.*?)\ts_endpgm", done.stdout, re.M | re.S)
    return {
        each[1]: {kind: len(re.findall(rule, each[2])) for kind, rule in _COUNTED.items()}
        for each in found
    }


@needs_llvm
@pytest.mark.parametrize("chip", LOWERED)
def test_they_get_no_more_than_from_llvm(chip: str) -> None:
    """In LDS as many counters are waited for, which is all there is; elsewhere no more maintenance."""
    theirs, ours = counted(MODULE, chip), counted(str(lower_llvm_ir(MODULE, chip)), chip)
    for name, found in ours.items():
        assert found["maintenance"] <= theirs[name]["maintenance"], name
        if name.startswith("local"):
            assert found == {"waits": theirs[name]["waits"], "maintenance": 0}, name


@pytest.mark.parametrize("level", [0, 2])
def test_a_release_of_lds_waits_for_no_scalar_load(level: int) -> None:
    text = str(lower_llvm_ir(MODULE, "gfx1250", opt_level=2 if level else 0))
    of_lds = text[text.index("@local_agent_release") : text.index("@local_agent_acq_rel")]
    assert "s_wait_dscnt" in of_lds
    assert "s_wait_kmcnt" not in of_lds
    whole = str(lower_llvm_ir(MODULE, "gfx1250", opt_level=0))
    of_memory = whole[whole.index("@global_agent_release") : whole.index("@global_agent_acq_rel")]
    assert "s_wait_kmcnt" in of_memory
