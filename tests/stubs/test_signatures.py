"""Every function that people call shows its parameters and says what it does, where a person or an editor asks."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import ops
from workbench.tensor import new_like

OFFERED: dict[str, dict[str, Any]] = {
    "workbench": ops.FUNCTIONS,
    # Factories take sizes by name: these have their own test.
    "Tensor": {name: one for name, one in ops.METHODS.items() if name not in new_like.__all__},
    "nn.functional": ops.NN,
    "linalg": ops.LINALG,
    "fft": ops.FFT,
    "special": ops.SPECIAL,
    "sparse": ops.SPARSE,
}
EVERY = [
    pytest.param(function, id=f"{room}.{name}")
    for room, offered in OFFERED.items()
    for name, function in offered.items()
    if inspect.isfunction(function)
]
VARIADIC = {
    "align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "chain_matmul", "contract", "einsum", "meshgrid", "resize", "sum_to_size",
    "to",
}  # fmt: skip
"""Functions that take any number of tensors, sizes, names or targets one by one, in PyTorch as here."""
TWO_FORMS = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
"""Functions of which the same places mean other things in each form, in PyTorch as here: overloads say which."""


@pytest.mark.parametrize("function", EVERY)
def test_parameters_have_names(function: Callable[..., Any]) -> None:
    if function.__name__ in TWO_FORMS:
        assert len(typing.get_overloads(function)) == 2
        return
    parameters = inspect.signature(function).parameters.values()
    assert all(one.kind is not one.VAR_KEYWORD for one in parameters)
    starred = [one for one in parameters if one.kind is one.VAR_POSITIONAL]
    if starred and function.__name__.removesuffix("_") not in VARIADIC:
        # Dims and sizes one by one, as in x.permute(2, 0, 1): they can be given as one, by PyTorch's name for it.
        together = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
        assert together & {"dims", "size", "shape", "repeats"}, inspect.signature(function)


@pytest.mark.parametrize("function", EVERY)
def test_the_documentation_starts_with_a_sentence(function: Callable[..., Any]) -> None:
    first = (inspect.getdoc(function) or "").partition("\n\n")[0]
    assert len(first) > 2
    assert first.rstrip().endswith((".", "!", ":", "``")), first


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (wb.add, "(input, other, *, alpha=1, out=None)"),
        (wb.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
        (wb.linalg.svd, "(A, full_matrices=True, *, driver=None, out=None)"),
        (wb.nn.functional.softmax, "(input, dim=None, _stacklevel=3, dtype=None)"),
        (wb.Tensor.add_, "(input, other, *, alpha=1)"),
        (
            wb.zeros,
            "(*size, names=None, dtype=None, device=None, requires_grad=False, out=None, layout=None, "
            "pin_memory=False, **dims)",
        ),
    ],
)
def test_signatures_are_pytorchs(function: Callable[..., Any], signature: str) -> None:
    bare = inspect.signature(function)
    bare = bare.replace(
        parameters=[one.replace(annotation=inspect.Parameter.empty) for one in bare.parameters.values()],
        return_annotation=inspect.Signature.empty,
    )
    assert str(bare) == signature


@pytest.mark.parametrize(
    ("place", "offered"),
    [
        (wb, ops.FUNCTIONS),
        (wb.Tensor, ops.METHODS),
        (wb.nn.functional, ops.NN),
        (wb.linalg, ops.LINALG),
        (wb.fft, ops.FFT),
        (wb.special, ops.SPECIAL),
        (wb.sparse, ops.SPARSE),
    ],
    ids=["workbench", "Tensor", "nn.functional", "linalg", "fft", "special", "sparse"],
)
def test_completion_offers_every_function(place: Any, offered: dict[str, Any]) -> None:
    # What the package itself leaves out of its list, tests/base/test_public.py says.
    assert place is wb or set(offered) <= set(dir(place))
    assert all(getattr(place, name) is not None for name in offered)


@pytest.mark.parametrize(
    "room", [wb, wb.linalg, wb.fft, wb.special, wb.sparse, wb.nn.functional], ids=lambda room: room.__name__
)
def test_everything_exported_is_there(room: Any) -> None:
    assert room is wb or set(room.__all__) <= set(dir(room))
    assert len(set(room.__all__)) == len(room.__all__)
