"""Cross-layer equalization: channels of one layer get the range that they have in the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.nn import Module
from workbench.quantization.rescaling.joints import LAYERS, Joint, joints
from workbench.quantization.rescaling.state import Numbers, traced

__all__ = ["equalize"]

Array = np.ndarray[Any, Any]

_ROUNDS = 100
_SETTLED = 1e-3
"""Where no factor changes by more than this part, nothing is gained by going on."""


def equalize(model: Module, *inputs: Any) -> Any:
    """Return a copy of `model` that computes the same and whose weights fill one scale a tensor better.

    For each channel i between two layers, with r₁ and r₂ the largest sizes of the weights that make and that read it,
    s = √(r₁·r₂) / r₂; the first layer's row i is divided by s and the second's column i multiplied: both ranges become
    √(r₁·r₂). It goes from joint to joint until nothing moves. Between the layers may stand a batch normalisation with
    weight and bias, ReLU, leaky ReLU, poolings and flatten, as modules or functions; a value that anything else reads
    is left as it is. `inputs` are an example, by which the model is traced.

    Raises `QuantizationError` where no two layers follow one another so.

    M. Nagel and others, *Data-free quantization through weight equalization and bias correction*, 2019.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(2, 3), wb.nn.ReLU(), wb.nn.Linear(3, 1))
    >>> x = wb.rand(4, 2)
    >>> bool(wb.allclose(equalize(model, x)(x), model(x), atol=1e-6))
    True
    """
    made, graph = traced(model, inputs)
    found = joints(graph, LAYERS)
    if not found:
        raise QuantizationError(
            "no two layers follow one another with nothing between but batch normalisation, ReLU, leaky ReLU, pooling "
            "and flatten: there is nothing to equalize (a ReLU6 or a sigmoid lets no factor through)"
        )
    numbers = Numbers(graph)
    for _ in range(_ROUNDS):
        if max(_moved(joint, numbers) for joint in found) < _SETTLED:
            break
    numbers.write(made)
    return made


def _moved(joint: Joint, numbers: Numbers) -> float:
    """Equalize one joint; return the largest change of a factor, in its logarithm."""
    first = _range_of_rows(joint, numbers)
    second = np.max([reader.ranges(numbers[reader.weight.name]) for reader in joint.readers], axis=0)
    # A channel that no weight makes, or that none reads, has no range to be matched.
    matched = (first > 0) & (second > 0) & np.isfinite(first) & np.isfinite(second)
    scale = np.ones(first.shape)
    scale[matched] = np.sqrt(first[matched] / second[matched])
    for parameter in joint.made:
        rows = numbers[parameter.name]
        rows /= scale.reshape(-1, *[1] * (rows.ndim - 1))
    for reader in joint.readers:
        reader.multiply(numbers[reader.weight.name], scale)
    return float(np.abs(np.log(scale)).max(initial=0))


def _range_of_rows(joint: Joint, numbers: Numbers) -> Array:
    """Return the largest size in each row of the first weight, as it is with its normalisation folded in."""
    weight = numbers[joint.weight.name]
    rows: Array = np.abs(weight.reshape(len(weight), -1)).max(1)
    if joint.norm is None:
        return rows
    _, _, variance, gain = (operand.name for operand in joint.norm.inputs[:4])
    folded: Array = rows * np.abs(numbers[gain]) / np.sqrt(numbers[variance] + joint.norm.params["eps"])
    return folded
