"""Whether a text is PTX: told without what reads PTX, for most inputs are AMD's."""

import re


def is_ptx(text: str) -> bool:
    """Whether a text is PTX: it begins with ``.version``, or names a chip as PTX does."""
    return _VERSION_LINE.search(text) is not None


_VERSION_LINE = re.compile(r"^[^\S\n]*\.version\s+\d+\.\d+\s*(?://.*)?$", re.M)
