"""The advice for users without a library that draws."""

from collections.abc import Callable
from typing import Any


class MissingLibraryError(ImportError):
    """A drawing library is not installed; the message says how to get it."""

    def __init__(self, library: str):
        super().__init__(
            f"this picture is drawn by {library}, which is not installed: "
            "pip install 'fencewright[pictures]', or '.[pictures]' in a checkout",
            name=library,
        )


def drawn_if_possible(draw: Callable[[Any], str], drawn: object) -> str | None:
    """The picture for a notebook, which shows text where there is no library: None."""
    try:
        return draw(drawn)
    except MissingLibraryError:
        return None
