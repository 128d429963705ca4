"""Functions of functions: gradients, products with Jacobians, Jacobians and Hessians. Offered as `workbench.func`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.autograd import engine
from workbench.autograd.forward import Dual, Forward
from workbench.autograd.forward_ad import check_direction
from workbench.autograd.trees import flatten, structure
from workbench.base.dims import Names
from workbench.base.errors import AutogradError, DTypeError
from workbench.core.batching import Batched, Batching
from workbench.core.dispatch import enable_grad, grad_enabled, interpreting
from workbench.core.op import ops
from workbench.core.tape import Node, alias
from workbench.core.value import Value, new
from workbench.tensor import Tensor

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]

Function = Callable[..., Any]
Rebuild = Callable[[Sequence[Any]], Any]

# ------------------------------------------------------------------------- starting points of derivatives


def fresh(value: Tensor) -> Tensor:
    """Return the same value on a place of the tape of its own, where gradients can be asked for.

    Where the value is on the tape already the new place is connected to it.
    """
    kind = value._array.dtype.kind
    if kind not in "fcV":
        raise DTypeError("only Tensors of floating point and complex dtype can require gradients")
    if value._requires_grad and grad_enabled():
        place: Tensor = ops.rename(value, names=value._names)
        return place
    leaf: Tensor = new(value._array, value._names)
    leaf._requires_grad = True
    return leaf


def on_tape(value: Any) -> bool:
    """Say whether gradients of `value` are wanted, at this level or at one below."""
    while isinstance(value, Value):
        if value._requires_grad:
            return True
        payload = value._array
        if isinstance(payload, Dual):
            if on_tape(payload.tangent):
                return True
            value = payload.primal
        elif isinstance(payload, Batched):
            value = payload.value
        else:
            return False
    return False


def others_ask(outputs: Sequence[Any], starts: Sequence[Any]) -> bool:
    """Say whether `outputs` depend on anything on the tape besides `starts`: their gradients are then differentiable."""
    if any(value._grad_fn is not None or _below(value) for value in starts):
        return True
    own = {id(value) for value in starts}
    seen: set[int] = set()
    pending: list[Node] = [value._grad_fn for value in outputs if value._grad_fn is not None]
    while pending:
        node = pending.pop()
        if node.serial in seen:
            continue
        seen.add(node.serial)
        for value in node.inputs or ():
            if not isinstance(value, Value):
                continue
            if _below(value):
                return True
            if value._grad_fn is not None:
                pending.append(value._grad_fn)
            elif value._requires_grad and id(engine.leaf_of(value)) not in own:
                return True
    return False


def _below(value: Any) -> bool:
    """Say whether the values that `value` stands for are on the tape of a level below."""
    payload = value._array
    if isinstance(payload, Batched):
        return on_tape(payload.value)
    return isinstance(payload, Dual) and (on_tape(payload.primal) or on_tape(payload.tangent))


def settled(value: Any, keep: bool) -> Any:
    """Return a value as it is given back: off the tape unless somebody else is on it."""
    if not isinstance(value, Value) or keep or not value._requires_grad:
        return value
    return new(value._array, value._names)


def _selected(args: tuple[Any, ...], argnums: int | Sequence[int]) -> tuple[int, ...]:
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for one in chosen:
        if not -len(args) <= one < len(args):
            raise AutogradError(f"Got argnum={one}, but only {len(args)} positional inputs")
    return tuple(one % len(args) for one in chosen)


class _Starts:
    """Arguments of a function, some of them replaced by starting points of derivatives."""

    def __init__(self, args: tuple[Any, ...], argnums: int | Sequence[int], make: Callable[[Any], Any]) -> None:
        self.single = isinstance(argnums, int)
        self.positions = _selected(args, argnums)
        self.values: list[Any] = []
        """The starting points, in the order of their leaves."""
        self.rebuilds: list[Rebuild] = []
        self.counts: list[int] = []
        self.args = list(args)
        for position in self.positions:
            leaves, rebuild = flatten(args[position])
            made = [make(one) for one in leaves]
            self.args[position] = rebuild(made)
            self.values += made
            self.counts.append(len(made))
            self.rebuilds.append(rebuild)

    def shaped(self, results: Sequence[Any]) -> Any:
        """Return one result a starting point in the nest of the arguments."""
        parts, at = [], 0
        for rebuild, count in zip(self.rebuilds, self.counts, strict=True):
            parts.append(rebuild(results[at : at + count]))
            at += count
        return parts[0] if self.single else tuple(parts)


def _split(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise AutogradError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def _or_zeros(gradients: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    return [
        new(np.zeros(value._array.shape, value._array.dtype), value._names) if one is None else one
        for one, value in zip(gradients, values, strict=True)
    ]


# ----------------------------------------------------------------------------------------------- gradients


def grad_and_value(func: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradient of `func`, and its value: ``(gradient, value)``.

    With `has_aux` the function returns (output, aux), and the new one (gradient, (value, aux)). See `grad`.
    """

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outside = grad_enabled()
        starts = _Starts(args, argnums, fresh)
        with enable_grad():
            result = func(*starts.args, **kwargs)
            output, aux = _split("grad_and_value(f)(*args)", result, has_aux)
            _check_scalar(output)
            keep = outside and others_ask([output], starts.values)
            gradients: Sequence[Any] = (None,) * len(starts.values)
            if output._requires_grad:
                gradients = engine.grad(output, starts.values, create_graph=keep, allow_unused=True)
        found = starts.shaped(_or_zeros([settled(one, keep) for one in gradients], starts.values))
        value = settled(output, keep)
        return (found, (value, _map(aux, keep))) if has_aux else (found, value)

    return wrapper


