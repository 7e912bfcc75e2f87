"""The 16 bits of ``s_waitcnt``, as LLVM's intrinsic for it takes them."""

from fencewright.lowering.cdna.chips import CHIPS, Generation

_GENERATIONS = frozenset({Generation.GFX908, Generation.GFX90A, Generation.GFX942})
"""Those whose counters are in these bits. Source: MI300 ISA 4.4 and 16.5; LLVM AMDGPUBaseInfo."""

_VMCNT, _EXPCNT, _LGKMCNT = 63, 7, 15
"""The greatest counts: not waited for."""


def wait_field(chip: str, vmcnt: int | None, lgkmcnt: int | None) -> int | None:
    """The field that waits for these counts, or for none (None); None for chips of other bits."""
    if CHIPS[chip].generation not in _GENERATIONS:
        return None
    vector = _VMCNT if vmcnt is None else vmcnt
    scalar = _LGKMCNT if lgkmcnt is None else lgkmcnt
    return (vector & 0xF) | _EXPCNT << 4 | scalar << 8 | vector >> 4 << 14
