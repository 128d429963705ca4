"""The Op record: everything the workbench knows of one op, in one place.

An op is declared once, in `workbench.ops`. Whatever works on ops (eager evaluation, the tape, tracing,
quantization, cost models, documentation, the tests) is an interpreter that reads these records and keeps no
list of ops of its own. A rule that does not exist is `Absent` and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench import kernels
from workbench.base.dims import Dims
from workbench.core.absent import Absent
from workbench.core.bases import OpBase, eager
from workbench.core.contribution import Contribution
from workbench.core.contribution import derived as contribution_of
from workbench.core.quantization import UNSTATED, Quantization, derived

__all__ = ["Absent", "BadInput", "DTypeRule", "Op", "Sample", "Saves", "ops", "table"]


@dataclass(frozen=True)
class DTypeRule:
    """What the inputs are cast to, and the type of what comes out.

    `common` maps the promoted type of the inputs to the type they are cast to (None: they stay as they are);
    `result` maps that type and the op's parameters to the type of the output.
    """

    name: str
    common: Callable[[np.dtype[Any]], np.dtype[Any]] | None
    result: Callable[[np.dtype[Any], Mapping[str, Any]], Any]
    skip: int = 0
    """How many leading inputs (conditions, indices) have no part in it."""
    precise: bool = False
    """Whether single and double precision are refused together: what meets here was meant to be of one."""
    mixed: tuple[int, ...] = ()
    """Outputs that take the type of the first input where that is a 16-bit float beside float32, in which parameters
    and statistics are kept. All other outputs are float32 there."""

    def results(self, common: Any, params: Mapping[str, Any]) -> Any:
        """Return the type of what comes out, a tuple where outputs have their own; such a tuple is kept."""
        if not isinstance(common, tuple):
            return self.result(common, params)
        return common if len(common) > 1 else common[0]


@dataclass(frozen=True)
class Saves:
    """What the gradient rule reads: which inputs' numbers, and whether the output's."""

    inputs: tuple[int, ...] | None = None
    """Positions of inputs; None for all of them."""
    output: bool = True
    crossed: bool = False
    """True where the gradient of an input does not read that input itself, as for a product: what nobody else's
    gradient is wanted for need not be kept."""

    own: tuple[int, ...] = ()
    """Where `crossed`: positions of inputs that their own gradient reads all the same."""
    outputs: tuple[int, ...] | None = None
    """Where the rule reads outputs: which; None for all of them."""
    output_for: tuple[int, ...] | None = None
    """Where the rule reads outputs: for the gradients of which inputs; None for all of them."""

    besides: bool = False
    """Whether something is kept besides inputs and outputs, as a custom function may."""

    @property
    def nothing(self) -> bool:
        """True where the rule reads no numbers at all."""
        return self.inputs == () and not self.output and not self.besides

    def reads_output(self, i: int, needs: Sequence[bool]) -> bool:
        """Say whether the rule reads output `i` when the gradients `needs` are wanted."""
        if not self.output or (self.outputs is not None and i not in self.outputs):
            return False
        return self.output_for is None or any(needs[j] for j in self.output_for if j < len(needs))

    def read(self, needs: Sequence[bool]) -> tuple[int, ...]:
        """Return the positions of the inputs that the rule reads when the gradients `needs` are wanted."""
        found = range(len(needs)) if self.inputs is None else [i for i in self.inputs if i < len(needs)]
        if not self.crossed:
            return tuple(found)
        return tuple(i for i in found if any(need for j, need in enumerate(needs) if j != i or i in self.own))


@dataclass(frozen=True)
class Sample:
    """One call of an op for the tests: arrays (or scalars) and parameters."""

    inputs: tuple[Any, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[tuple[str | None, ...] | None, ...] | None = None


@dataclass(frozen=True)
class BadInput:
    """One call that must be refused, with the exception and a piece of its message."""

    inputs: tuple[Any, ...]
    params: Mapping[str, Any]
    error: type[Exception]
    message: str
    names: tuple[tuple[str | None, ...] | None, ...] | None = None


def per_value(dims: tuple[Dims, ...], out: Dims, **params: Any) -> float:
    """Cost of one operation for each value that comes out."""
    return float(out.numel)


DimsRule = Callable[..., Dims | tuple[Dims, ...]]


@dataclass(frozen=True, eq=False)
class Op(OpBase):
    """One op. Calling it applies it to values with normalized parameters (positions, tuples of ints)."""

    name: str
    doc: str
    equation: str
    dims: DimsRule
    """Names and sizes of the output(s) from the dims of the inputs and the parameters."""
    rule: str
    """The dims rule in words."""
    dtype: DTypeRule
    forward: Callable[..., Any]
    """Plain array code: the eager evaluation, and the oracle of every kernel."""
    vjp: Callable[..., tuple[Any, ...]] | Absent
    """``vjp(call, *gradients)``: gradients of the inputs, written with other ops only."""
    saves: Saves
    samples: Callable[[], Iterable[Sample]]
    bad: Callable[[], Iterable[BadInput]] = list
    """Inputs that are refused, with the words of the refusal, beside those that the dims rule's family refuses."""
    reference: str | None = None
    """Where the formula or algorithm is written down: a paper, a standard. None where there is nothing to look up."""
    quantized: Quantization | Absent = UNSTATED
    """How scale and zero point travel through it, and how it takes codes, see `core.quantization`. Where nothing is
    said: derived, from its properties."""
    contribution: Contribution | Absent | None = None
    """How what it gives is shared out among its inputs, see `core.contribution`. None: derived, from its properties."""
    sparse: Callable[..., Any] | Absent | None = None
    """What it does to sparse values: a rule on values, written with other ops, see `core.sparse_rules`. None: derived,
    where the op leaves 0 as it is."""
    cost: Callable[..., float] = per_value
    """Floating point operations, from the dims of the inputs, of the (first) output, and the parameters."""
    properties: frozenset[str] = frozenset()
    """Of: linear (in all inputs together), commutative, random, places (it is given what is sparse as it is), view
    (shares its input's memory where it can), mirror (a view that has to copy), moves (only moves values: it works
    on any type), crossing (moves values from one device to another: its forward is given arrays of either),
    elementwise (each value out depends on the values at its own place only; inputs broadcast), same (dims pass
    through unchanged and unchecked), passes (it may return the very memory that it was given: who calls it does not
    go on with both), estimate (the gradient rule is a useful stand-in for the derivative, such as a straight-
    through one), unsettled (values are known up to signs, phases or their order, which a batch or a nearby input
    may settle in another way), narrow (under `core.autocast` it is computed in the 16-bit type), wide (there it is
    computed in float32)."""
    outputs: int = 1
    tolerance: float = 1e-6
    """Largest relative error of the gradient check in float64."""
    jvp: Callable[..., Any] | None = None
    """``jvp(call, *tangents)``: tangent(s) of the output(s), written with other ops. None: derived from the gradient
    rule, whose transpose it is."""
    batch: Callable[..., Any] | None = None
    """How one call serves a whole batch, see `core.batching`. None: one call for each entry."""
    kernel: kernels.Kernel | None = None
    """The compiled kernel, where one was found."""
    half_kernel: kernels.Kernel | None = None
    """The compiled kernel that is given 16-bit floats as they are, where one was found."""
    small: str | None = None
    """The compiled loop that serves small arrays, for which a call of NumPy costs more than the numbers: one of those
    that `extensions/kernels/source/eager/op.cpp` lists."""
    into: Callable[..., Any] | None = None
    """``into(*arrays, out=array)``: the forward on floats of one type, into memory that is there, which may be that of
    an operand. It rounds as the forward and the kernel do. None: changes in place are computed apart and copied."""
    same: bool = field(init=False)
    """True where the dims of the one input pass through: eager evaluation then need not ask the rule."""
    view: bool = field(init=False)
    """True where the output may share the input's memory."""
    mirror: bool = field(init=False)
    """True where the output is a view of the input and has memory of its own all the same, see `core.mirrors`."""
    widens: bool = field(init=False)
    """True where 16-bit floats are computed in float32: all but movements of data."""

    # Answered once: every call asks, and a look into a set costs more than an attribute.
    def __post_init__(self) -> None:
        object.__setattr__(self, "same", "same" in self.properties)
        object.__setattr__(self, "view", "view" in self.properties)
        object.__setattr__(self, "mirror", "mirror" in self.properties)
        object.__setattr__(self, "widens", not self.properties & {"view", "moves"})
        if self.kernel is None:
            object.__setattr__(self, "kernel", kernels.lookup(self.name))
        if self.half_kernel is None:
            object.__setattr__(self, "half_kernel", kernels.lookup_half(self.name))
        if self.quantized is UNSTATED:
            object.__setattr__(self, "quantized", derived(self))
        if self.contribution is None:
            object.__setattr__(self, "contribution", contribution_of(self))
        table_add(self)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # By name: rules are functions that do not pickle, and records are told apart by identity.
        return _lookup, (self.name,)


if eager is not None:
    eager.call_directly(Op)

_table: dict[str, Op] = {}


def table_add(op: Op) -> None:
    """Enter `op` into the table; a name is taken once."""
    if op.name in _table:
        raise ValueError(f"there is an op called {op.name!r} already")
    _table[op.name] = op
    vars(ops)[op.name] = op  # found without asking `__getattr__`: gradient rules name ops at every call


def table() -> Sequence[Op]:
    """Return every op, in the order of declaration."""
    return tuple(_table.values())


def _lookup(name: str) -> Op:
    return _table[name]


class _Ops:
    """The table by attribute: gradient rules name other ops without importing their files."""

    def __getattr__(self, name: str) -> Op:
        try:
            return _table[name]
        except KeyError:
            raise AttributeError(f"there is no op called {name!r}") from None

    def __iter__(self) -> Iterator[Op]:
        return iter(_table.values())

    def __contains__(self, name: str) -> bool:
        return name in _table


ops = _Ops()
