"""Kernels on codes that are told what their result is coded by: softmax, norms, products, resampling, rows of tables.

Each gives the very codes of the plain array code in `workbench.ops.quantized`, of unsigned 8-bit codes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.kernels.loader import native
from workbench.kernels.registry import Kernel, register

__all__: list[str] = []

_UINT8 = np.dtype(np.uint8)
_LONGEST_ROW = 1 << 22
_LONGEST_PRODUCT = 1 << 15


def _lie_plainly(*given: Any) -> bool:
    return all(one.flags.c_contiguous for one in given if type(one) is np.ndarray)


def _accepts_rows(codes: Any, *rest: Any) -> bool:
    fits = type(codes) is np.ndarray and codes.dtype == _UINT8 and codes.ndim == 2
    return fits and codes.shape[1] <= _LONGEST_ROW and _lie_plainly(*rest)


def _accepts_matrices(a: Any, a_scale: float, a_zero: int, b: Any, *rest: Any) -> bool:
    return all(type(one) is np.ndarray and one.dtype == _UINT8 and one.ndim == 3 for one in (a, b)) and (
        a.shape[2] <= _LONGEST_PRODUCT
    )


def _accepts_image(codes: Any, *rest: Any) -> bool:
    return type(codes) is np.ndarray and codes.dtype == _UINT8 and 3 <= codes.ndim <= 5


def _accepts_table(codes: Any, *rest: Any) -> bool:
    return (
        type(codes) is np.ndarray and codes.dtype == _UINT8 and codes.ndim == 2 and _lie_plainly(codes, *rest)
    )


if native is not None:
    _CODES = ("uint8",)
    register(Kernel("softmax_codes", native.softmax_codes, _accepts_rows, _CODES))
    register(Kernel("normalise_codes", native.normalise_codes, _accepts_rows, _CODES))
    register(
        Kernel("multiply_matrices_of_codes", native.multiply_matrices_of_codes, _accepts_matrices, _CODES)
    )
    register(Kernel("resample_codes", native.resample_codes, _accepts_image, _CODES))
    register(Kernel("rows_of_codes", native.rows_of_codes, _accepts_table, _CODES))
    register(Kernel("bags_of_codes", native.bags_of_codes, _accepts_table, _CODES))
