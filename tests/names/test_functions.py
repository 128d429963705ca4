"""Every function that can be called with one named tensor, or two alike: a dim without a name is one that it made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import Tensor, ops

MADE = {
    # Places of values that were picked by their numbers.
    "argwhere": "a list of places",
    "nonzero": "a list of places",
    "where": "of a condition alone, a list of places",
    "masked_select": "values from all dims in a row",
    "take": "values from all dims, picked by unnamed indices",
    "unique": "values from all dims in a row",
    "unique_consecutive": "values from all dims in a row",
    "bincount": "numbers that were counted",
    "multinomial": "draws",
    "new": "a new tensor, which has no names",
    "_empty_affine_quantized": "a new tensor, which has no names",
    "new_full": "a new tensor, which has no names unless given",
    "histc": "bins",
    "histogram": "bins",
    "combinations": "sets of values",
    # Dims that no input has, or that are several at once.
    "block_diag": "rows and columns of all blocks",
    "diag": "a diagonal runs along two dims",
    "diag_embed": "rows and columns of new matrices",
    "diagflat": "rows and columns of a new matrix",
    "diagonal": "a diagonal runs along two dims",
    "diagonal_copy": "a diagonal runs along two dims",
    "flatten": "all dims in a row; out_dim= names it",
    "ravel": "all dims in a row",
    "repeat_interleave": "all dims in a row",
    "kron": "each dim is one of either operand, multiplied out",
    "one_hot": "classes",
    "unfold": "windows",
    "unfold_copy": "windows",
    "view_as_real": "real and imaginary part",
    "vander": "powers",
    "stft": "frequencies and frames",
    # Matrices whose two dims are of one kind: a tensor has a name once.
    "cdist": "points against points of one name",
    "pdist": "pairs",
    "corrcoef": "variables against variables",
    "cov": "variables against variables",
    "tensordot": "an operand's dims against another's of the same names",
    "cholesky": "one of the dims of a square matrix",
    "cholesky_ex": "one of the dims of a square matrix",
    "cholesky_inverse": "one of the dims of a square matrix",
    "cholesky_solve": "columns of both operands have one name",
    "solve": "columns of both operands have one name",
    "solve_ex": "columns of both operands have one name",
    "lstsq": "columns of both operands have one name; singular values",
    "geqrf": "reflectors",
    "lu": "pivoting mixes rows",
    "lu_factor": "pivoting mixes rows",
    "lu_factor_ex": "pivoting mixes rows",
    "ldl_factor": "pivoting mixes rows and columns",
    "ldl_factor_ex": "pivoting mixes rows and columns",
    "qr": "the dim between the factors",
    "svd": "singular values",
    "svdvals": "singular values",
    "eig": "eigenvalues",
    "eigh": "eigenvalues",
    "eigvals": "eigenvalues",
    "eigvalsh": "eigenvalues",
}
"""Functions that return a dim without a name though all dims they get have one, and what it is."""

LIKE_INPUT = {"other", "exponent", "target", "input2", "x2", "B", "mat2"}
BY_NAME = {"dim", "dim0", "dim1", "dims", "source"}
COUNT = {"kernel_size", "chunks", "k", "n", "split_size_or_sections", "indices_or_sections", "output_size"}
SIZES = {"N": 3, "C": 3, "H": 4, "W": 4}


def tensor(names: tuple[str, ...], kind: str) -> Tensor:
    stream = np.random.default_rng(len(names))
    sizes = [SIZES[name] for name in names]
    if kind == "integer":
        return wb.tensor(stream.integers(0, 3, sizes), names=names)
    x = wb.tensor(stream.uniform(0.2, 0.8, sizes).astype("float32"), names=names)
    return {"float": lambda: x, "bool": lambda: x > 0.5, "complex": lambda: wb.complex(x, x)}[kind]()


def arguments(function: Callable[..., Any], names: tuple[str, ...], kind: str) -> Iterator[Any]:
    required = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    yield tensor(names, kind)
    for one in required[1:]:
        if one.name in LIKE_INPUT:
            yield tensor(names, kind)
        elif one.name in BY_NAME:
            yield names[0]
        elif one.name in ("destination", "dim2"):
            yield names[-1]
        elif one.name == "mask":
            yield tensor(names, "bool")
        elif one.name == "index":
            yield wb.tensor([0, 1])
        else:
            yield 2 if one.name in COUNT else 1


def results_of(function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """Return what the function makes of the first kind of tensor that it takes; None where it takes none."""
    for names in (("N", "C", "H"), ("N", "C", "H", "W"), ("C", "H"), ("H", "W"), ("N", "C"), ("H",)):
        for kind in ("float", "integer", "bool", "complex"):
            try:
                result = function(*arguments(function, names, kind))
            except (RuntimeError, TypeError, ValueError, AttributeError, IndexError):
                continue
            return tuple(result) if isinstance(result, tuple | list) else (result,)
    return None


ROOMS = {
    "wb": ops.FUNCTIONS,
    "Tensor": {name: one for name, one in ops.METHODS.items() if name not in ops.FUNCTIONS},
    "nn": ops.NN,
    "linalg": ops.LINALG,
    "fft": ops.FFT,
    "special": ops.SPECIAL,
}
EVERY = [
    (room, name, function)
    for room, offered in ROOMS.items()
    for name, function in sorted(offered.items())
    if inspect.isfunction(function) and not name.endswith("_")
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("room", ROOMS)
def test_no_function_drops_a_name_without_a_reason(room: str) -> None:
    called = 0
    dropped: list[Any] = []
    for place, name, function in EVERY:
        if place != room:
            continue
        results = results_of(function)
        called += results is not None
        made = [one.names for one in results or () if isinstance(one, Tensor) and None in one.names]
        dropped += [(name, names) for names in made if name not in MADE]
    assert dropped == [], "if it must, say why in this file"
    assert called > 0.6 * sum(place == room for place, _, _ in EVERY)


SECOND = {"other", "target", "exponent", "input2", "x2", "end", "tensor1", "src", "source", "value"}
UNCOMPARED = {
    "cdist": "compares the columns alone, as vectors",
    "equal": "answers False",
    "expand_as": "takes the sizes alone",
    "reshape_as": "takes the sizes alone",
    "sum_to_size": "takes the sizes alone",
    "type_as": "takes the type alone",
    "view_as": "takes the sizes alone",
    "kron": "each dim of the result is one of either operand, multiplied out",
    "multilabel_margin_loss": "a target's last dim lists classes",
}
"""Functions of two tensors alike that take any names, and why."""


def called_with(function: Callable[..., Any], first: Tensor, second: Tensor) -> Any:
    """Return the result for the first kind of tensors that it takes, or why it takes none."""
    required = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    refusal: Exception | None = None
    for cast in (lambda x: x, lambda x: x.long(), lambda x: x > 0):
        try:
            return function(cast(first), cast(second), *(cast(second) for _ in required[2:]))
        except wb.DimensionError as error:
            return error
        except (RuntimeError, TypeError, ValueError, AttributeError, IndexError) as error:
            refusal = error
    return refusal


@pytest.mark.filterwarnings("ignore")
def test_two_tensors_alike_are_compared_by_name_in_every_function() -> None:
    first = wb.full(fill_value=0.5, N=3, channel=3)
    others = {
        "align_as(": wb.full(fill_value=0.5, channel=3, N=3),
        "misspelling": wb.full(fill_value=0.5, N=3, chanel=3),
        "do not match": wb.full(fill_value=0.5, N=3, K=3),
    }
    compared, accepted = 0, []
    for _, name, function in EVERY:
        parameters = list(inspect.signature(function).parameters)
        if len(parameters) < 2 or parameters[1] not in SECOND or name in UNCOMPARED:
            continue
        if isinstance(called_with(function, first, first), Exception):
            continue
        compared += 1
        for words, second in others.items():
            result = called_with(function, first, second)
            if not isinstance(result, wb.DimensionError) or words not in str(result):
                accepted.append((name, words))
    assert not accepted, accepted
    assert compared > 80


def test_losses_of_classes_compare_rows() -> None:
    scores = wb.randn(N=2, classes=3)
    for loss, target in (
        (wb.nn.functional.multilabel_margin_loss, wb.zeros(M=2, classes=3, dtype=wb.int64)),
        (wb.nn.functional.multi_margin_loss, wb.zeros(M=2, dtype=wb.int64)),
        (wb.nn.functional.cross_entropy, wb.zeros(M=2, dtype=wb.int64)),
        (wb.nn.functional.nll_loss, wb.zeros(M=2, dtype=wb.int64)),
    ):
        with pytest.raises(wb.DimensionError, match="'N' and dim 'M'"):
            loss(scores, target)
        assert loss(scores, target.rename(M="N"), reduction="none").names == ("N",)
