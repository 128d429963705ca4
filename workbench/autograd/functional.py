"""Jacobians, Hessians and products with them, of a function at a point: PyTorch's `torch.autograd.functional`.

Unlike `workbench.func` these take the function *and* the point, and return numbers: results are off the tape unless
`create_graph` asks for them on it. Inputs and outputs are one tensor or a tuple of tensors; what comes back is nested
likewise: outputs outside, inputs inside.

`strict=True` refuses what does not depend on the inputs, where the default gives zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.autograd.differentiable_inputs import Starts, below_ask, fresh, or_zeros, settled
from workbench.autograd.forward import Forward
from workbench.autograd.forward_ad import check_direction
from workbench.autograd.jacobians import blocks_of, column_blocks, forward_columns, reverse_rows
from workbench.autograd.transforms import pulled
from workbench.base.errors import AutogradError
from workbench.base.public import words
from workbench.core.dispatch import enable_grad, interpreting
from workbench.core.lending import share
from workbench.core.value import new
from workbench.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = Tensor | tuple[Tensor, ...]

_DIFFERENTIABLE = (
    "The outputs must be computed in a differentiable manner from the input when running in strict mode."
)


class _Problem:
    """A function at a point, evaluated there on starting points of derivatives."""

    def __init__(
        self, name: str, func: Function, inputs: Any, create_graph: bool, strict: bool, own: bool = False
    ) -> None:
        self.name = name
        self.inputs = _as_tuple(inputs, "inputs", name, f"The inputs given to {name}")
        self.single_input = not isinstance(inputs, tuple)
        self.starts = [_start(one, create_graph, own) for one in self.inputs]
        self.create = create_graph or any(below_ask(one) for one in self.starts)
        """Whether gradients must be recorded themselves."""
        self.create_graph = create_graph
        result = func(*self.starts)
        what = f"The outputs of the user-provided function given to {name}"
        self.outputs = _as_tuple(result, "outputs of the user-provided function", name, what)
        self.single_output = not isinstance(result, tuple)
        if strict:
            _check_outputs(self.outputs)

    def nested_outputs(self, results: Sequence[Any]) -> Any:
        """Return one result an output as the function returned them."""
        return results[0] if self.single_output else tuple(results)

    def nested_inputs(self, results: Sequence[Any]) -> Any:
        """Return one result an input as the inputs were given."""
        return results[0] if self.single_input else tuple(results)

    def values(self) -> Any:
        """Return the function's outputs, as they are given back."""
        return self.nested_outputs([settled(one, self.create_graph) for one in self.outputs])

    def gradients(
        self, outputs: Sequence[Any], seeds: Sequence[Any], create: bool | None = None
    ) -> list[Any]:
        """Return gradients with respect to the inputs; None where there are none."""
        return list(pulled(outputs, self.starts, seeds, self.create if create is None else create))

    def one_number(self) -> Any:
        """Return the output, which is one tensor with one value."""
        if not self.single_output:
            raise AutogradError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].numel() != 1:
            raise AutogradError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )
        return self.outputs[0]


def _as_tuple(value: Any, what: str, name: str, full: str) -> tuple[Any, ...]:
    several = value if isinstance(value, tuple) else (value,)
    for i, one in enumerate(several):
        if isinstance(one, Tensor):
            continue
        if isinstance(value, tuple):
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the value at index {i} "
                f"has type {type(one)}."
            )
        raise TypeError(
            f"{full} must be either a Tensor or a tuple of Tensors but the given {what} has type {type(one)}."
        )
    return several


def _start(value: Tensor, create_graph: bool, own: bool) -> Tensor:
    """Return a starting point: connected to the tape of `value` only if the results are to be on it.

    A leaf that nobody else has (`own`) is one itself.
    """
    if create_graph and value._requires_grad:
        return value if own and value._grad_fn is None else fresh(value)
    leaf: Tensor = new(value.payload, value._names)
    share(value, leaf)
    return leaf.requires_grad_()


def _check_outputs(outputs: Sequence[Any]) -> None:
    for i, one in enumerate(outputs):
        if not one._requires_grad:
            raise AutogradError(
                f"Output {i} of the user-provided function does not require gradients. {_DIFFERENTIABLE}"
            )


