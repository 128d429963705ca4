"""Convolution and pooling of [N, C, L]: the two-dimensional kernels on a plane of height 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.kernels import convolution, pool  # noqa: F401  what is declared there is looked up below
from workbench.kernels._arrays import FLOAT32
from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, lookup, lookup_half, register

__all__: list[str] = []

_OF_HEIGHT_ONE = {"kernel": 1, "stride": 1, "padding": 0, "dilation": 1}


def _raised(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the call on a plane."""
    result = dict(params)
    for key, value in params.items():
        if key in _OF_HEIGHT_ONE:
            result[key] = (_OF_HEIGHT_ONE[key], *value)
        elif key in ("input_shape", "weight_shape"):
            result[key] = (*value[:2], 1, value[2])
    return result


def _line(plane: Any) -> Any:
    # Of float32 an array that is nobody's view: a leaf may keep it as its gradient without a copy.
    return native.without_height(plane) if plane.dtype == FLOAT32 else plane[:, :, 0]


def _on_a_plane(run: Callable[..., Any]) -> Callable[..., Any]:
    def along(*arrays: Any, **params: Any) -> Any:
        # A view. What has no three dims, such as a bias, has no height to be given.
        planes = [one[:, :, None] if one is not None and one.ndim == 3 else one for one in arrays]
        out = run(*planes, **_raised(params))
        # Places in a plane of height 1 are places in the line: indices of the largest need no change.
        return tuple([_line(one) for one in out]) if isinstance(out, tuple) else _line(out)

    return along


_BY_LINE: dict[str, Callable[..., Any]] = (
    {}
    if native is None
    else {"max_pool1d": native.max_pool_planes, "max_pool1d_gradient": native.max_pool_planes_gradient}
)


def _as_it_lies(run: Callable[..., Any], on_a_plane: Callable[..., Any]) -> Callable[..., Any]:
    """Take lines that lie one after the other as they are: turning them costs more than pooling."""

    def either(first: Any, *others: Any, **params: Any) -> Any:
        return (run if first.flags.c_contiguous else on_a_plane)(first, *others, **params)

    return either


def _accepting(accepts: Callable[..., bool]) -> Callable[..., bool]:
    def fits(first: Any, *others: Any, **params: Any) -> bool:
        if type(first) is not np.ndarray or first.ndim != 3:
            return False
        planes = [one[:, :, None] if one is not None and one.ndim == 3 else one for one in others]
        return accepts(first[:, :, None], *planes, **params)

    return fits


if native is not None:
    for _name in ("conv", "max_pool", "avg_pool"):
        for _part in ("", "_input_gradient", "_weight_gradient", "_gradient"):
            for _found, _half in ((lookup, False), (lookup_half, True)):
                _kernel = _found(f"{_name}2d{_part}")
                # Not every op has every part.
                if _kernel is not None:
                    _run, _accepts = _on_a_plane(_kernel.run), _accepting(_kernel.accepts)
                    if not _half and f"{_name}1d{_part}" in _BY_LINE:
                        _run = _as_it_lies(_BY_LINE[f"{_name}1d{_part}"], _run)
                    register(Kernel(f"{_name}1d{_part}", _run, _accepts, _kernel.needs), half=_half)
