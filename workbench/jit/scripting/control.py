"""Loops of a script."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from workbench.graph import Block, Control, Value
from workbench.graph.types import (
    BOOL,
    INT,
    NONE,
    Type,
)
from workbench.jit.kinds import Item, fits, joined, lowered, optional, shown
from workbench.jit.scripting.builder import BROKE, LEFT, RESULT, RETURNED, Flow, Undefined, Variable
from workbench.jit.scripting.names import assigned_in
from workbench.jit.scripting.turns import Turns, TurnsOf

__all__ = ["Loops"]


class _Wider(Exception):
    """A name needs its declared type in a loop."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Loops(TurnsOf):
    """Reads loops."""

    @abstractmethod
    def statements(self, body: list[ast.stmt]) -> Flow:
        """Read statements in order."""

    @abstractmethod
    def bind(self, target: ast.expr, thing: Any) -> None:
        """Assign to a target."""

    def for_(self, tree: ast.For) -> Flow:
        """Read a ``for``."""
        turns = self.turns_of(self.expression(tree.iter), tree.iter)
        if isinstance(turns, list):
            return self._unrolled(tree, turns)

        def begin(turn: Any) -> None:
            self.bind(tree.target, turns.item(turn))

        names = assigned_in([tree.target, *tree.body])
        return self._loop(tree, names, turns, begin, None, tree.body)

    def while_(self, tree: ast.While) -> Flow:
        """Read a ``while``."""
        return self._loop(tree, assigned_in(tree.body), None, lambda turn: None, tree.test, tree.body)

    def _unrolled(self, tree: ast.For, things: list[Any]) -> Flow:
        """Write the body once for each thing; `break` leaves those that follow out."""
        before = {name: self.names.get(name) for name in (BROKE, LEFT)}
        self.set_flag(BROKE, False)

        def from_(place: int) -> Flow:
            if place == len(things):
                return Flow.FALLS
            self.set_flag(LEFT, False)
            self.bind(tree.target, things[place])
            flow = self.statements(tree.body)
            if flow is Flow.DIES:
                return flow
            stop = self._stops(flow)
            if stop is False:
                return from_(place + 1)
            return self.branch(stop, lambda: Flow.FALLS, lambda: from_(place + 1))

        flow = from_(0)
        for name, old in before.items():
            self.names.pop(name, None)
            if old is not None:
                self.names[name] = old
        return flow if flow is Flow.DIES else self._after()

    def _after(self) -> Flow:
        """Say how a loop ends: where it may have returned, what follows is left out then."""
        returned = self.flag(RETURNED)
        if returned is False:
            return Flow.FALLS
        self.set_flag(LEFT, returned)
        return Flow.LEAVES if returned is True else Flow.MAY_LEAVE

    def _stops(self, flow: Flow) -> Any:
        """Return the operand that says whether a loop ends after this turn."""
        broke, returned = self.flag(BROKE), self.flag(RETURNED)
        if broke is True or returned is True:
            return True
        if broke is False or returned is False:
            return returned if broke is False else broke
        return self.emit("operator.or_", (broke, returned), BOOL).operand

    def _loop(
        self,
        tree: ast.For | ast.While,
        names: list[str],
        turns: Turns | None,
        begin: Callable[[Any], None],
        test: ast.expr | None,
        body: list[ast.stmt],
    ) -> Flow:
        wide: set[str] = set()
        while True:
            mark, outer = len(self.block.nodes), dict(self.names)
            try:
                return self._turning(tree, names, turns, begin, test, body, wide)
            except _Wider as found:
                # With the type that it was declared with: a turn gives it something else than what it is now.
                wide.add(found.name)
                del self.block.nodes[mark:]
                self.names = outer

    def _turning(
        self,
        tree: ast.For | ast.While,
        names: list[str],
        turns: Turns | None,
        begin: Callable[[Any], None],
        test: ast.expr | None,
        body: list[ast.stmt],
        wide: set[str],
    ) -> Flow:
        """Write a loop; the names in `wide` have the types that they were declared with."""
        if tree.orelse:
            raise self.error(
                tree.orelse[0],
                "else branches of loops aren't supported",
                "Set a name before `break`, and ask it",
            )
        returns = any(isinstance(one, ast.Return) for statement in body for one in ast.walk(statement))
        if returns and self.place.result is None:
            self._learn_result(begin, body, turns)
        carried = self._carried_names(names, returns)
        start: Any = True
        if test is not None:
            start = self.condition(test)[0]
        elif turns is not None and turns.grows:
            start = self._goes_on(turns, 0)
        most = turns.count if turns is not None else None
        befores = {name: self._before(name, name in wide) for name in carried}
        inputs = {name: self._input(name, name in wide) for name in carried}
        turn = Value(self.fresh("turn"), INT)

        def write() -> Flow:
            self.place.loops += 1
            try:
                for name, variable in inputs.items():
                    self.names[name] = variable
                self.set_flag(BROKE, False)
                self.set_flag(LEFT, False)
                begin(turn)
                if test is not None:
                    self.refine(self._known(test))
                flow = self.statements(body)
                stop = True if flow is Flow.DIES else self._stops(flow)
                self._next(stop, turn, turns, test)
                return flow
            finally:
                self.place.loops -= 1

        values = [variable.item.operand for variable in inputs.values()]
        block, after, _ = self.enclosed(write, [turn, *values])
        condition = after["$condition"]
        assert isinstance(condition, Variable)
        outputs = [self._output(tree, name, inputs[name], after, block) for name in carried]
        block.outputs = (condition.item.operand, *outputs)
        self._finish(most, start, block, carried, befores, inputs, names)
        return self._after() if returns else Flow.FALLS

    def _known(self, test: ast.expr) -> dict[str, Type]:
        """Return what a loop's condition says of names, in a turn."""
        mark, names = len(self.block.nodes), dict(self.names)
        try:
            return self.condition(test)[1]
        finally:
            # Asked for what it says only: the condition itself stands at the end of the turn before.
            del self.block.nodes[mark:]
            self.names = names

    def _learn_result(self, begin: Callable[[Any], None], body: list[ast.stmt], turns: Turns | None) -> None:
        """Compile the body for the type that it returns, and drop what that wrote."""

        def write() -> Flow:
            self.set_flag(BROKE, False)
            self.set_flag(LEFT, False)
            begin(Value(self.fresh("turn"), INT))
            return self.statements(body)

        self.enclosed(write)

    def _carried_names(self, names: list[str], returns: bool) -> list[str]:
        """Return the names that a loop gives other values, of those that have one before it."""
        found = []
        for name in names:
            there = self.names.get(name)
            if isinstance(there, Variable) and isinstance(there.item, Item):
                found.append(name)
        return [*found, *((RETURNED, RESULT) if returns else ())]

    def _before(self, name: str, wide: bool) -> Any:
        there = self.names.get(name)
        if not isinstance(there, Variable):
            return False if name == RETURNED else None
        kind = (there.declared if wide else None) or there.item.kind
        operand = there.item.operand
        return operand if name[0] == "$" else self.narrow(Item(operand, kind)).operand

    def _input(self, name: str, wide: bool) -> Variable:
        there = self.names.get(name)
        if name == RETURNED:
            return Variable(Item(Value(self.fresh("returned"), BOOL), BOOL))
        if name == RESULT:
            kind = self.place.result or NONE
            return Variable(Item(Value(self.fresh("result"), optional(lowered(kind))), kind))
        assert isinstance(there, Variable)
        return self.carried(name, there, wide)

    def _next(self, stop: Any, turn: Value, turns: Turns | None, test: ast.expr | None) -> None:
        """Write the condition for the next turn, at the end of one."""

        def ask() -> Item:
            if test is not None:
                return Item(self.condition(test)[0], BOOL)
            if turns is not None and turns.grows:
                following = self.emit("operator.add", (turn, 1), INT).operand
                return Item(self._goes_on(turns, following), BOOL)
            return Item(True, BOOL)

        if test is None and (turns is None or not turns.grows):
            found = Item(True if stop is False else self._not(stop).operand, BOOL)
        else:
            found = self.chosen(ast.Pass(), stop, lambda: Item(False, BOOL), ask)
        self.assign("$condition", found)

    def _goes_on(self, turns: Turns, turn: Any) -> Any:
        """Return whether all lists that a loop goes over have an item for a turn."""
        found: Any = None
        for operand in turns.grows:
            length = self.emit("builtins.len", (operand,), INT).operand
            one = self.emit("operator.lt", (turn, length), BOOL).operand
            found = one if found is None else self.emit("operator.and_", (found, one), BOOL).operand
        return found

    def _output(
        self, tree: ast.AST, name: str, given: Variable, after: dict[str, Variable | Undefined], block: Block
    ) -> Any:
        """Return the operand that a turn hands on under a name."""
        there = after.get(name)
        wanted = given.item.kind
        if name[0] == "$":
            return there.item.operand if isinstance(there, Variable) else None
        if not isinstance(there, Variable):
            raise self.error(tree, f"{there.why if there else name + ' is deleted'}, and the loop goes on with it",
                             f"Let {name} be of one type in all of the loop")  # fmt: skip
        if not (isinstance(there.item, Item) and fits(wanted, there.item.kind)):
            if given.declared is not None and wanted != given.declared:
                raise _Wider(name)
            found = shown(there.item.kind) if isinstance(there.item, Item) else "no value"
            kind = joined((wanted, there.item.kind)) if isinstance(there.item, Item) else None
            raise self.error(
                tree, f"Variable '{name}' previously had type {shown(wanted)} but is now being assigned to a value of "
                f"type {found}",
                f"Annotate it before the loop: {name}: {shown(kind)} = …" if kind else
                f"Give {name} a value of the type {found} before the loop",
            )  # fmt: skip
        return self._narrowed_in(block, Item(there.item.operand, wanted)).operand

    def _finish(
        self,
        most: Any,
        start: Any,
        block: Block,
        carried: list[str],
        befores: dict[str, Any],
        inputs: dict[str, Variable],
        names: list[str],
    ) -> None:
        """Add the loop, and let names stand for what it gives."""
        types = tuple(inputs[name].item.operand.type for name in carried)
        operands = [most, start, *befores.values()]
        if not carried:
            # A node gives something: where nothing is carried on, that is None.
            block.inputs.append(Value(self.fresh("nothing"), NONE))
            block.outputs = (*block.outputs, None)
            types, operands = (NONE,), [*operands, None]
        made = self.control(Control.LOOP, tuple(operands), (block,), types)
        for name, value in zip(carried, made, strict=False):
            self.names[name] = Variable(Item(value, inputs[name].item.kind), inputs[name].declared)
        for name in names:
            if name not in carried and not isinstance(self.names.get(name), Variable):
                self.names[name] = Undefined(
                    f"{name} is not defined before the loop, whose body may never run"
                )