def _check_gradients(gradients: Sequence[Any], kind: str, create_graph: bool) -> None:
    """Raise where a first derivative is zero, or does not depend on the inputs though it is to be differentiated."""
    for i, one in enumerate(gradients):
        if one is None:
            raise AutogradError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode."
            )
        if create_graph and not one._requires_grad:
            raise AutogradError(
                f"The {kind} of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode when create_graph=True."
            )


def _check_second(gradients: Sequence[Any]) -> None:
    for i, one in enumerate(gradients):
        if one is None or not one._requires_grad:
            raise AutogradError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                f"input {i} is independent of the input. This is not allowed in strict mode. You should ensure that "
                "your function is twice differentiable and that the jacobian depends on the inputs (this would be "
                "violated by a linear function for example)."
            )


def _vectors(v: Any, like: Sequence[Any], single: bool, missing: str) -> list[Any]:
    """Return the vectors of a product, checked against the values that they go with."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError(missing)
        return [new(np.ones(like[0].shape, like[0].payload.dtype))]
    several = v if isinstance(v, tuple) else (v,)
    if len(several) != len(like):
        if single:
            raise AutogradError("The given v should contain a single Tensor.")
        raise AutogradError(f"v is a tuple of invalid length: should be {len(like)} but got {len(several)}.")
    for i, (one, value) in enumerate(zip(several, like, strict=True)):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"v must be either a Tensor or a tuple of Tensors but entry {i} has type {type(one)}."
            )
        if one.shape != value.shape:
            entry = "" if len(like) == 1 else f"Entry {i} in "
            raise AutogradError(
                f"{entry}v has invalid size: should be {list(value.shape)} but got {list(one.shape)}."
            )
    return list(several)


_NONE = "The vector v can only be None if the"
_ONE_OUTPUT = f"{_NONE} user-provided function returns a single Tensor with a single element."
_ONE_INPUT = f"{_NONE} input to the user-provided function is a single Tensor with a single element."

# ------------------------------------------------------------------------------------------------ Jacobian


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of `func` at `inputs`: J[i, j] = ∂y_i/∂x_j, with the dims of the output, then of the input.

    With `vectorize` all rows are computed at once (which needs a function that `vmap` can run), else one by one.
    `strategy` "forward-mode" computes columns in place of rows, which pays where there are fewer inputs than outputs.

    Raises `AutogradError` with `strict` where an output does not depend on an input.

    >>> import workbench as wb
    >>> from workbench.autograd.functional import jacobian
    >>> jacobian(lambda x: x * x, wb.tensor([1.0, 2.0], names=("C",)))
    tensor([[2., 0.],
            [0., 4.]], names=('C', None))
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if strict:
            raise AutogradError(
                'jacobian: `strict=True` and `strategy="forward-mode"` are not supported together. Please either set '
                '`strict=False` or `strategy="reverse-mode"`.'
            )
        return _by_columns(func, inputs, create_graph, vectorize)
    with enable_grad():
        problem = _Problem("jacobian", func, inputs, create_graph, strict)
        if strict and vectorize:
            raise AutogradError(
                "jacobian: `strict=True` and `vectorize=True` are not supported together. Please either set "
                "`strict=False` or `vectorize=False`."
            )
        # One row at a time unless asked: functions that cannot be batched work, too.
        chunk = None if vectorize else 1
        if strict:
            _check_independent(problem)
        rows = reverse_rows(problem.outputs, problem.starts, problem.create, chunk, batched=vectorize)
    if strict and create_graph:
        _check_gradients(rows, "jacobian", create_graph)
    blocks = blocks_of(
        problem.outputs, problem.starts, [None if one is None else settled(one, create_graph) for one in rows]
    )
    return problem.nested_outputs([problem.nested_inputs(line) for line in blocks])


def _check_independent(problem: _Problem) -> None:
    """Raise where an output does not depend on an input."""
    for i, output in enumerate(problem.outputs):
        # Whether a gradient exists does not depend on what goes in: zeros will do.
        seed = new(np.zeros(output.shape, output.payload.dtype))
        for j, gradient in enumerate(problem.gradients([output], [seed], create=False)):
            if gradient is None:
                raise AutogradError(
                    f"Output {i} of the user-provided function is independent of input {j}. This is not allowed in "
                    "strict mode."
                )


def _by_columns(func: Function, inputs: Any, create_graph: bool, vectorize: bool) -> Any:
    several = _as_tuple(inputs, "inputs", "jacobian", "The inputs given to jacobian")
    single_output = True

    def checked(*args: Any) -> Any:
        nonlocal single_output
        result = func(*args)
        what = "The outputs of the user-provided function given to jacobian"
        _as_tuple(result, "outputs of the user-provided function", "jacobian", what)
        single_output = not isinstance(result, tuple)
        return result

    starts = Starts(several, range(len(several)), lambda value: value if create_graph else value.detach())
    columns, outputs, _, _ = forward_columns(checked, starts, {}, False, None if vectorize else 1)
    lines = column_blocks(columns, outputs, starts.values)
    lines = [[settled(one, create_graph) for one in line] for line in lines]
    nested = [tuple(line) if isinstance(inputs, tuple) else line[0] for line in lines]
    return nested[0] if single_output else tuple(nested)


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian at `inputs` of `func`, a function with one number as its result: H[i, j] = ∂²y/∂x_i∂x_j.

    For a tuple of inputs it is a tuple of tuples of blocks. See `jacobian` for the other arguments, which concern the
    second derivative.

    >>> import workbench as wb
    >>> from workbench.autograd.functional import hessian
    >>> hessian(lambda x: (x * x * x).sum(), wb.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several = _as_tuple(inputs, "inputs", "hessian", "The inputs given to hessian")

    def gradient(*args: Any) -> Any:
        with enable_grad():
            problem = _Problem("hessian", func, args, True, strict, own=True)
            output = problem.one_number()
            # Forwards over reverse: the level around carries the direction, the gradients themselves need no tape.
            if outer_jacobian_strategy == "forward-mode":
                problem.create = create_graph or any(below_ask(one) for one in problem.starts)
            seed = new(np.ones(output.shape, output.payload.dtype))
            found = problem.gradients([output], [seed])
            if strict:
                _check_second(found)
            return tuple(or_zeros(found, problem.starts))

    found = jacobian(gradient, several, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if isinstance(inputs, tuple) else found[0][0]


# ------------------------------------------------------------------------------------------------- products


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the outputs of `func` at `inputs`, and the product vᵀJ of a vector with its Jacobian.

    `v` has the sizes of the outputs; it may be None where there is one number. Gradients carry the names of inputs.

    >>> import workbench as wb
    >>> from workbench.autograd.functional import vjp
    >>> vjp(lambda x: x * x, wb.tensor([1.0, 2.0]), wb.tensor([1.0, 1.0]))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        problem = _Problem("vjp", func, inputs, create_graph, strict)
        vectors = _vectors(v, problem.outputs, problem.single_output, _ONE_OUTPUT)
        found = problem.gradients(problem.outputs, vectors)
    if strict:
        _check_gradients(found, "vjp", create_graph)
    results = [settled(one, create_graph) for one in or_zeros(found, problem.starts)]
    return problem.values(), problem.nested_inputs(results)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the outputs of `func` at `inputs`, and the product J·v of its Jacobian with a vector, by forward mode.

    `v` has the sizes of the inputs; it may be None where there is one number.

    >>> import workbench as wb
    >>> from workbench.autograd.functional import jvp
    >>> jvp(lambda x: x * x, wb.tensor([1.0, 2.0]), wb.tensor([1.0, 0.0]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    several = _as_tuple(inputs, "inputs", "jvp", "The inputs given to jvp")
    vectors = _vectors(v, several, not isinstance(inputs, tuple), _ONE_INPUT)
    values, directions, single = _moved(func, several, vectors, create_graph, "jvp")
    if strict:
        for i, one in enumerate(directions):
            if one is None:
                raise AutogradError(
                    f"Output {i} of the user-provided function does not require gradients. {_DIFFERENTIABLE}"
                )
    found = [settled(one, create_graph) for one in or_zeros(directions, values)]
    values = [settled(one, create_graph) for one in values]
    return (values[0], found[0]) if single else (tuple(values), tuple(found))


def _moved(
    func: Function, inputs: Sequence[Any], vectors: Sequence[Any], create_graph: bool, name: str
) -> tuple[list[Any], list[Any], bool]:
    """Return the outputs of `func` and their derivatives along `vectors`, None for zero; and whether there is one."""
    level = Forward()
    moved = []
    for value, vector in zip(inputs, vectors, strict=True):
        check_direction(value, vector)
        primal, tangent = (value, vector) if create_graph else (value.detach(), vector.detach())
        moved.append(level.make(primal, tangent, value._names))
    with interpreting(level):
        result = func(*moved)
    what = f"The outputs of the user-provided function given to {name}"
    outputs = _as_tuple(result, "outputs of the user-provided function", name, what)
    parts = [level.parts(one) for one in outputs]
    return [value for value, _ in parts], [direction for _, direction in parts], not isinstance(result, tuple)


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of `func`, one number, at `inputs`, and the product vᵀH of a vector with its Hessian.

    `v` has the sizes of the inputs; it may be None where there is one number.

    >>> import workbench as wb
    >>> from workbench.autograd.functional import vhp
    >>> vhp(lambda x: (x * x * x).sum(), wb.tensor([1.0, 2.0]), wb.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        problem, gradients, vectors = _first("vhp", func, inputs, v, create_graph, strict)
        pairs = [(one, vector) for one, vector in zip(gradients, vectors, strict=True) if one is not None]
        found = problem.gradients([one for one, _ in pairs], [vector for _, vector in pairs])
    if strict:
        _check_gradients(found, "vhp", create_graph)
    results = [settled(one, create_graph) for one in or_zeros(found, problem.starts)]
    return problem.values(), problem.nested_inputs(results)


def _first(
    name: str, func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[_Problem, list[Any], list[Any]]:
    """Return a problem with its gradients, recorded, and the vectors to multiply with."""
    problem = _Problem(name, func, inputs, create_graph, strict)
    vectors = _vectors(v, problem.inputs, problem.single_input, _ONE_INPUT)
    output = problem.one_number()
    gradients = problem.gradients([output], [new(np.ones(output.shape, output.payload.dtype))], create=True)
    if strict:
        _check_second(gradients)
    return problem, gradients, vectors


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of `func`, one number, at `inputs`, and the product H·v of its Hessian with a vector.

    The gradient is differentiated along `v`, forward over reverse. For other arguments see `vhp`, which is equal where
    the second derivatives are continuous.

    >>> import workbench as wb
    >>> from workbench.autograd.functional import hvp
    >>> hvp(lambda x: (x * x * x).sum(), wb.tensor([1.0, 2.0]), wb.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    several = _as_tuple(inputs, "inputs", "hvp", "The inputs given to hvp")
    vectors = _vectors(v, several, not isinstance(inputs, tuple), _ONE_INPUT)
    # Forward mode tells zero from "does not depend" only for the last step: reverse mode checks the rest first.
    if strict:
        with enable_grad():
            _first("hvp", func, inputs, v, create_graph, strict)

    def gradient(*args: Any) -> Any:
        with enable_grad():
            problem = _Problem("hvp", func, args, False, False)
            # As in `hessian`: the direction is carried by the level around.
            problem.create = create_graph or problem.create
            output = problem.one_number()
            found = problem.gradients([output], [new(np.ones(output.shape, output.payload.dtype))])
            return (settled(output, problem.create), *or_zeros(found, problem.starts))

    values, directions, _ = _moved(gradient, several, vectors, create_graph, "hvp")
    results = [settled(one, create_graph) for one in or_zeros(directions[1:], values[1:])]
    nested = tuple(results) if isinstance(inputs, tuple) else results[0]
    return settled(values[0], create_graph), nested


__getattr__, __dir__ = words(__name__, __all__)
