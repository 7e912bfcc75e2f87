"""Keeps the shortest text of each form of what record.cpp prints: a.out 200000 | record.py [CHIP].

With a chip the lane masks of both sizes of waves are forms. A form is a mnemonic with the modifiers that change what is a result. Registers are written as in
the assembly, half a register as all of it; the floating-point mode and the constants that look like registers are left out.
"""

import re
import sys
from collections.abc import Iterable

_PAIRS = {"VCC": "vcc", "EXEC": "exec", "FLAT_SCR": "flat_scratch", "XNACK_MASK": "xnack_mask"}
_FILES = {"VGPR": "v", "SGPR": "s", "AGPR": "a", "TTMP": "ttmp"}
_LEFT_OUT = {"mode", "sgpr_null", "sgpr_null_gfxpre11", "sgpr_null_gfx11plus"}
_RENAMED = {"m0_gfxpre11": "m0", "m0_gfx11plus": "m0", "lds_direct": "m0"}


def _registers(name: str) -> Iterable[str]:
    name = re.sub("(_gfx9plus|_vi|_LO16|_HI16)$", "", name)
    base, _, _ = name.partition("_LO") if name.endswith("_LO") else name.partition("_HI")
    if base in _PAIRS:
        halves = (name[-2:].lower(),) if base != name else ("lo", "hi")
        return [f"{_PAIRS[base]}_{each}" for each in halves]
    if re.match(r"(VGPR|SGPR|AGPR|TTMP)\d", name):
        found = (re.fullmatch(r"([A-Z]+)(\d+)", part) for part in name.split("_"))
        return [_FILES[each[1]] + each[2] for each in found if each]
    return [] if name.startswith("SRC_") else [_RENAMED.get(name.lower(), name.lower())]


def _key(name: str) -> tuple[str, int]:
    found = re.fullmatch(r"([a-z]+)(\d+)", name)
    return (found[1], int(found[2])) if found else (name, -1)


def _listed(names: str) -> str:
    """``v0:3 vcc_lo``."""
    unique = {each for name in names.split() for each in _registers(name)} - _LEFT_OUT
    runs: list[tuple[str, int, int]] = []
    for file, number in sorted(map(_key, unique)):
        if runs and number >= 0 and runs[-1][0] == file and runs[-1][2] == number - 1:
            runs[-1] = (file, runs[-1][1], number)
        else:
            runs.append((file, number, number))
    return " ".join(
        file if first < 0 else f"{file}{first}" if first == last else f"{file}{first}:{last}"
        for file, first, last in runs
    )


_MASK = re.compile(r"\bvcc(_lo)?\b")


def _form(words: list[str], has_both_waves: bool) -> tuple[object, ...]:
    text, name = " ".join(words), words[0]
    mask = _MASK.search(text) if has_both_waves and name.startswith("v_") else None
    returns = "atomic" in name and bool({"glc", "sc0", "th:TH_ATOMIC_RETURN"} & set(words))
    odd = name == "v_cmp_class_f16_sdwa" and "vcc" in text
    return (name, "lds" in words, returns, "gds" in words, "UNUSED_PRESERVE" in text,
        "src_lds_direct" in text, odd, mask and mask[0], "row_en" in words)  # fmt: skip


def _main() -> None:
    chips = sys.argv[1:]
    shortest: dict[tuple[object, ...], tuple[int, str]] = {}
    for line in sys.stdin:
        _, _, text, defines, uses, _ = line.rstrip("\n").split("\t")
        words = text.split()
        row = f"{' '.join(words)}\t{_listed(defines)}\t{_listed(uses)}"
        form = _form(words, bool(chips))
        if form not in shortest or len(text) < shortest[form][0]:
            shortest[form] = (len(text), row)
    of = "".join(f" of {chip}" for chip in chips)
    print(
        f"# instruction\tdefines\tuses, as LLVM 22.1.8's tables{of} have it; made by record.cpp and record.py"
    )
    print(*sorted(row for _, row in shortest.values()), sep="\n")


if __name__ == "__main__":
    _main()
