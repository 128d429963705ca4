"""Loops, and comprehensions, which are loops."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.graph import Block, Control, Value
from workbench.graph.types import (
    ANY,
    BOOL,
    INT,
    NEVER,
    NONE,
    TENSOR,
    TEXT,
    DictType,
    ListType,
    TupleType,
    Type,
)
from workbench.jit.kinds import Item, RecordKind, fits, joined, lowered, optional, shown
from workbench.jit.scripting.builder import BROKE, LEFT, RESULT, RETURNED, Flow, Undefined, Variable
from workbench.jit.scripting.expressions import Expressions
from workbench.jit.scripting.names import assigned_in
from workbench.jit.scripting.things import Known, Many, Part

__all__ = ["Loops", "Turns"]


class _Wider(Exception):
    """A name needs its declared type in a loop."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass
class Turns:
    """What a loop goes over."""

    count: Any
    """How many turns there are, an operand; for a list, which may grow while the loop goes over it, the list."""
    item: Callable[[Any], Any]
    """What the turn of a number is given."""
    grows: tuple[Any, ...] = ()
    """Lists whose length is asked before each turn."""


class Loops(Expressions):
    """Reads loops."""

    @abstractmethod
    def statements(self, body: list[ast.stmt]) -> Flow:
        """Read statements in order."""

    @abstractmethod
    def bind(self, target: ast.expr, thing: Any) -> None:
        """Assign to a target."""

    @abstractmethod
    def part_items(self, part: Part, tree: ast.AST) -> Any:
        """Return what a loop over a list or dict of modules goes over."""

    # -------------------------------------------------------------------------------------------- turns

    def turns_of(self, thing: Any, tree: ast.AST) -> Turns | list[Any]:
        """Return what a loop over a thing goes over: things that are known now, or turns of a run."""
        if isinstance(thing, Turns):
            return thing
        if isinstance(thing, Many):
            return list(thing.things)
        if isinstance(thing, Part):
            return list(self.part_items(thing, tree).things)
        if isinstance(thing, Known) and isinstance(thing.value, type) and hasattr(thing.value, "__members__"):
            return [self.member(one) for one in thing.value.__members__.values()]
        item = self.as_item(thing, tree)
        self.refuse_none(item, tree, "a loop")
        kind = item.kind
        if isinstance(kind, TupleType | RecordKind):
            return list(self.items_of(item, tree))
        if isinstance(kind, ListType):
            return Turns(None, lambda turn: self._at(item, turn, kind.item), (item.operand,))
        if isinstance(kind, DictType):
            keys = self.emit("builtins.list", (item.operand,), ListType(kind.key))
            return Turns(self._length(keys), lambda turn: self._at(keys, turn, kind.key))
        if kind in (TENSOR, TEXT):
            return Turns(self._length(item), lambda turn: self._at(item, turn, kind))
        raise self.error(
            tree,
            f"'{shown(kind)}' object is not iterable",
            "Write a range, a list, a tuple, a dict or a tensor",
        )

    def _at(self, item: Item, turn: Any, kind: Type) -> Item:
        return self.emit("operator.getitem", (item.operand, turn), kind)

    def _length(self, item: Item) -> Any:
        return self.emit("builtins.len", (item.operand,), INT).operand

    def range_of(self, items: list[Item], tree: ast.AST) -> Turns:
        """Return the turns of a ``range``."""
        for one in items:
            self.coerced(one, INT, tree, "a number of range")
        operands = tuple(one.operand for one in items)
        if len(operands) == 1:
            return Turns(operands[0], lambda turn: Item(turn, INT))
        whole = self.emit("builtins.range", operands, ANY)
        return Turns(self._length(whole), lambda turn: self._at(whole, turn, INT))

    def enumerated(self, thing: Any, start: Item, tree: ast.AST) -> Turns | Many:
        """Return the turns of an ``enumerate``."""
        turns = self.turns_of(thing, tree)
        if isinstance(turns, list):
            return Many(tuple(Many((self._counted(Item(i, INT), start), one)) for i, one in enumerate(turns)))
        return Turns(
            turns.count,
            lambda turn: Many((self._counted(Item(turn, INT), start), turns.item(turn))),
            turns.grows,
        )

    def _counted(self, turn: Item, start: Item) -> Item:
        if start.operand == 0 and isinstance(start.operand, int):
            return turn
        if isinstance(turn.operand, int) and isinstance(start.operand, int):
            return Item(turn.operand + start.operand, INT)
        return self.emit("operator.add", (start.operand, turn.operand), INT)

    def zipped(self, things: list[Any], tree: ast.AST) -> Turns | Many:
        """Return the turns of a ``zip``."""
        found = [self.turns_of(one, tree) for one in things]
        known = [one for one in found if isinstance(one, list)]
        if len(known) == len(found):
            return Many(tuple(Many(row) for row in zip(*known, strict=False)))
        if known:
            # Written out, as the items of a tuple may be of several types; the others must then have as many.
            fewest = min(map(len, known))
            if not all(isinstance(one, list) or one.grows for one in found):
                raise self.error(
                    tree,
                    "zip goes over tuples, or over what only a run knows the length of",
                    "Index with a range",
                )
            for one in found:
                if isinstance(one, Turns):
                    self._at_least(one.grows[0], fewest, tree)
            rows = [
                Many(tuple(one[i] if isinstance(one, list) else one.item(i) for one in found))
                for i in range(fewest)
            ]
            return Many(tuple(rows))
        turns = [one for one in found if isinstance(one, Turns)]
        counts = [one.count for one in turns if one.count is not None]
        count = counts[0] if len(counts) == 1 else None
        if len(counts) > 1:
            count = self.emit("builtins.min", tuple(counts), INT).operand
        grows = tuple(operand for one in turns for operand in one.grows)
        return Turns(count, lambda turn: Many(tuple(one.item(turn) for one in turns)), grows)

    def _at_least(self, operand: Any, count: int, tree: ast.AST) -> None:
        length = self.emit("builtins.len", (operand,), INT).operand
        short = self.emit("operator.lt", (length, count), BOOL).operand

        def refuse() -> Flow:
            message = f"zip: a list is shorter than the tuple of {count} beside it"
            self.emit("wb.graph.throw", ("ValueError", message), NONE)
            return Flow.DIES

        self.branch(short, refuse, lambda: Flow.FALLS)

    # -------------------------------------------------------------------------------------------- loops

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

    # ----------------------------------------------------------------------------------- comprehensions

    def comprehension(self, tree: ast.ListComp | ast.DictComp, wanted: Type | None) -> Item:
        """Read a comprehension: a list or dict that a loop fills."""
        outer = dict(self.names)
        listed = isinstance(tree, ast.ListComp)
        made = self.emit("list.copy" if listed else "dict.copy", ([] if listed else {},), ListType(NEVER))
        kinds: list[tuple[Type, ...]] = []

        def fill() -> None:
            if isinstance(tree, ast.ListComp):
                inner = wanted.item if isinstance(wanted, ListType) else None
                item = self.value(tree.elt, inner)
                kinds.append((item.kind,))
                self.emit("list.append", (made.operand, item.operand), NONE)
            else:
                key, value = self.value(tree.key), self.value(tree.value)
                kinds.append((key.kind, value.kind))
                self.emit("operator.setitem", (made.operand, key.operand, value.operand), NONE)

        self._generate(tree.generators, fill)
        found = [joined(column) for column in zip(*kinds, strict=True)] or [
            TENSOR if listed else TEXT,
            TENSOR,
        ]
        parts = [one for one in found if one is not None]
        if len(parts) != len(found):
            raise self.error(
                tree, "a comprehension gives items of one type, and here are several", "Write a tuple"
            )
        kind: Type = ListType(parts[0]) if listed else DictType(parts[0], parts[1])
        if wanted is not None and not kinds:
            kind = wanted
        made.operand.type = lowered(kind)
        self.names = outer
        return Item(made.operand, kind)

    def generated(self, tree: ast.GeneratorExp) -> Many:
        """Read a generator over what is known while compiling, such as the items of a tuple."""
        outer, found = dict(self.names), []
        first = tree.generators[0]
        turns = self.turns_of(self.expression(first.iter), first.iter)
        if not isinstance(turns, list) or len(tree.generators) > 1 or first.ifs:
            raise self.error(tree, "generators aren't supported", "Write a list: [… for …]")
        for one in turns:
            self.bind(first.target, one)
            found.append(self.expression(tree.elt))
        self.names = outer
        return Many(tuple(found))

    def _generate(self, generators: list[ast.comprehension], fill: Callable[[], None]) -> None:
        if not generators:
            fill()
            return
        first, *rest = generators
        turns = self.turns_of(self.expression(first.iter), first.iter)

        def turn_of(thing: Any) -> Flow:
            self.bind(first.target, thing)
            return self._filtered(first.ifs, lambda: self._generate(rest, fill))

        if isinstance(turns, list):
            for one in turns:
                turn_of(one)
            return
        turn = Value(self.fresh("turn"), INT)
        goes: list[Any] = []

        def write() -> Flow:
            flow = turn_of(turns.item(turn))
            following = self.emit("operator.add", (turn, 1), INT).operand if turns.grows else None
            goes.append(self._goes_on(turns, following) if turns.grows else True)
            return flow

        start = self._goes_on(turns, 0) if turns.grows else True
        block, _, _ = self.enclosed(write, [turn])
        block.outputs = (goes[0],)
        self._finish(turns.count, start, block, [], {}, {}, [])

    def _filtered(self, tests: list[ast.expr], fill: Callable[[], None]) -> Flow:
        if not tests:
            fill()
            return Flow.FALLS
        condition, holds, _ = self.condition(tests[0])

        def write() -> Flow:
            self.refine(holds)
            return self._filtered(tests[1:], fill)

        return self.branch(condition, write, lambda: Flow.FALLS)
