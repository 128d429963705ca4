"""Scripted classes, named tuples and enums: making them, their attributes and their methods."""

from __future__ import annotations

import ast
import builtins
import inspect
from dataclasses import MISSING, is_dataclass
from dataclasses import fields as fields_in
from enum import Enum
from typing import Any

from workbench.base.annotations import annotations_of
from workbench.graph import Graph
from workbench.graph.types import NONE, DictType, ListType, Type
from workbench.jit import guards
from workbench.jit.kinds import Item, ObjectKind, RecordKind
from workbench.jit.scripting.annotations import Annotations, kind_of_class
from workbench.jit.scripting.errors import Source
from workbench.jit.scripting.offered import Arguments
from workbench.jit.scripting.source import function_tree
from workbench.jit.scripting.things import Bound
from workbench.jit.scripting.words import Words

__all__ = ["Classes"]


def is_written(cls: Any) -> bool:
    """Say whether ``__init__`` of a class was made by `dataclass`: its fields say what it does."""
    return is_dataclass(cls) and _is_generated(inspect.getattr_static(cls, "__init__"))


def _is_generated(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == "<string>"


class Classes(Words):
    """Compiles what programs do with classes of their own."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.fields: dict[Any, dict[str, Type]] = {}
        """Attributes of objects of each class, as they became known."""

    def call_class(self, cls: type, arguments: Arguments, tree: ast.Call) -> Any:
        """Make an object, a named tuple or a member of an enum; None where the class is another."""
        if issubclass(cls, Enum):
            raise self.error(
                tree,
                f"a member of {cls.__name__} is asked for by a value of a run",
                f"Write {cls.__name__}.NAME",
            )
        kind = kind_of_class(cls)
        if isinstance(kind, RecordKind):
            return self._record(kind, arguments, tree)
        if isinstance(kind, ObjectKind):
            return self._object(kind, arguments, tree)
        return None

    def _record(self, kind: RecordKind, arguments: Arguments, tree: ast.Call) -> Item:
        given: dict[str, Any] = dict(zip(kind.fields, arguments.things, strict=False)) | arguments.keywords
        defaults = getattr(kind.cls, "_field_defaults", {})
        items = []
        for name, wanted in zip(kind.fields, kind.items, strict=True):
            thing = given.get(name, self.default_of(defaults[name]) if name in defaults else None)
            if thing is None or len(arguments.things) > len(kind.fields):
                raise self.error(tree, f"{kind} takes {', '.join(kind.fields)}, and {name} is not given")
            items.append(self.coerced(self.as_item(thing, tree), wanted, tree, f"the field {name} of {kind}"))
        return Item(tuple(one.operand for one in items), kind)

    # -------------------------------------------------------------------------------------------- objects

    def _object(self, kind: ObjectKind, arguments: Arguments, tree: ast.Call) -> Item:
        """Make an object: in the graph a dict of its attributes, which all that holds it shares."""
        if is_written(kind.cls):
            return self._filled(kind, arguments, tree)
        made = self.emit("dict.copy", ({},), kind)
        self.fields.setdefault(kind.cls, {})
        if inspect.isfunction(kind.cls.__init__):
            self._called_method(made, "__init__", arguments, tree)
        return made

    def _filled(self, kind: ObjectKind, arguments: Arguments, tree: ast.Call) -> Item:
        """Make an object of a dataclass, whose ``__init__`` is written for it: of its fields, in their order."""
        kinds, fields = self.fields_of(kind.cls, tree), fields_in(kind.cls)
        names = [one.name for one in fields if one.init]
        given: dict[str, Any] = dict(zip(names, arguments.things, strict=False))
        unknown = [name for name in arguments.keywords if name not in names or name in given]
        if unknown or len(arguments.things) > len(names):
            raise self.error(tree, f"{kind} takes {', '.join(names) or 'nothing'}")
        given |= arguments.keywords
        values: dict[str, Any] = {}
        for one in fields:
            thing = given.get(one.name)
            if thing is None:
                thing = self._default_of_field(kind, one, kinds[one.name], tree)
            item = self.coerced(
                self.as_item(thing, tree), kinds[one.name], tree, f"the field {one.name} of {kind}"
            )
            values[one.name] = item.operand
        made = self.emit("dict.copy", (values,), kind)
        if inspect.isfunction(getattr(kind.cls, "__post_init__", None)):
            self._called_method(made, "__post_init__", Arguments([], {}, []), tree)
        return made

    def _default_of_field(self, kind: ObjectKind, field: Any, wanted: Type, tree: ast.Call) -> Item:
        if field.default is not MISSING:
            found = self.constant_of(field.default)
            if found is None and isinstance(field.default, Enum):
                found = self.member(field.default)
            if found is not None:
                return found
        elif field.default_factory is list and isinstance(wanted, ListType):
            return self.new_list([], wanted.item, tree)
        elif field.default_factory is dict and isinstance(wanted, DictType):
            return self.new_dict([], wanted, tree)
        elif field.default_factory is MISSING:
            raise self.error(tree, f"{kind} takes {field.name}, and it is not given")
        raise self.error(
            tree,
            f"the default of the field {field.name} of {kind} is no value that a script can make",
            f"Pass {field.name}=…, or let it be a number, text, None, a list or a dict",
        )

    def _called_method(self, item: Item, name: str, arguments: Arguments, tree: ast.AST) -> Item:
        assert isinstance(item.kind, ObjectKind)
        function = inspect.getattr_static(item.kind.cls, name)
        if is_dataclass(item.kind.cls) and _is_generated(function):
            raise self.error(
                tree, f"{item.kind}.{name} is made by dataclass, and has no source that a script could read",
                f"Write {name} in the class, or a function that compares the fields",
            )  # fmt: skip
        static = isinstance(function, staticmethod)
        function = function.__func__ if static else function
        signature = self.signature(function, method=not static)
        self._enter(function, tree, f"{item.kind}.{name}")
        try:
            return self.inlined(
                signature, self.bound(signature, arguments, tree, name), name, self_=None if static else item
            )
        finally:
            self.open.pop()

    def fields_of(self, cls: Any, tree: ast.AST) -> dict[str, Type]:
        """Return the attributes of objects of a class; `__init__` says them, or annotations of the class do."""
        if cls not in self.fields:
            self.fields[cls] = self._declared_fields(cls, tree) if is_written(cls) else {}
        found = self.fields[cls]
        if not found:
            init = inspect.getattr_static(cls, "__init__")
            if inspect.isfunction(init):
                _, source = function_tree(init)
                read = Annotations(source, self.place.around | vars(inspect.getmodule(cls) or object()))  # type: ignore[operator]
                for name, hint in annotations_of(cls).items():
                    kind = (
                        read.kind(ast.Constant(hint, lineno=1, col_offset=0))
                        if isinstance(hint, str)
                        else kind_of_class(hint)
                    )
                    if kind is not None:
                        found[name] = kind
                self._learn_fields(cls, init, tree)
        return found

    def _declared_fields(self, cls: Any, tree: ast.AST) -> dict[str, Type]:
        """Return what a dataclass says of its fields, and of those of the classes that it is made from."""
        found: dict[str, Type] = {}
        if not hasattr(cls, "__dict__") or "__slots__" in vars(cls):
            raise self.error(tree, f"{cls.__name__} has slots, and a script keeps attributes in a dict")
        hints: dict[str, tuple[Any, Any]] = {}
        for base in cls.__mro__[::-1]:
            hints |= {name: (base, hint) for name, hint in annotations_of(base).items()}
        for one in fields_in(cls):
            base, hint = hints[one.name]
            around = self.place.around | vars(inspect.getmodule(base) or builtins)  # type: ignore[operator]
            source = Source(str(around.get("__file__", "<unknown>")), 1, (str(hint),), 0)
            written = ast.Constant(hint, lineno=1, col_offset=0)
            kind = Annotations(source, around).kind(written) if isinstance(hint, str) else kind_of_class(hint)
            if kind is None:
                raise self.error(
                    tree, f"the field {one.name} of {cls.__name__} has no type that a script has"
                )
            found[one.name] = kind
        return found

    def _learn_fields(self, cls: Any, init: Any, tree: ast.AST) -> None:
        """Compile ``__init__`` for the types of what it assigns, and drop what that wrote."""
        signature = self.signature(init, method=True)
        mark, names = len(self.block.nodes), dict(self.names)
        things = [self.emit("wb.graph.narrow", (None,), signature.kind(name)) for name in signature.names]
        made = self.emit("dict.copy", ({},), ObjectKind(cls))
        self._called_method(made, "__init__", Arguments(list(things), {}, []), tree)
        del self.block.nodes[mark:]
        self.names = names

    def object_attribute(self, item: Item, name: str, tree: ast.AST) -> Any:
        """Return an attribute of an object of a scripted class."""
        assert isinstance(item.kind, ObjectKind)
        cls = item.kind.cls
        found = inspect.getattr_static(cls, name, None)
        if inspect.isfunction(found) or isinstance(found, staticmethod):
            return Bound(item, name)
        if isinstance(found, property):
            return self.inlined(self.signature(found.fget, method=True), {}, name, self_=item)
        fields = self.fields_of(cls, tree)
        if name not in fields:
            constant = self.constant_of(found) if found is not None else None
            if constant is not None:
                return constant
            raise self.error(
                tree, f"'{cls.__name__}' object has no attribute '{name}'", "Give it one in __init__"
            )
        return self.emit("operator.getitem", (item.operand, name), fields[name])

    def kind_of_attribute(self, owner: Any, name: str) -> Type | None:
        """Return the type of an attribute of an object, where it is known by now."""
        if isinstance(owner, Item) and isinstance(owner.kind, ObjectKind):
            return self.fields.get(owner.kind.cls, {}).get(name)
        return None

    def set_attribute(self, owner: Any, name: str, thing: Any, tree: ast.AST) -> None:
        """Assign to an attribute of an object."""
        if not (isinstance(owner, Item) and isinstance(owner.kind, ObjectKind)):
            raise self.error(tree, f"the attribute {name} of this cannot be assigned in a script")
        item = self.as_item(thing, tree)
        fields = self.fields.setdefault(owner.kind.cls, {})
        init = getattr(owner.kind.cls, "__init__", None)
        if name not in fields:
            if init not in self.open:
                fields = self.fields_of(owner.kind.cls, tree)
            if init not in self.open and name not in fields:
                raise self.error(
                    tree,
                    f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?",
                )
            fields.setdefault(name, item.kind)
        item = self.coerced(item, fields[name], tree, f"the attribute {name}")
        self.emit("operator.setitem", (owner.operand, name, item.operand), NONE)

    def call_method(self, item: Item, name: str, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a method of an object of a scripted class."""
        assert isinstance(item.kind, ObjectKind)
        if guards.is_interface(item.kind.cls):
            raise self.error(
                tree,
                f"{item.kind} is an interface: only a run knows whose {name} is called",
                "Script the module that is in its place",
            )
        if inspect.getattr_static(item.kind.cls, name, None) is None:
            raise self.error(tree, f"'{item.kind}' object has no attribute or method '{name}'")
        return self._called_method(item, name, arguments, tree)

    def magic(self, item: Item, name: str, others: tuple[Item, ...], tree: ast.AST) -> Item | None:
        """Call a special method of an object, where it has that one."""
        if not isinstance(item.kind, ObjectKind):
            return None
        function = inspect.getattr_static(item.kind.cls, name, None)
        # Objects are compared by their attributes, which is what the one does that dataclass makes.
        if not inspect.isfunction(function) or (name in ("__eq__", "__ne__") and _is_generated(function)):
            return None
        return self._called_method(item, name, Arguments(list(others), {}, []), tree)
