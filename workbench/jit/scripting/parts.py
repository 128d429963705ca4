"""Modules of layers in a script: going over them, and calling them and their methods."""

from __future__ import annotations

import ast
from typing import Any

from workbench.graph import LeafModule
from workbench.graph.types import TENSOR, TEXT, Type
from workbench.jit import guards
from workbench.jit.kinds import Item
from workbench.jit.script_modules import ScriptModule
from workbench.jit.scripting import activation_layers as activation_layers  # in `LAYERS` when they are read
from workbench.jit.scripting import attention_layers as attention_layers
from workbench.jit.scripting import loss_layers as loss_layers
from workbench.jit.scripting import place_layers as place_layers
from workbench.jit.scripting import pooling_layers as pooling_layers
from workbench.jit.scripting import recurrent_layers as recurrent_layers
from workbench.jit.scripting.functions import give
from workbench.jit.scripting.layers import LAYERS
from workbench.jit.scripting.offered import Arguments
from workbench.jit.scripting.part_attributes import PartAttributes, of_house
from workbench.jit.scripting.signatures import Signature
from workbench.jit.scripting.things import Many, Part, PartMethod
from workbench.nn import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from workbench.nn.utils.rnn import PackedSequence

__all__ = ["Parts"]


class Parts(PartAttributes):
    """Compiles methods of modules."""

    # -------------------------------------------------------------------------------------------- items

    def part_items(self, part: Part, tree: ast.AST) -> Many:
        """Return what a loop over a list or dict of modules goes over."""
        module = part.module
        if isinstance(module, ModuleDict):
            return Many(tuple(Item(name, TEXT) for name in module._modules))
        if isinstance(module, ModuleList | Sequential):
            return Many(tuple(Part(one, self._path(part, name)) for name, one in module._modules.items()))
        if isinstance(module, ParameterList):
            return Many(tuple(self.part_attribute(part, str(i), tree) for i in range(len(module))))
        raise self.error(tree, f"a {type(module).__name__} has no items to go over")

    def part_item(self, part: Part, index: ast.expr, tree: ast.AST) -> Any:
        """Return an item of a list or dict of modules."""
        if isinstance(part.module, ModuleDict | ParameterDict):
            key = self.value(index).operand
            if not isinstance(key, str) or key not in part.module:
                raise self.error(
                    index,
                    f"Key Error: this must be the name of a module that is written here: {list(part.module.keys())}",
                )
            return self.part_attribute(part, key, tree)
        return self._subscript(ast.Subscript(value=index, slice=index), self.part_items(part, tree), index)

    # -------------------------------------------------------------------------------------------- calls

    def call_part(self, part: Part, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a module of layers: what it does stands in the place of the call, or it is kept whole."""
        self._refuse_hooks(part.module, tree)
        module, cls = part.module, type(part.module)
        if _is_written(cls):
            return self._forward(part, cls, arguments, tree)
        method = PartMethod(part, "forward", cls)
        if not of_house(module):
            return self.call_part_method(method, arguments, tree)
        # The models of the house are written for names, too: what a script cannot say of those is kept whole.
        return self.attempted(
            lambda: self.call_part_method(method, arguments, tree),
            lambda: self._kept_whole(part, arguments, tree),
        )

    def _forward(self, part: Part, cls: type, arguments: Arguments, tree: ast.Call) -> Any:
        """Run a module as one of a class of the house's layers: by the words for it, or whole."""
        module = part.module
        if cls.forward is Sequential.forward:  # type: ignore[attr-defined]
            thing = arguments.things[0]
            for name, one in module._modules.items():
                thing = self.call_part(Part(one, self._path(part, name)), Arguments([thing], {}, []), tree)
            return thing
        written = LAYERS.of(module, _is_packed(arguments), cls)
        if written is not None:
            signature = self.signature(written, method=True)
            scope = tuple(part.path.split(".")) if part.path else ()
            return self.inlined(
                signature, self.bound(signature, arguments, tree, cls.__name__), cls.__name__, scope, part
            )
        if cls is not type(module):
            raise self.error(
                tree, f"what {cls.__name__} does is not written in words of nn.functional for a class made from it",
                "Write those words in its place",
            )  # fmt: skip
        return self._kept_whole(part, arguments, tree)

    def _refuse_hooks(self, module: Any, tree: ast.AST) -> None:
        if module._hooked:
            raise self.error(
                tree,
                f"{type(module).__name__} has hooks, which are Python that a script does not run",
                "Remove them before: handle.remove()",
            )

    def _kept_whole(self, part: Part, arguments: Arguments, tree: ast.Call) -> Item:
        self.graph.modules[part.path] = part.module
        self.whole.add(part.path)
        inputs, params = self.operands(arguments, tree)
        keywords = {name: one.operand for name, one in params.items()}
        kind: Type = TENSOR
        if isinstance(part.module, ScriptModule) and "forward" in part.module._boundaries:
            kind = part.module._boundaries["forward"].result
        return self.emit(LeafModule(part.path), tuple(one.operand for one in inputs), kind, **keywords)

    def call_part_method(self, method: PartMethod, arguments: Arguments, tree: ast.Call) -> Any:
        """Call a method of a module of layers: what it does stands in the place of the call."""
        rows = self._rows(method)
        if rows is not None:
            return rows
        function = getattr(method.owner, method.name)
        if method.name == "forward" and _is_written(method.owner):
            return self._forward(method.part, method.owner, arguments, tree)
        told = getattr(function, guards.MODIFIER, None)
        if told == "unused":
            return self._unused(method.name, function, method=True)
        if told == "ignore":
            return self._held(function, arguments, tree, getattr(method.part.module, method.name))
        signature = self.signature(function, method=True)
        key = (function, method.part.path)
        self._enter_method(key, tree, method.name)
        scope = tuple(method.part.path.split(".")) if method.part.path else ()
        overloads = guards.overloads_of(function)
        if overloads:
            signature = self._chosen(signature, overloads, arguments, tree, method.name, method=True)
        try:
            return self.inlined(
                signature,
                self.bound(signature, arguments, tree, method.name),
                method.name,
                scope,
                method.part,
            )
        finally:
            self.open.pop()

    def _rows(self, method: PartMethod) -> Many | None:
        """Return what ``items()`` and its like give of a module that has others; None for other methods."""
        part, modules = method.part, method.part.module._modules
        if type(part.module).__module__ != ModuleDict.__module__ and method.name not in _ROWS[3:]:
            return None
        if method.name not in _ROWS:
            return None
        pairs = [(Item(name, TEXT), Part(one, self._path(part, name))) for name, one in modules.items()]
        if method.name in ("items", "named_children"):
            return Many(tuple(Many(pair) for pair in pairs))
        return Many(tuple(pair[method.name != "keys"] for pair in pairs))

    def _enter_method(self, key: tuple[Any, str], tree: ast.AST, name: str) -> None:
        if key in self.open:
            raise self.error(
                tree,
                f"method '{name}' is called recursively. Recursive calls are not supported",
                "Write a loop",
            )
        self.open.append(key)

    # -------------------------------------------------------------------------------------------- entry

    def method_graph(self, name: str) -> tuple[Signature, Type]:
        """Write a method of the root as the graph."""
        function = getattr(type(self.root), name)
        part = Part(self.root, "")
        written = LAYERS.of(self.root) if name == "forward" else None
        signature = self.signature(written or function, method=True)
        self.open.append((function, ""))
        self.begin(signature, name)
        self.take_inputs(self.graph, signature)
        given = {one: self.names[one].item for one in signature.names}  # type: ignore[union-attr]
        if name == "forward" and written is None and _is_written(type(self.root)):
            # Read as a call that nobody wrote.
            call = ast.copy_location(ast.Call(func=ast.Name(id=name), args=[], keywords=[]), signature.tree)
            found = self.call_part(part, Arguments(list(given.values()), {}, []), call)
            item = self.as_item(found, signature.tree)
        else:
            item = self.inlined(signature, given, name, (), part)
        give(self.graph, item)
        if self.state is not None:
            self.graph.inputs.append(self.state)
        return signature, item.kind


_ROWS = ("items", "keys", "values", "named_children", "children")


def _is_written(cls: type) -> bool:
    """Say whether a class of modules does what a layer of the house's does, whose source looks into payloads."""
    return cls.__module__.startswith("workbench.nn.") or cls.forward is Sequential.forward  # type: ignore[attr-defined]


def _is_packed(arguments: Arguments) -> bool:
    """Say whether a layer is given sequences that are packed."""
    given = [*arguments.things[:1], *(one for name, one in arguments.keywords.items() if name == "input")]
    return any(isinstance(one, Item) and getattr(one.kind, "cls", None) is PackedSequence for one in given)
