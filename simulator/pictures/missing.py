"""The advice for users without a library that draws."""


class MissingLibraryError(ImportError):
    """A drawing library is not installed; the message says how to get it."""

    def __init__(self, library: str):
        super().__init__(
            f"this picture is drawn by {library}, which is not installed: "
            "pip install 'fencewright[pictures]'",
            name=library,
        )
