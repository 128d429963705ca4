"""What modules of layers hold, in a script: parameters, buffers, attributes, properties and methods by their names."""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from workbench.base.annotations import annotations_of
from workbench.graph import Graph, Value
from workbench.graph.types import ANY, BOOL, NONE, TENSOR, DictType, ListType, Type, type_of, type_of_value
from workbench.jit import guards
from workbench.jit.kinds import Item
from workbench.jit.scripting.annotations import Annotations, kind_of_class
from workbench.jit.scripting.classes import Classes
from workbench.jit.scripting.errors import ScriptError, Source
from workbench.jit.scripting.source import function_tree
from workbench.jit.scripting.things import Known, Part, PartMethod
from workbench.nn import Module

__all__ = ["Assigned", "PartAttributes", "copied", "of_house"]


class Assigned(Exception):
    """A tensor of a module is assigned anew somewhere: it must be read from the module each time."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class PartAttributes(Classes):
    """Reads and writes what modules hold."""

    def __init__(self, graph: Graph, root: Any = None, changing: set[str] | None = None) -> None:
        super().__init__(graph)
        self.root = root
        self.state: Value | None = None
        self.whole: set[str] = set()
        """Paths of modules that the graph calls whole."""
        self.attributes: dict[str, Type] = {}
        """Attributes that runs read, by their paths."""
        self.changing = changing or set()
        """Paths of tensors that a method assigns anew."""

    # ------------------------------------------------------------------------------------------ attributes

    def _path(self, part: Part, name: str) -> str:
        return f"{part.path}.{name}" if part.path else name

    def part_attribute(self, part: Part, name: str, tree: ast.AST) -> Any:
        """Return an attribute of a module of layers."""
        if part.above is not None:
            return self._inherited(part, part.above, name, tree)
        module, path = part.module, self._path(part, name)
        if name in module._modules:
            inner = module._modules[name]
            return Item(None, NONE) if inner is None else Part(inner, path)
        if name in module._parameters or name in module._buffers:
            tensor = module._parameters.get(name, module._buffers.get(name))
            return Item(None, NONE) if tensor is None else self._tensor(path, tensor)
        if name == "training":
            return self._read(path, BOOL)
        found = inspect.getattr_static(module, name, None)
        if found is None and not hasattr(module, name):
            raise self.error(tree, f"Module '{type(module).__name__}' has no attribute '{name}'", _WHERE)
        if inspect.isfunction(found):
            # One that was put there is called as it is: it has no self.
            return Known(found) if name in vars(module) else PartMethod(part, name, type(module))
        if isinstance(found, staticmethod):
            return Known(found.__func__)
        if isinstance(found, property):
            return self._property(part, found, name)
        return self._attribute(part, name, getattr(module, name), tree)

    def _call_super(self, tree: ast.Call, wanted: Type | None) -> Part:
        """Read ``super()``: the module, as the classes above the one whose method speaks know it."""
        cls, part = self.place.around.get("__class__"), self.place.part
        if not isinstance(part, Part) or not isinstance(cls, type) or tree.args:
            raise self.error(
                tree,
                "super() stands in methods of modules, without arguments",
                "Call the function by its name",
            )
        return replace(part, above=cls)

    def _inherited(self, part: Part, above: type, name: str, tree: ast.AST) -> PartMethod:
        mro = type(part.module).__mro__
        after = mro[mro.index(above) + 1 :]
        found = next((vars(one)[name] for one in after if name in vars(one)), None)
        if inspect.isfunction(found):
            owner = next(one for one in after if getattr(one, name, None) is found)
            return PartMethod(replace(part, above=None), name, owner)
        raise self.error(tree, f"no class above {above.__name__} has a method {name!r}")

    def _property(self, part: Part, found: property, name: str) -> Item:
        if name == "_flat_weights":
            paths = {id(one): path for path, one in part.module._parameters.items()}
            weights = [paths[id(one)] for one in part.module._flat_weights]
            return self.new_list([self._tensor(self._path(part, one), part.module._parameters[one]) for one in weights],
                                 TENSOR, self.tree)  # fmt: skip
        signature = self.signature(found.fget, method=True)
        return self.inlined(signature, {}, name, self_=part)

    def _tensor(self, path: str, tensor: Any) -> Item:
        if path in self.changing:
            return self._read(path, TENSOR)
        known = next((value for value in self.graph.parameters if value.name == path), None)
        if known is None:
            known = Value(path, type_of(tensor))
            self.graph.parameters[known] = tensor
        return Item(known, TENSOR)

    def _attribute(self, part: Part, name: str, value: Any, tree: ast.AST) -> Any:
        if of_house(part.module):
            # Its settings are those that it was made with.
            return self._constant_or_known(value)
        kind = self.kind_of_attribute(part, name)
        constant = value is None and kind in (None, NONE)
        if (
            constant
            or name in getattr(part.module, "__constants__", ())
            or _is_final(type(part.module), name)
        ):
            if isinstance(value, list):
                value = tuple(value)
            if isinstance(value, Module):
                return Part(value, self._path(part, name))
            return self._constant_or_known(value)
        if kind is None and isinstance(value, list | dict):
            items = "List[Tensor]" if isinstance(value, list) else "Dict[str, Tensor]"
            raise self.error(
                tree,
                f"the items of the attribute {name} have no one type that its value says",
                f"Annotate it in the class: {name}: {items}",
            )
        if kind is None:
            return self._constant_or_known(value)
        return self._read(self._path(part, name), kind)

    def _constant_or_known(self, value: Any) -> Any:
        found = self.constant_of(value)
        return Known(value) if found is None else found

    def kind_of_attribute(self, owner: Any, name: str) -> Type | None:
        """Return the type of an attribute: as it is annotated, or as its value is."""
        if not isinstance(owner, Part):
            return super().kind_of_attribute(owner, name)
        module = owner.module
        if name in module._parameters or name in module._buffers:
            return TENSOR
        for cls in type(module).__mro__:
            hint = annotations_of(cls).get(name)
            if hint is not None and cls is not Module:
                kind = self._annotated_kind(cls, hint)
                if kind is not None:
                    return kind
            said = _said_in_init(cls).get(name)
            if said is not None:
                try:
                    return self._annotated_kind(cls, said)
                except ScriptError:
                    break  # a type of no script's: the value says what it is
        value = module.__dict__.get(name, getattr(type(module), name, None))
        if isinstance(value, guards.Attribute):
            return kind_of_class(value.type)
        return self.learnt_kind(value)

    def _annotated_kind(self, cls: type, hint: Any) -> Type | None:
        if not isinstance(hint, str):
            return kind_of_class(hint)
        around = vars(inspect.getmodule(cls)) if inspect.getmodule(cls) else {}
        source = Source(str(around.get("__file__", "<unknown>")), 1, (hint,), 0)
        return Annotations(source, around).kind(
            ast.Constant(hint, lineno=1, col_offset=0, end_col_offset=len(hint))
        )

    def learnt_kind(self, value: Any) -> Type | None:
        """Return the type of a value of Python's; None where a run cannot have it."""
        found = type_of_value(value)
        if found == ANY or not _whole(found):
            return None
        return _any_tensor(found)

    # -------------------------------------------------------------------------------------------- state

    def _owner(self) -> Value:
        """Return the module as a value, of which what changes is read."""
        if self.state is None:
            self.state = Value(self.fresh("self"), ANY)
        return self.state

    def _read(self, path: str, kind: Type) -> Item:
        self.attributes[path] = kind
        return self.emit("operator.getitem", (self._owner(), path), kind)

    def set_attribute(self, owner: Any, name: str, thing: Any, tree: ast.AST) -> None:
        """Assign to an attribute."""
        if not isinstance(owner, Part):
            super().set_attribute(owner, name, thing, tree)
            return
        path, kind = self._path(owner, name), self.kind_of_attribute(owner, name)
        if kind is None or not (hasattr(owner.module, name)):
            raise self.error(
                tree,
                f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?",
            )
        if name in owner.module._parameters:
            raise self.error(
                tree,
                f"the parameter {name} cannot be assigned in a script",
                "Change it in place, or make it a buffer",
            )
        if _is_final(type(owner.module), name) or name in getattr(owner.module, "__constants__", ()):
            raise self.error(tree, f"{name} is Final, and cannot be assigned")
        if name in owner.module._buffers and path not in self.changing:
            raise Assigned(path)
        item = self.coerced(self.as_item(thing, tree), kind, tree, f"the attribute {name}")
        self.attributes[path] = kind
        self.emit("operator.setitem", (self._owner(), path, item.operand), NONE)


