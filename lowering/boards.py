"""The names that people say for a chip: those of the boards and systems that it is sold on.

They are for hints alone: a board's name is no target, since a newer one of the same name may
have another chip.
"""

import re

from fencewright.lowering.cdna.chips import CHIPS

_NVIDIA = "NVIDIA, CUDA GPU Compute Capability"
_AMD = "ROCm documentation, Accelerator and GPU hardware specifications"

BOARDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    *((chip.name, _AMD, chip.boards) for chip in CHIPS.values() if chip.boards),
    ("sm_70", _NVIDIA, ("v100", "titanv")),
    ("sm_72", _NVIDIA, ("xavier", "agxxavier")),
    ("sm_75", _NVIDIA, ("t4", "rtx2080", "rtx8000")),
    ("sm_80", _NVIDIA, ("a100", "a800", "a30")),
    ("sm_86", _NVIDIA, ("a10", "a16", "a40", "rtxa6000", "rtx3080", "rtx3090")),
    ("sm_87", _NVIDIA, ("orin", "agxorin")),
    ("sm_89", _NVIDIA, ("l4", "l40", "l40s", "rtx4080", "rtx4090")),
    ("sm_90", _NVIDIA, ("h100", "h200", "h800", "h20", "gh200")),
    ("sm_100", _NVIDIA, ("b100", "b200", "gb200")),
    ("sm_103", _NVIDIA, ("b300", "gb300")),
    ("sm_110", _NVIDIA, ("thor", "agxthor")),
    ("sm_120", _NVIDIA, ("rtx5080", "rtx5090", "rtxpro6000")),
    ("sm_121", _NVIDIA, ("gb10", "dgxspark")),
)
"""Chip, its source, and its boards, in small letters without the separators of a name."""

_CHIP_OF = {board: chip for chip, _, boards in BOARDS for board in boards}
_MAKERS = re.compile(r"^(amd|instinct|nvidia|tesla|geforce|jetson)+")


def chip_of_board(name: str) -> str | None:
    """The chip that ``name`` contains, as in ``H100`` or ``Instinct MI300X``; None if not known."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return _CHIP_OF.get(_MAKERS.sub("", plain))
