"""gfx9-4-generic: LLVM's target for code that runs on gfx942 and on gfx950, which are lowered alike.

Where they differ it is the lesser: gfx942's LDS. Source: LLVM AMDGPUUsage, Generic Processors.
"""

from fencewright.lowering.cdna import gfx942

CHIP = gfx942.chip("gfx9-4-generic")
