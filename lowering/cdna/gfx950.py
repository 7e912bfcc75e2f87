"""gfx950 (MI350): the rows of gfx942; LLVM 22 lowers all 11,160 measured requests alike."""

from fencewright.lowering.cdna import gfx942

CHIP = gfx942.chip("gfx950")
