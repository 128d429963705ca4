"""What PyTorch makes of special values: ``python -m tests.kernels.recorded`` writes it anew, with torch."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.kernels.special_layers import BY_LAYER, digest
from tests.kernels.special_steps import BY_STEP, OTHERS, STEP_DTYPES, stepped
from tests.kernels.special_values import BY_ELEMENT, BY_ROW, IN_VECTORS, TOLERANCE, Case, values_in, with_one

FILE = pathlib.Path(__file__).with_suffix(".npz")


def asked(torch: Any, case: Case, arrays: list[Any]) -> list[Any]:
    """Return the result of a case and its gradients, from PyTorch in float64."""
    operands = [torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in arrays]
    # Attention as its formula has it, and no faster way to it.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        result = case(torch, torch.nn.functional, *operands)
        gradients = torch.autograd.grad(result.sum(), operands, allow_unused=True)
    return [
        np.zeros_like(array) if one is None else one.detach().numpy()
        for one, array in zip((result, *gradients), (None, *arrays), strict=True)
    ]


def by_element(torch: Any, name: str, dtype: str) -> tuple[Any, Any]:
    """Return results and slopes at each of the values."""
    many = 64 if name in IN_VECTORS else 1
    both = [asked(torch, BY_ELEMENT[name], [np.full(many, one)]) for one in values_in(dtype)]
    return np.array([one[0][0] for one in both]), np.array([one[1][0] for one in both])


def record(torch: Any) -> Iterator[tuple[str, Any]]:
    """Yield everything under the name by which tests ask for it."""
    for name in BY_ELEMENT:
        for dtype in TOLERANCE:
            result, slope = by_element(torch, name, dtype)
            yield f"{name}/{dtype}/0", result
            yield f"{name}/{dtype}/1", slope
    for name, (case, shapes) in BY_ROW.items():
        for where, arrays in with_one(shapes):
            for i, one in enumerate(asked(torch, case, arrays)):
                yield f"{name}/{where}/{i}", one.astype(np.float32)
    for name, (case, shapes) in BY_LAYER.items():
        for where, arrays in with_one(shapes):
            digests = [digest(one) for one in asked(torch, case, arrays)]
            yield f"{name}/{where}/kinds", np.concatenate([kinds.reshape(-1) for kinds, _ in digests])
            yield f"{name}/{where}/sums", np.array([total for _, total in digests])
    for name in BY_STEP:
        for dtype in STEP_DTYPES:
            for others in OTHERS:
                yield f"{name}/{dtype}/{others}", np.stack(stepped(torch, name, dtype, others))


if __name__ == "__main__":
    import torch

    with np.errstate(all="ignore"):
        np.savez_compressed(FILE, **dict(record(torch)))
