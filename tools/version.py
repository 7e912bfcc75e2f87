"""The output of ``--version``, made without an import of a program, or of xDSL."""


class _Version(str):
    """Looks the versions up when it is formatted, which few runs ask for."""

    def format(self, *_: object, **__: object) -> str:
        from importlib.metadata import version

        return super().format(fencewright=version("fencewright"), xdsl=version("xdsl"))


VERSION = _Version("Fencewright {fencewright}, built on xDSL {xdsl}")
"""The output of ``--version``, before it is formatted."""
