"""Statements of a script."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from workbench.autograd.modes import no_grad
from workbench.graph.types import BOOL, INT, NONE, TENSOR, TEXT, DictType, ListType, TupleType, Type
from workbench.jit.kinds import Item, ObjectKind, RecordKind, fits, shown
from workbench.jit.scripting.annotations import Annotations, static
from workbench.jit.scripting.builder import BROKE, LEFT, RESULT, RETURNED, Flow, Variable
from workbench.jit.scripting.expressions import _BINARY
from workbench.jit.scripting.names import leaves
from workbench.jit.scripting.raising import Raising
from workbench.jit.scripting.things import Nested

__all__ = ["Statements"]

_DEEPEST = 24
"""Blocks in blocks: a graph has no more than 32, with what expressions need."""

_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("try blocks aren't supported", "Ask before, with `if`, what would be caught"),
    ast.Global: (
        "global variables aren't supported",
        "Pass the value as an argument, and return the new one",
    ),
    ast.Nonlocal: (
        "nonlocal variables aren't supported",
        "Pass the value as an argument, and return the new one",
    ),
    ast.Import: ("import statements aren't supported", "Import above the function"),
    ast.ImportFrom: ("import statements aren't supported", "Import above the function"),
    ast.ClassDef: ("classes inside of functions aren't supported", "Write the class above the function"),
    ast.AsyncFunctionDef: ("async functions aren't supported", "Call jit.fork and jit.wait"),
    ast.AsyncFor: ("async for aren't supported", "Write for"),
    ast.AsyncWith: ("async with aren't supported", "Write with"),
    ast.Match: ("match statements aren't supported", "Write if and elif"),
}


class Statements(Raising):
    """Reads statements."""

    def annotations(self) -> Annotations:
        """Return what reads annotations in the function that is compiled."""
        return Annotations(self.place.source, self.place.around)

    def statements(self, body: list[ast.stmt]) -> Flow:
        """Read statements in order, and say how they end."""
        for i, one in enumerate(body):
            rest = body[i + 1 :]
            if isinstance(one, ast.If) and rest and self.place.depth < _DEEPEST:
                # What follows a branch that leaves belongs to the other one, where more is known.
                if leaves(one.body):
                    return self._if(one, one.body, [*one.orelse, *rest])
                if leaves(one.orelse):
                    return self._if(one, [*one.body, *rest], one.orelse)
            flow = self.statement(one)
            if flow in (Flow.LEAVES, Flow.DIES):
                return flow
            if flow is Flow.MAY_LEAVE:
                return self._where_it_stayed(rest) if rest else flow
        return Flow.FALLS

    def _where_it_stayed(self, rest: list[ast.stmt]) -> Flow:
        """Read what runs only where the statements before it did not leave."""

        def write() -> Flow:
            for name in (LEFT, RETURNED, BROKE):
                self.set_flag(name, False)
            return self.statements(rest)

        return self.branch(self.flag(LEFT), lambda: Flow.LEAVES, write)

    def statement(self, tree: ast.stmt) -> Flow:
        """Read one statement."""
        before, self.tree = self.tree, tree
        if self.place.depth > _DEEPEST + 4:
            raise self.error(
                tree, "this is nested too deeply for a graph", "Move some of it into a function of its own"
            )
        try:
            return self._statement(tree)
        finally:
            self.tree = before

    def _statement(self, tree: ast.stmt) -> Flow:
        match tree:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self.expression(value)
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value)
            case ast.AnnAssign():
                self._annotated(tree)
            case ast.AugAssign():
                self._augmented(tree)
            case ast.If():
                return self._if(tree, tree.body, tree.orelse)
            case ast.For():
                return self.for_(tree)
            case ast.While():
                return self.while_(tree)
            case ast.Return(value=value):
                return self._return(tree, value)
            case ast.Break() | ast.Continue():
                self.set_flag(LEFT, True)
                if isinstance(tree, ast.Break):
                    self.set_flag(BROKE, True)
                return Flow.LEAVES
            case ast.Raise():
                return self._raise(tree)
            case ast.Assert(test=test, msg=message):
                return self._assert(tree, test, message)
            case ast.Delete(targets=targets):
                for one in targets:
                    self._delete(one)
            case ast.FunctionDef():
                self._function(tree)
            case ast.With():
                return self._with(tree)
            case _:
                why, fix = _REFUSED.get(type(tree), (f"{type(tree).__name__} cannot be scripted", ""))
                raise self.error(tree, why, fix)
        return Flow.FALLS

    # --------------------------------------------------------------------------------------- assignment

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        wanted = None
        if len(targets) == 1 and isinstance(targets[0], ast.Name):
            there = self.names.get(targets[0].id)
            # What a name was declared as counts for what is empty, too.
            wanted = there.declared if isinstance(there, Variable) else None
        elif isinstance(targets[0], ast.Attribute):
            wanted = self.target_kind(targets[0])
        elif isinstance(targets[0], ast.Subscript) and isinstance(targets[0].value, ast.Name):
            wanted = self._kind_of_items(targets[0].value.id)
        thing = self.expression(value, wanted)
        for one in targets:
            self.bind(one, thing)

    def _kind_of_items(self, name: str) -> Type | None:
        """Return the type of what stands in a list or a dict: what is empty and is put there is of that type."""
        there = self.names.get(name)
        kind = there.item.kind if isinstance(there, Variable) and isinstance(there.item, Item) else None
        return kind.value if isinstance(kind, DictType) else kind.item if isinstance(kind, ListType) else None

    def target_kind(self, target: ast.Attribute) -> Type | None:
        """Return the type of an attribute that is assigned to, where it has one."""
        owner = self.expression(target.value)
        return self.kind_of_attribute(owner, target.attr)

    def kind_of_attribute(self, owner: Any, name: str) -> Type | None:
        """Return the declared type of an attribute of a module or an object."""
        raise NotImplementedError  # pragma: no cover

    def set_attribute(self, owner: Any, name: str, thing: Any, tree: ast.AST) -> None:
        """Assign to an attribute."""
        raise NotImplementedError  # pragma: no cover

    def bind(self, target: ast.expr, thing: Any) -> None:
        """Assign a thing to a target."""
        match target:
            case ast.Name(id=name):
                there = self.names.get(name)
                declared = there.declared if isinstance(there, Variable) else None
                if isinstance(thing, Item) and declared is not None and fits(declared, thing.kind):
                    self.assign(name, thing, declared)
                elif not isinstance(thing, Item):
                    known = self.constant_of(thing.value) if hasattr(thing, "value") else None
                    self.assign(name, known if known is not None else thing)
                else:
                    self.assign(name, thing)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(target, targets, thing)
            case ast.Subscript(value=owner, slice=index):
                self._set_item(target, self.value(owner), index, self.as_item(thing, target))
            case ast.Attribute(value=owner, attr=name):
                self.set_attribute(self.expression(owner), name, thing, target)
            case _:
                raise self.error(target, "this cannot be assigned to")

    def _unpack(self, target: ast.expr, targets: list[ast.expr], thing: Any) -> None:
        if isinstance(thing, Item) and not isinstance(thing.kind, TupleType | RecordKind):
            things: list[Any] = self._unpack_run(target, targets, thing)
        else:
            things = self.things_of(thing, target)
        stars = [i for i, one in enumerate(targets) if isinstance(one, ast.Starred)]
        if stars and len(things) >= len(targets) - 1:
            place, more = stars[0], len(things) - len(targets) + 1
            items = [self.as_item(one, target) for one in things[place : place + more]]
            things[place : place + more] = [self.new_list(items, None, target)]
            targets = [one.value if isinstance(one, ast.Starred) else one for one in targets]
        if len(things) != len(targets):
            raise self.error(target, f"{len(things)} values are unpacked into {len(targets)} names")
        for one, part in zip(targets, things, strict=True):
            self.bind(one, part)

    def _unpack_run(self, target: ast.expr, targets: list[ast.expr], item: Item) -> list[Any]:
        """Unpack a list or a tensor, whose length only a run knows."""
        self.refuse_none(item, target, "unpacking")
        if not (isinstance(item.kind, ListType) or item.kind == TENSOR):
            raise self.error(target, f"a {shown(item.kind)} cannot be unpacked")
        if any(isinstance(one, ast.Starred) for one in targets):
            raise self.error(
                target, "*name cannot take the rest of a list", "Write a slice: rest = items[1:]"
            )
        count = self.emit("builtins.len", (item.operand,), INT).operand
        other = self.emit("operator.ne", (count, len(targets)), BOOL).operand
        message = f"not as many values to unpack as there are names (expected {len(targets)})"
        self.branch(other, lambda: self.thrown("ValueError", message), lambda: Flow.FALLS)
        kind = item.kind.item if isinstance(item.kind, ListType) else TENSOR
        return [self.emit("operator.getitem", (item.operand, i), kind) for i in range(len(targets))]

    def _set_item(self, tree: ast.expr, owner: Item, index: ast.expr, item: Item) -> None:
        self.refuse_none(owner, tree, "a subscript")
        if isinstance(owner.kind, TupleType | RecordKind) or owner.kind == TEXT:
            raise self.error(
                tree, f"'{shown(owner.kind)}' object does not support item assignment", "Make a new one"
            )
        if isinstance(owner.kind, ObjectKind):
            self.magic(owner, "__setitem__", (self.value(index), item), tree)
            return
        operand = self.index(index)
        if isinstance(owner.kind, ListType) and not isinstance(operand, slice):
            item = self.coerced(item, owner.kind.item, tree, "an item of the list")
        elif isinstance(owner.kind, DictType):
            item = self.coerced(item, owner.kind.value, tree, "a value of the dict")
        self.emit("operator.setitem", (owner.operand, operand, item.operand), NONE)

    def _annotated(self, tree: ast.AnnAssign) -> None:
        kind = self.annotations().kind(tree.annotation)
        if tree.value is None:
            raise self.error(tree, "a type without a value", "Give it a value: name: type = …")
        item = self.coerced(self.value(tree.value, kind), kind, tree.value, f"{ast.unparse(tree.target)}")
        if isinstance(tree.target, ast.Name):
            self.assign(tree.target.id, item, kind)
        else:
            self.bind(tree.target, item)

    def _augmented(self, tree: ast.AugAssign) -> None:
        name = _BINARY[type(tree.op)]
        match tree.target:
            case ast.Subscript(value=owner, slice=index):
                container = self.value(owner)
                operand = self.index(index)
                kind = self._kind_at(container, operand, index)
                old = self.emit("operator.getitem", (container.operand, operand), kind)
                new = self._changed(tree, name, old, self.value(tree.value))
                self.emit("operator.setitem", (container.operand, operand, new.operand), NONE)
            case ast.Attribute(value=owner, attr=attr):
                thing = self.expression(owner)
                old = self.as_item(self.attribute(thing, attr, tree.target), tree.target)
                new = self._changed(tree, name, old, self.value(tree.value))
                self.set_attribute(thing, attr, new, tree.target)
            case _:
                old = self.value(tree.target)
                self.bind(tree.target, self._changed(tree, name, old, self.value(tree.value)))

    def _kind_at(self, container: Item, operand: Any, tree: ast.AST) -> Type:
        if isinstance(container.kind, ListType):
            return container.kind if isinstance(operand, slice) else container.kind.item
        if isinstance(container.kind, DictType):
            return container.kind.value
        if container.kind == TENSOR:
            return TENSOR
        raise self.error(tree, f"an item of {shown(container.kind)} cannot be changed")

    def _changed(self, tree: ast.AugAssign, name: str, old: Item, other: Item) -> Item:
        """Return what ``old += other`` gives: a tensor and a list are changed where they are."""
        if old.kind == TENSOR and other.kind != NONE:
            self.refuse_none(other, tree, "an operator")
            return self.emit(f"operator.i{name.strip('_')}", (old.operand, other.operand), TENSOR)
        if isinstance(old.kind, ListType) and name == "add":
            other = self.coerced(other, old.kind, tree, "what is added to the list")
            return self.emit("operator.iadd", (old.operand, other.operand), old.kind)
        return self.operated(tree, name, old, other)

    def _delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.value(target)
                self.names.pop(name)
            case ast.Subscript(value=owner, slice=index):
                self.emit("operator.delitem", (self.value(owner).operand, self.index(index)), NONE)
            case _:
                raise self.error(target, "an attribute cannot be deleted in a script", "Set it to None")

    # ------------------------------------------------------------------------------------------ leaving

    def _if(self, tree: ast.If, body: list[ast.stmt], orelse: list[ast.stmt]) -> Flow:
        before, self.tree = self.tree, tree.test
        try:
            condition, holds, fails = self.condition(tree.test)

            def side(part: list[ast.stmt], known: dict[str, Type]) -> Callable[[], Flow]:
                def write() -> Flow:
                    self.refine(known)
                    return self.statements(part)

                return write

            return self.branch(condition, side(body, holds), side(orelse, fails))
        finally:
            self.tree = before

    def _return(self, tree: ast.Return, value: ast.expr | None) -> Flow:
        wanted = self.place.result
        item = Item(None, NONE) if value is None else self.value(value, wanted)
        if wanted is None:
            self.place.result = wanted = item.kind
        if not fits(wanted, item.kind):
            raise self.error(
                tree, f"Previous return statement returned, or the annotation says, a value of type {shown(wanted)}, "
                f"and this return statement returns a value of type {shown(item.kind)}",
                "Annotate the result with a type that both are, such as Optional[…]",
            )  # fmt: skip
        item = self.coerced(item, wanted, tree, "the result")
        self.assign(RESULT, item)
        self.set_flag(RETURNED, True)
        self.set_flag(LEFT, True)
        return Flow.LEAVES

    # --------------------------------------------------------------------------------------- the others

    def _function(self, tree: ast.FunctionDef) -> None:
        if tree.decorator_list:
            raise self.error(tree, "a function inside of a function takes no decorator", "Write it above")
        self.assign(tree.name, Nested(tree, self.place.source, self.place.around, self.place))

    def _with(self, tree: ast.With) -> Flow:
        if len(tree.items) == 1 and self._is_no_grad(tree.items[0].context_expr):
            return self._without_gradients(tree)
        raise self.error(
            tree,
            "with statements aren't supported, but for `with no_grad():`",
            "Put it around the call of what is scripted: with wb.no_grad(): f(x)",
        )

    def _is_no_grad(self, tree: ast.expr) -> bool:
        if not isinstance(tree, ast.Call) or tree.args or tree.keywords:
            return False
        try:
            return static(tree.func, self.place.around) is no_grad
        except LookupError:
            return False

    def _without_gradients(self, tree: ast.With) -> Flow:
        """Read ``with no_grad():``: each tensor that is computed in the block is cut off, as by ``detach``."""
        outer, mark = self.place.no_grad, len(self.block.nodes)
        self.place.no_grad = True
        try:
            flow = self.statements(tree.body)
        finally:
            self.place.no_grad = outer
        for one in self.block.nodes[mark:]:
            if any(TENSOR.accepts(value.type) for value in one.writes):
                raise self.error(
                    tree,
                    "what is changed in place under no_grad() would have gradients in a graph",
                    "Compute a new tensor, or put it around the call of what is scripted",
                )
        return flow
