"""The kind of code that a file has, recognised before either vendor's part is imported."""

import re

_SUFFIX = ".ptx"
_LOOKED_AT = 1 << 16
"""Number of bytes in which a file's kind is recognised: comments may come first."""
_VERSION_LINE = re.compile(r"^[^\S\n]*\.version\s+\d+\.\d+\s*(?://.*)?$", re.M)


def is_ptx(text: str) -> bool:
    """True for PTX: a text with a line ``.version``, as all PTX begins."""
    return _VERSION_LINE.search(text) is not None


def is_ptx_file(path: str, content: bytes) -> bool:
    """True for what is PTX by its name or by how it begins."""
    begin = content[:_LOOKED_AT].decode(errors="replace")
    return path.endswith(_SUFFIX) or (is_ptx(begin) and ".amdgcn_target" not in begin)


_AMD_SUFFIXES = (".s", ".amdgcn")
_TARGET_LINE = re.compile(r"^[^\S\n]*\.amdgcn_target\s", re.M)


def is_amd_assembly(path: str, text: str) -> bool:
    """True for what is AMD assembly by its name or by the line that says its chip."""
    return path.endswith(_AMD_SUFFIXES) or _TARGET_LINE.search(text) is not None