def grad(func: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradient of `func`, a function with one number as its result.

    `argnums` says with respect to which arguments, each a tensor or a nest of tensors; gradients carry their names.
    With `has_aux` the function returns (output, aux), and the new one (gradient, aux). Nests: grad(grad(f)).

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import grad
    >>> grad(grad(lambda x: x * x * x))(wb.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise AutogradError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
    if output.ndim:
        raise AutogradError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. "
            "Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def _map(tree: Any, keep: bool) -> Any:
    leaves, rebuild = flatten(tree)
    return rebuild([settled(one, keep) for one in leaves])


def _tensors(name: str, result: Any) -> tuple[list[Any], Rebuild]:
    outputs, rebuild = flatten(result)
    for one in outputs:
        if not isinstance(one, Tensor):
            raise AutogradError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(one)}"
            )
    return outputs, rebuild


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return ``func(*primals)`` and the function that multiplies a cotangent with its Jacobian from the left: v ↦ vᵀJ.

    With `has_aux` the function returns (output, aux), and this (output, vjp_fn, aux).

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import vjp
    >>> y, pull = vjp(lambda x: x * x, wb.tensor([1.0, 2.0]))
    >>> pull(wb.tensor([1.0, 1.0]))
    (tensor([2.0000, 4.0000]),)
    """
    outside = grad_enabled()
    starts = _Starts(primals, range(len(primals)), fresh)
    with enable_grad():
        result, aux = _split("vjp(f, *primals)", func(*starts.args), has_aux)
        outputs, rebuild = _tensors("vjp(f, *primals)", result)
    keep = outside and others_ask(outputs, starts.values)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """Return one gradient a primal."""
        seeds, _ = flatten(cotangents)
        if structure(cotangents) != structure(result):
            raise AutogradError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {structure(cotangents)}, primal output: {structure(result)}"
            )
        differentiable = grad_enabled() and (keep or any(on_tape(seed) for seed in seeds))
        create = differentiable if create_graph is None else create_graph
        found = pulled(outputs, starts.values, seeds, create, retain_graph)
        return starts.shaped(_or_zeros([settled(one, create) for one in found], starts.values))

    output = rebuild([settled(one, keep) for one in outputs])
    return (output, pull, _map(aux, keep)) if has_aux else (output, pull)


def pulled(
    outputs: Sequence[Any], starts: Sequence[Any], seeds: Sequence[Any], create: bool, retain: bool = True
) -> Sequence[Any]:
    """Return the gradients at `starts`, None for those that nothing depends on."""
    pairs = []
    for i, (one, seed) in enumerate(zip(outputs, seeds, strict=True)):
        if seed is None:
            continue
        if one.shape != seed.shape:
            raise AutogradError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {list(seed.shape)} and output[{i}] has a shape of "
                f"{list(one.shape)}."
            )
        if one._requires_grad:
            pairs.append((one, seed))
    if not pairs:
        return (None,) * len(starts)
    return engine.grad(
        [one for one, _ in pairs],
        starts,
        [seed for _, seed in pairs],
        retain_graph=retain,
        create_graph=create,
        allow_unused=True,
    )


def jvp(func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False) -> Any:  # fmt: skip
    """Return ``func(*primals)`` and its derivative along `tangents`, J·t, by forward mode.

    With `strict` a result that does not depend on the primals is an error; else its derivative is zero.

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import jvp
    >>> jvp(lambda x: x * x, (wb.tensor([1.0, 2.0]),), (wb.tensor([1.0, 0.0]),))
    (tensor([1.0000, 4.0000]), tensor([2.0000, 0.0000]))
    """
    if not isinstance(primals, tuple):
        raise AutogradError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    if structure(primals) != structure(tangents):
        raise AutogradError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
            "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{structure(primals)} and tangents with structure {structure(tangents)}"
        )
    level = Forward()
    moved = _moving(level, primals, flatten(tangents)[0])
    with interpreting(level):
        result = func(*moved)
    result, aux = _split("jvp(f, primals, tangents)", result, has_aux)
    outputs, rebuild = _tensors("jvp(f, primals, tangents)", result)
    values, directions = [], []
    for i, one in enumerate(outputs):
        value, direction = level.parts(one)
        if direction is None:
            if strict:
                raise AutogradError(
                    f"jvp(f, primals, tangents, strict=True): The output of f at index {i} is independent of the primals. "
                    "This is not allowed with strict=True."
                )
            direction = _or_zeros([None], [value])[0]
        values.append(value)
        directions.append(direction)
    found = rebuild(values), rebuild(directions)
    return (*found, _primals(level, aux)) if has_aux else found


def _moving(level: Forward, primals: Any, tangents: Sequence[Any]) -> Any:
    """Return the nest `primals` with each tensor moving along its tangent."""
    leaves, rebuild = flatten(primals)
    made = []
    for primal, tangent in zip(leaves, tangents, strict=True):
        check_direction(primal, tangent)
        made.append(level.make(primal, tangent, primal._names))
    return rebuild(made)


def _primals(level: Forward, tree: Any) -> Any:
    leaves, rebuild = flatten(tree)
    return rebuild([level.parts(one)[0] if isinstance(one, Tensor) else one for one in leaves])


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return ``func(*primals)`` and its derivative there as a function of tangents: t ↦ J·t.

    The function runs once: the derivative is the transpose of what was recorded, so that many tangents cost no more
    runs of `func`.

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import linearize
    >>> y, push = linearize(lambda x: x.sin(), wb.tensor([0.0]))
    >>> push(wb.tensor([3.0]))
    tensor([3.])
    """
    output, pull = vjp(func, *primals)
    outputs, rebuild = flatten(output)
    leaves, _ = flatten(primals)

    def push(*tangents: Any) -> Any:
        """Return the derivative along tangents."""
        if structure(tangents) != structure(primals):
            raise AutogradError(
                f"linearize: expected tangents of structure {structure(primals)}, got {structure(tangents)}"
            )
        given, _ = flatten(tangents)
        for primal, tangent in zip(leaves, given, strict=True):
            check_direction(primal, tangent)
        with enable_grad():
            seeds = [fresh(_or_zeros([None], [one])[0]) for one in outputs]
            gradients, _ = flatten(pull(rebuild(seeds), create_graph=True))
            found = pulled(gradients, seeds, given, on_tape_any(given), True)
        return rebuild([settled(one, False) for one in _or_zeros(found, outputs)])

    return output, push


