"""Waits in lowered LLVM IR as the assembly that they are."""

import re

_WAIT = re.compile(r"call void @llvm\.amdgcn\.s\.waitcnt\(i32 (\d+)\)(.*)")
_LDS = re.compile(r'fence syncscope\("workgroup"\) release(.*)')
_ASSEMBLY = re.compile(r'call void asm sideeffect "([^"]*)", "((?:v,)*)~\{memory\}"\(([^)]*)\)(.*)')


def in_assembly(text: str) -> str:
    """``text`` with its waits in inline assembly, and what stands together in one of them."""
    lines: list[str] = []
    run: list[tuple[str, str, str, str]] = []
    for line in text.splitlines():
        if (piece := _piece(line.strip())) is not None:
            run.append(piece)
            continue
        lines += _joined(run)
        run = []
        lines.append(line)
    return "\n".join([*lines, *_joined(run), ""])


def _piece(line: str) -> tuple[str, str, str, str] | None:
    """The instructions, constraints, operands and the rest of a line of assembly."""
    if found := _WAIT.fullmatch(line):
        return f"s_waitcnt {_counts(int(found[1]))}", "", "", found[2]
    if found := _LDS.fullmatch(line):
        return "s_waitcnt lgkmcnt(0)", "", "", found[1]
    found = _ASSEMBLY.fullmatch(line)
    return None if found is None else (found[1], found[2], found[3], found[4])


def _counts(field: int) -> str:
    """What the field of ``s_waitcnt`` says (MI300 ISA 16.5)."""
    counts = (("vmcnt", field & 0xF | field >> 14 << 4, 63), ("lgkmcnt", field >> 8 & 0xF, 15))
    return " ".join(f"{name}({count})" for name, count, most in counts if count < most)


def _joined(run: list[tuple[str, str, str, str]]) -> list[str]:
    if not run:
        return []
    text = "\\0A".join(each[0] for each in run if each[0])
    constraints = "".join(each[1] for each in run)
    operands = ", ".join(each[2] for each in run if each[2])
    ending = f"({operands}){run[0][3]}"
    return [f'  call void asm sideeffect "{text}", "{constraints}~{{memory}}"{ending}']
