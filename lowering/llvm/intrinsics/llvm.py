"""Effects of LLVM's own intrinsics, those of no target, that touch memory or seem to."""

from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow, ZeroBits, several

_NOT_VOLATILE = ZeroBits(operand=-1, mask=1)
_COPY = "LLVM LangRef, Standard C/C++ Library Intrinsics"
_MASKED = (
    "LLVM LangRef, Masked Vector Load and Store, Gather and Scatter, expandload, compressstore"
)
_STAYS = "they touch no memory: LLVM says they do, so that they stay in their place"
_A, _N, _O = CallKind.ACCESS, CallKind.NOTHING, CallKind.OTHER

LLVM_EFFECTS = (
    EffectRow("{memcpy,memmove}", _A, _COPY, reads=(1,), writes=(0,), plain_if=_NOT_VOLATILE),
    EffectRow("memcpy.inline", _A, _COPY, reads=(1,), writes=(0,), plain_if=_NOT_VOLATILE),
    EffectRow("memset", _A, _COPY, writes=(0,), plain_if=_NOT_VOLATILE),
    EffectRow("memset.inline", _A, _COPY, writes=(0,), plain_if=_NOT_VOLATILE),
    EffectRow("experimental.memset.pattern", _A, _COPY, writes=(0,), plain_if=_NOT_VOLATILE),
    EffectRow("masked.{load,gather}", _A, _MASKED, reads=(0,)),
    EffectRow("masked.expandload", _A, _MASKED, reads=(0,)),
    EffectRow("masked.store", _A, _MASKED, writes=(1,)),
    EffectRow("masked.scatter", _A, _MASKED, writes=(1,)),
    EffectRow("masked.compressstore", _A, _MASKED, writes=(1,)),
    *several("{memcpy,memmove,memset}.element.unordered.atomic", _O,
             "LLVM LangRef, Element Wise Atomic Memory Intrinsics",
             "each element is an atomic access, by which threads may synchronise"),
    *several("assume sideeffect pseudoprobe experimental.noalias.scope.decl {var,ptr}.annotation "
             "annotation fake.use codeview.annotation {get,set}.rounding donothing "
             "dbg.{declare,value,assign,label}", _N, "LLVM LangRef"),
    *several("lifetime.{start,end} invariant.{start,end} prefetch {stacksave,stackrestore} "
             "{readcyclecounter,readsteadycounter}", _N, "LLVM LangRef", _STAYS),
    *several("{trap,debugtrap,ubsantrap}", _O, "LLVM LangRef", "the thread may end"),
)  # fmt: skip
"""Their rows. ``prefetch``, as a hint, fetches what any cache may fetch at any time."""