def on_tape_any(values: Sequence[Any]) -> bool:
    """Say whether gradients of any of the values are wanted."""
    return any(on_tape(value) for value in values)


# ----------------------------------------------------------------------------------------------- Jacobians


def basis(values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Return, for tensors with n values in all, arrays [n, …] of which row k is 1 at value number k and 0 elsewhere."""
    counts = [int(np.prod(value.shape)) for value in values]
    rows, at, made = sum(counts), 0, []
    for value, count in zip(values, counts, strict=True):
        array = np.zeros((rows, count), value._array.dtype)
        array[at : at + count].flat[:: count + 1] = 1
        made.append(array.reshape(rows, *value.shape))
        at += count
    return made


def joint_names(first: Names, second: Names) -> Names | None:
    """Return the names of a Jacobian: the dims of the input come second and lose a name that is taken."""
    names = (*first, *(None if name in first else name for name in second))
    return names if any(name is not None for name in names) else None


def together(size: int, function: Callable[[Batching], Sequence[Any]]) -> list[Any]:
    """Run ``function(batching)`` once for `size` entries; return its results with the batch dim in front, unnamed."""
    batching = Batching(size)
    with interpreting(batching):
        results = function(batching)
    found = []
    for one in results:
        if one is None:
            found.append(None)
        elif batching.owns(one):
            found.append(one._array.value)
        else:
            found.append(ops.expand(alias(one, None), sizes=(size, *one._array.shape)))
    return found


def chunks(size: int, chunk_size: int | None) -> list[tuple[int, int]]:
    """Return the bounds of pieces of at most `chunk_size` of `size` rows."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacobian: chunk_size should be None or greater than 0. (got {chunk_size})")
    step = size if chunk_size is None else chunk_size
    return [(start, min(start + step, size)) for start in range(0, size, max(step, 1))]