_WHERE = "Give it one in __init__, and annotate it in the class where its value does not say its type"


def _whole(kind: Type) -> bool:
    """Say whether nothing of a type is unknown, as that of the items of an empty list is."""
    return "never" not in str(kind) and "any" not in str(kind)


def _any_tensor(kind: Type) -> Type:
    """Return a type in which each tensor is any tensor."""
    match kind:
        case ListType(item=item):
            return ListType(_any_tensor(item))
        case DictType(key=key, value=value):
            return DictType(key, _any_tensor(value))
    return TENSOR if hasattr(kind, "dims") else kind


def _is_final(cls: type, name: str) -> bool:
    for one in cls.__mro__:
        hint = annotations_of(one).get(name)
        if hint is not None:
            text = hint if isinstance(hint, str) else str(hint)
            return hint is typing.Final or "Final" in text.partition("[")[0]
    return False


def of_house(module: Any) -> bool:
    """Say whether a module is one of the house's own."""
    return type(module).__module__.startswith("workbench.")


def copied(value: Any) -> Any:
    """Return the value of an attribute as the scripted module has it: its own lists and dicts, the same tensors."""
    if isinstance(value, guards.Attribute):
        return copied(value.value)
    if isinstance(value, list):
        return [copied(one) for one in value]
    if isinstance(value, Mapping):
        return {key: copied(one) for key, one in value.items()}
    return value


@lru_cache(maxsize=256)
def _said_in_init(cls: type) -> dict[str, str]:
    """Return what ``__init__`` of a class says of attributes: ``self.cache: Dict[str, Tensor] = {}``."""
    init = vars(cls).get("__init__")
    if not inspect.isfunction(init) or cls.__module__.startswith("workbench."):
        return {}
    try:
        tree, _ = function_tree(init)
    except ScriptError:
        # It was made, and not written: it says nothing.
        return {}
    return {
        one.target.attr: ast.unparse(one.annotation)
        for one in ast.walk(tree)
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Attribute)
        and isinstance(one.target.value, ast.Name)
        and one.target.value.id == tree.args.args[0].arg
    }
