"""A context that imports the rarer part of a dialect when an operation of it is named."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute


@dataclass
class StagedContext(Context):
    """``xdsl.context.Context`` in which the rest of a dialect may be registered apart from it."""

    _rest: dict[str, Callable[[], Dialect]] = field(
        default_factory=dict[str, Callable[[], Dialect]]
    )

    def register_rest(self, dialect: str, factory: Callable[[], Dialect]) -> None:
        """Register the operations of ``dialect`` that are not yet registered under its name."""
        self._rest[dialect] = factory

    def clone(self) -> "StagedContext":
        known = super().clone()
        return StagedContext(
            **{name: getattr(known, name) for name in vars(known)}, _rest=self._rest.copy()
        )

    def get_optional_op(
        self, name: str, *, dialect_stack: Sequence[str] = ()
    ) -> type[Operation] | None:
        self._complete(name, self._loaded_ops)
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        self._complete(name, self._loaded_types)
        return super().get_optional_type(name)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        self._complete(name, self._loaded_attrs)
        return super().get_optional_attr(name)

    def _complete(self, name: str, known: Collection[str]) -> None:
        """Load the rest of the dialect of ``name``, if that is not in the other part."""
        dialect, _, _ = name.partition(".")
        if name in known or dialect not in self._rest:
            return
        self.get_optional_dialect(dialect)
        if name in known:
            return
        rest = self._rest.pop(dialect)()
        for op in rest.operations:
            self.load_op(op)
        for attribute in rest.attributes:
            self.load_attr_or_type(attribute)