def stacked(pieces: Sequence[Any]) -> Any:
    """Return pieces of rows as one."""
    return pieces[0] if len(pieces) == 1 else ops.cat(*pieces, dim=0)


def rows_of(rows: Any, start: int, end: int, sizes: tuple[int, ...], names: Names | None) -> Any:
    """Return the rows from `start` to `end` laid out in `sizes`, under `names`."""
    part = rows if start == 0 and end == rows._array.shape[0] else ops.index(rows, key=(slice(start, end),))
    part = part if part._array.shape == sizes else ops.reshape(part, sizes=sizes)
    return part if names is None else alias(part, names)


def reverse_rows(
    outputs: Sequence[Any], starts: Sequence[Any], create: bool, chunk_size: int | None = None
) -> list[Any]:
    """Return, for each start, all rows of the Jacobian [values of the outputs, *sizes of the start]; None for zero."""
    seeds = basis(outputs)
    rows = sum(int(np.prod(one.shape)) for one in outputs)
    if rows == 1:
        found = pulled(outputs, starts, [new(np.asarray(seed[0])) for seed in seeds], create)
        return [
            None if one is None else ops.reshape(alias(one, None), sizes=(1, *one._array.shape)) for one in found
        ]
    pieces = []
    for start, end in chunks(rows, chunk_size):

        def pull(batching: Batching, start: int = start, end: int = end) -> Sequence[Any]:
            wrapped = [batching.wrap(new(seed[start:end])) for seed in seeds]
            return pulled(outputs, starts, wrapped, create)

        pieces.append(together(end - start, pull))
    return [None if one[0] is None else stacked(one) for one in zip(*pieces, strict=True)]


def _blocks(outputs: Sequence[Any], starts: Sequence[Any], rows: Sequence[Any]) -> list[list[Any]]:
    """Return, for each output, the Jacobian with respect to each start."""
    found, at = [], 0
    for output in outputs:
        count = int(np.prod(output.shape))
        line = []
        for start, block in zip(starts, rows, strict=True):
            sizes = (*output.shape, *start.shape)
            names = joint_names(output.names, start.names)
            if block is None:
                line.append(new(np.zeros(sizes, start._array.dtype), names))
            else:
                line.append(rows_of(block, at, at + count, sizes, names))
        found.append(line)
        at += count
    return found


