"""Numbers in the words of messages."""


def counted(count: int, noun: str) -> str:
    """A number of things: ``1 wave``, ``2 waves``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
