"""Writing a graph anew, node by node: what passes are made of that put several nodes, or none, in the place of one.

Types, sizes and guards are not carried over but follow again from the rules, so that what a pass learns of a value
reaches all that is computed of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from workbench.base.size_expressions import Expression, Size, Symbol, evaluate
from workbench.base.size_formulas import Formula
from workbench.base.size_guards import Guard, SizeScope
from workbench.graph import symbols
from workbench.graph.blocks import Block, GraphError, Node, SubGraph, Value, filled
from workbench.graph.ir import Graph
from workbench.graph.rules import results
from workbench.graph.types import TensorType, Type

__all__ = ["Rewriter"]


class _Source:
    """What is read: a function of the old graph, and what its values and sizes are in the new one."""

    def __init__(self, function: SubGraph) -> None:
        self.known: dict[Value, Any] = {}
        self.sizes: dict[Symbol, Size] = {}
        self.due = symbols.due(function)

    def put(self, size: Any) -> Any:
        """Return a size of the old function, or a formula of sizes, in sizes of the new one."""
        if isinstance(size, Formula):
            return size.over(self.put)
        # All at once: in two functions two sizes may have one name.
        return evaluate(size, _Renamed(self.sizes)) if isinstance(size, Expression) else size


class _Renamed(Mapping[Symbol, Size]):
    """What symbols are now; one of which nothing is said is itself."""

    def __init__(self, sizes: Mapping[Symbol, Size]) -> None:
        self._sizes = sizes

    def __getitem__(self, symbol: Symbol) -> Size:
        return self._sizes[symbol] if symbol in self._sizes else Expression.of(symbol)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)


class Rewriter:
    """Writes a graph anew. A subclass says what stands in the place of a call; by itself it is the call again.

    >>> import workbench as wb
    >>> class Doubled(Rewriter):
    ...     def call(self, node, inputs, params):
    ...         made = super().call(node, inputs, params)
    ...         return self.insert(wb.core.ops.mul, (made[0], 2), like=node) if node.op is wb.core.ops.exp else made
    >>> graph = wb.graph.trace(lambda x: x.exp().sum(), wb.zeros(3))
    >>> print(Doubled(graph).rewritten())
    graph(%x : f32[·:3]):
      %exp : f32[·:3] = exp(%x)  # ...
      %mul : f32[·:3] = mul(%exp, 2)  # ...
      %sum : f32[] = sum(%mul, dim=(0,), keepdim=False)  # ...
      return %sum
    """

    writes_functions = True
    """False where a function of the graph is written only if a call of it is."""

    def __init__(self, graph: Graph) -> None:
        self.old = graph
        self.graph = Graph(
            name=graph.name,
            single=graph.single,
            kind=graph.kind,
            modules=dict(graph.modules),
            held_functions=dict(graph.held_functions),
        )
        # What was ever taken stays taken: a name means one value in all steps of a run of passes.
        self.graph._names = dict(graph._names)
        self._functions: dict[SubGraph, SubGraph] = {}
        self._taken: set[str] = set()
        self._source: _Source
        self._into: Block
        self.sizes: SizeScope
        """What is known of the sizes of the function that is being written."""

    def rewritten(self) -> Graph:
        """Return the new graph; the old one stays as it is."""
        old, new = self.old, self.graph
        for function in old.functions.values() if self.writes_functions else ():
            self.function(function)
        with self._writing(old, new):
            for name in ("parameters", "constants"):
                held = {self._twin(value): tensor for value, tensor in getattr(old, name).items()}
                setattr(new, name, held)
            new.seeds = [self._twin(value) for value in old.seeds]
            known = self._source.known
            new.noise = {known[value]: one.over(self._source.put) for value, one in old.noise.items()}
            self.fill(old, new)
            new.updates = {known[value]: known[one] for value, one in old.updates.items()}
            new.takes = filled(old.takes, known.__getitem__)
        return new

    def function(self, old: SubGraph) -> SubGraph:
        """Return the function of the new graph that an old one has become."""
        if old not in self._functions:
            new = self._functions[old] = SubGraph(name=old.name, single=old.single, kind=old.kind)
            with self._writing(old, new):
                self.fill(old, new)
            self.graph.functions[new.name] = new
        return self._functions[old]

    @contextmanager
    def _writing(self, old: SubGraph, new: SubGraph) -> Iterator[None]:
        """Write a function, whose values, names and sizes are its own."""
        around = getattr(self, "_source", None), getattr(self, "_into", None), getattr(self, "sizes", None)
        taken, self._taken = self._taken, set()
        with SizeScope() as sizes:
            self._source, self._into, self.sizes = _Source(old), new, sizes
            new.inputs = [self._twin(value) for value in old.inputs]
            yield
        self.graph._settle(new, sizes)
        self._taken = taken
        self._source, self._into, self.sizes = around  # type: ignore[assignment]

    # -------------------------------------------------------------------------- what passes are written with

    def call(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> Sequence[Any]:
        """Return what stands for the results of `node`, given its operands in the new graph: values or literals."""
        return self.again(node, inputs, params)

    def again(self, node: Node, inputs: tuple[Any, ...], params: dict[str, Any]) -> tuple[Value, ...]:
        """Make the same call in the new graph; its blocks are written anew as well."""
        callee = self.function(node.callee) if isinstance(node.callee, SubGraph) else node.callee
        blocks = tuple(self._block(one) for one in node.blocks)
        writes = filled(node.writes, self._source.known.__getitem__)
        names = [value.name for value in node.outputs]
        promised = tuple(value.type for value in node.outputs)
        return self.insert(
            callee, inputs, params, like=node, blocks=blocks, writes=writes, names=names, types=promised
        )

    def insert(
        self,
        callee: Any,
        inputs: tuple[Any, ...],
        params: dict[str, Any] | None = None,
        *,
        like: Node,
        blocks: tuple[Block, ...] = (),
        writes: tuple[Value, ...] = (),
        names: Sequence[str] = (),
        types: tuple[Type, ...] = (),
    ) -> tuple[Value, ...]:
        """Add a call at the place that is being written, and return what it gives.

        `types` are promised where no rule says them. Raises what the rules raise.
        """
        node = Node(callee, inputs, params or {}, (), like.scope, like.source, blocks, writes)
        found = results(node, self.sizes)
        kinds = types if found is None else found
        base = list(names) if len(names) == len(kinds) else [like.name] * len(kinds)
        if not names and node.op is not None:
            base = [node.op.name] * len(kinds)
        node.outputs = tuple(
            Value(self._name(name), kind, node) for name, kind in zip(base, kinds, strict=True)
        )
        symbols.tell(node, self.sizes)
        self._into.nodes.append(node)
        return node.outputs

    def place(
        self, block: Block, operands: Sequence[Any], function: SubGraph | None = None
    ) -> tuple[Any, ...]:
        """Put what a block of the old graph does in the place of a call, and return what it gives.

        Of a `function` of the graph `operands` are what it is given.
        """
        outer = self._source
        if function is not None:
            self._source = _Source(function)
        try:
            for value, operand in zip(block.inputs, operands, strict=True):
                self._bind(value, operand)
            for node in block.nodes:
                self._write(node)
            found: tuple[Any, ...] = self._operand(block.outputs)
        finally:
            self._source = outer
        return found

    def fill(self, old: Block, new: Block) -> None:
        """Write the nodes of a block, and what it gives, into another."""
        around, self._into = self._into, new
        for node in old.nodes:
            self._write(node)
        new.outputs = self._operand(old.outputs)
        self._into = around

    # ------------------------------------------------------------------------------------------------- parts

    def _block(self, old: Block) -> Block:
        new = Block()
        new.inputs = [self._twin(value, later=True) for value in old.inputs]
        self.fill(old, new)
        return new

    def _write(self, node: Node) -> None:
        inputs, params = self._operand(node.inputs), self._operand(node.params)
        for value, operand in zip(node.outputs, self.call(node, inputs, params), strict=True):
            self._bind(value, operand)

    def _operand(self, operand: Any) -> Any:
        return filled(operand, self._source.known.__getitem__, self._source.put)

    def _name(self, name: str) -> str:
        """Return a name for a new value: the one that it had, unless somebody has it already."""
        found = self.graph.fresh(name) if name in self._taken else name
        self._taken.add(found)
        self.graph._names.setdefault(found, 1)
        return found

    def _twin(self, value: Value, later: bool = False) -> Value:
        """Return a new value for what a function, a block or the graph is given."""
        name = self._name(value.name)
        # Under another name its sizes are called otherwise, too.
        kind = symbols.own(name, value.type) if later else value.type
        made = Value(name, kind)
        self._bind(value, made)
        return made

    def _bind(self, value: Value, operand: Any) -> None:
        """Take in what stands for a value, and what its sizes are by that; ask the guards that can be asked now."""
        source = self._source
        source.known[value] = operand
        if isinstance(value.type, TensorType):
            kind = operand.type if isinstance(operand, Value) else None
            for old, new in zip(
                value.type.sizes, kind.sizes if isinstance(kind, TensorType) else (), strict=False
            ):
                symbol = symbols.bare(old)
                if symbol is not None and symbol not in source.sizes:
                    source.sizes[symbol] = self.sizes.settle(new)
        for guard in source.due.get(value, ()):
            self._guard(guard.over(source.put))

    def _guard(self, guard: Guard) -> None:
        """Take over a guard."""
        if not guard.holds({one: one.hint for one in guard.symbols()}):
            raise GraphError(f"the guard {guard} does not hold for the sizes that the graph is written for")
        guard = guard.over(self.sizes.settle)
        # Two sizes that were known apart may be one by now, and there is nothing to ask.
        if guard.left == guard.right:
            return
        if any(True for _ in guard.symbols()) and not any(guard.says(one) for one in self.sizes.guards):
            self.sizes.take(guard)