def jacrev(
    func: Function,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function:
    """Return a function that gives the Jacobian of `func` by reverse mode, all rows at once.

    The result has the dims of the output, then those of the input: J[i, j] = ∂f_i/∂x_j. For nests of outputs and
    inputs it is a nest of outputs' nests of inputs. At most `chunk_size` rows are computed together.

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import jacrev
    >>> jacrev(lambda x: x * x)(wb.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outside = grad_enabled()
        starts = _Starts(args, argnums, fresh)
        with enable_grad():
            result, aux = _split("jacrev(f)(*args)", func(*starts.args, **kwargs), has_aux)
            outputs, rebuild = _tensors("vjp(f, *primals)", result)
            keep = outside and others_ask(outputs, starts.values)
            rows = reverse_rows(outputs, starts.values, keep, chunk_size)
        blocks = _blocks(outputs, starts.values, [settled(one, keep) for one in rows])
        jacobian = rebuild([starts.shaped(line) for line in blocks])
        return (jacobian, _map(aux, keep)) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Function:
    """Return a function that gives the Jacobian of `func` by forward mode, all columns at once; see `jacrev`.

    It is the better one where there are fewer inputs than outputs. The function itself runs once, so that random
    numbers drawn in it are the same for all columns, whatever `randomness` says.

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import jacfwd
    >>> jacfwd(lambda x: wb.stack([x.sum(), x.sum() * 2]))(wb.tensor([1.0, 2.0]))
    tensor([[1., 1.],
            [2., 2.]])
    """
    if randomness not in ("error", "different", "same"):
        raise AutogradError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        starts = _Starts(args, argnums, lambda value: value)
        columns, outputs, rebuild, aux = forward_columns(func, starts, kwargs, has_aux, chunk_size)
        blocks = []
        for output, column in zip(outputs, columns, strict=True):
            line, at = [], 0
            for start in starts.values:
                count = int(np.prod(start.shape))
                names = joint_names(output.names, start.names)
                line.append(_column_block(column, at, count, output, start, names))
                at += count
            blocks.append(starts.shaped(line))
        jacobian = rebuild(blocks)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def forward_columns(
    func: Function, starts: _Starts, kwargs: dict[str, Any], has_aux: bool, chunk_size: int | None
) -> tuple[list[Any], list[Any], Rebuild, Any]:
    """Return all columns [values of the starts, *sizes of the output] for each output (None: zero), and the outputs."""
    for value in starts.values:
        if value._array.dtype.kind not in "fcV":
            raise DTypeError("only Tensors of floating point and complex dtype have derivatives")
    directions = basis(starts.values)
    pieces = []
    outputs: list[Any] = []
    rebuild: Rebuild = tuple
    aux: Any = None
    total = sum(int(np.prod(value.shape)) for value in starts.values)
    for start, end in chunks(total, chunk_size):

        def push(batching: Batching, start: int = start, end: int = end) -> Sequence[Any]:
            nonlocal outputs, rebuild, aux
            level = Forward()
            moved = iter(
                [
                    level.make(value, batching.wrap(new(one[start:end])), value._names)
                    for value, one in zip(starts.values, directions, strict=True)
                ]
            )
            args = list(starts.args)
            for position, count, again in zip(starts.positions, starts.counts, starts.rebuilds, strict=True):
                args[position] = again([next(moved) for _ in range(count)])
            with interpreting(level):
                result = func(*args, **kwargs)
            result, aux = _split("jacfwd(f)(*args)", result, has_aux)
            duals, rebuild = _tensors("jvp(f, primals, tangents)", result)
            parts = [level.parts(one) for one in duals]
            outputs = [value for value, _ in parts]
            aux = _primals(level, aux)
            return [tangent for _, tangent in parts]

        pieces.append(together(end - start, push))
    return [None if one[0] is None else stacked(one) for one in zip(*pieces, strict=True)], outputs, rebuild, aux


def _column_block(column: Any, at: int, count: int, output: Any, start: Any, names: Names | None) -> Any:
    """Return the Jacobian of one output with respect to one start, from its columns."""
    sizes = (*output.shape, *start.shape)
    if column is None:
        return new(np.zeros(sizes, output._array.dtype), names)
    part = rows_of(column, at, at + count, (count, *output.shape), None)
    order = (*range(1, output.ndim + 1), 0)
    part = ops.permute(part, dim=order) if output.ndim else part
    part = part if part._array.shape == sizes else ops.reshape(part, sizes=sizes)
    return alias(part, names)


def hessian(func: Function, argnums: int | Sequence[int] = 0) -> Function:
    """Return a function that gives the Hessian of `func`: H[i, j] = ∂²f/∂x_i∂x_j, forward over reverse.

    >>> import workbench as wb
    >>> from workbench.autograd.transforms import hessian
    >>> hessian(lambda x: (x * x * x).sum())(wb.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
