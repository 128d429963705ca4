"""Random programs on tensors of codes, beside the same on numbers that are rounded to codes after each step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import workbench as wb
from tests.quantization.random_code_steps import computed, moves, written
from tests.quantization.random_draws import Random, chance, pick, whole
from tests.quantization.random_modules import failure
from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core.overlap import repeats
from workbench.core.value import new

__all__ = ["code_failure", "run"]

TYPES = (wb.quint8, wb.qint8, wb.qint32, wb.quint4x2, wb.quint2x4)
TURNED = ("transpose_", "t_", "unsqueeze_", "squeeze_")
"""What changes how values are seen, and none of them."""
REFUSED = (
    wb.QuantizationError,
    wb.DTypeError,
    wb.DimensionError,
    RuntimeError,
    ValueError,
    IndexError,
    TypeError,
)


@dataclass(eq=False)
class Pair:
    """Codes, and the numbers that they stand for, in two memories that are looked at by the same views."""

    codes: Any
    real: Any


# ------------------------------------------------------------------------------------------ programs


def first(random: Random) -> Pair:
    """Draw codes in some layout."""
    dtype = pick(random, TYPES)
    shape = tuple(whole(random, 1, 5) for _ in range(whole(random, 0, 5)))
    if chance(random, 0.05):
        shape = (*shape, 0)
    low, high = code_range(dtype)
    if dtype is wb.qint32:
        low, high = -(2**20), 2**20
    codes = random.integers(low, high + 1, shape).astype(dtype.numpy)
    kind = pick(random, ["tensor"] * 4 + ["channels", "groups"])
    if kind == "channels" and shape and dtype not in (wb.quint2x4,):
        axis = whole(random, 0, len(shape))
        count = shape[axis]
        array = QuantizedArray(
            codes, random.uniform(0.01, 1, count), random.integers(0, 4, count), dtype, axis
        )
    elif kind == "groups" and shape and shape[-1]:
        group = whole(random, 1, shape[-1] + 1)
        many = (*shape[:-1], -(-shape[-1] // group))
        array = QuantizedArray(
            codes, random.uniform(0.01, 1, many), random.integers(0, 4, many), dtype, None, group
        )
    else:
        array = QuantizedArray(codes, float(random.uniform(0.01, 1)), whole(random, 0, 4), dtype)
    value = new(array)
    if shape and chance(random, 0.2):
        value = value.rename(*"ABCDE"[: len(shape)])
    return Pair(value, value.dequantize())


def rounded(real: Any, like: Any) -> Any:
    """Return numbers as the codes of a value stand for them."""
    return new(like.payload.rounded(real.numpy()).dequantize(), real.names)


def run(seed: int, told: Callable[[str, str], None] = lambda step, words: None) -> list[str]:
    """Run the program of a seed; return its steps. Raises AssertionError where codes and numbers go apart."""
    random = np.random.default_rng([seed, 7])
    base = first(random)
    known, said = [base], [f"{base.codes.payload!r}"]
    for _ in range(whole(random, 1, 7)):
        pair = pick(random, known)
        ways = pick(random, [moves, moves, computed, written])
        table = ways(random, pair.codes)
        name = pick(random, [*table])
        said.append(f"{known.index(pair)}: {name} of {list(pair.codes.shape)}")
        before = [image(one.codes) for one in known]
        try:
            real = table[name](pair.real)
        except REFUSED:
            real = None
        try:
            found = table[name](pair.codes)
        except REFUSED as error:
            words = f"{type(error).__name__}: {error}"
            told(name, words)
            if len(str(error)) <= 15:
                raise AssertionError(f"{said}: {words}") from error
            for one, other in zip(known, before, strict=True):
                assert image(one.codes) == other, f"{said}: refused, and changed"
            if real is not None and ways is written:
                # The numbers were changed, and the codes were not.
                return said
            continue
        assert real is not None, f"{said}: codes give {found}, and numbers are refused"
        judge(found, real, pair, ways is written, known, said)
        if isinstance(found, wb.Tensor) and found.is_quantized and ways is not written:
            known.append(Pair(found, rounded(real, found) if ways is computed else real))
    return said


def image(x: Any) -> Any:
    payload = x.payload
    return (
        tuple(x.shape),
        payload.codes.tobytes(),
        np.asarray(payload.scale).tobytes(),
        np.asarray(payload.zero_point).tobytes(),
        x.names,
    )


def judge(found: Any, real: Any, pair: Pair, changed: bool, known: list[Pair], said: list[str]) -> None:
    assert tuple(found.shape) == tuple(real.shape), f"{said}: sizes {found.shape}, of numbers {real.shape}"
    assert found.names == real.names, f"{said}: names {found.names}, of numbers {real.names}"
    if not found.is_quantized:
        if real.dtype.is_floating_point and found.dtype.is_floating_point:
            np.testing.assert_allclose(found.numpy(), real.numpy(), rtol=1e-6, err_msg=str(said))
        else:
            np.testing.assert_array_equal(found.numpy(), real.numpy(), err_msg=str(said))
        return
    wanted = rounded(real, found)
    if changed and real.numel() and said[-1].split()[1] not in TURNED:
        # Whoever sees this memory sees numbers that codes stand for.
        if repeats(real.numpy()):
            real.fill_(wanted.flatten()[0].item())
        else:
            real.copy_(wanted)
    # The mean of codes may lie on a half, which float32 misses.
    step = (
        found.payload.along_axis(found.payload.scale) * 1.01
        if "avg" in said[-1] or "mean" in said[-1]
        else 0.0
    )
    apart = np.abs(found.dequantize().numpy() - wanted.numpy())
    assert np.all(apart <= np.maximum(step, 1e-6 * np.abs(wanted.numpy()))), (
        f"{said}: {found}, by numbers {wanted}"
    )
    if changed:
        for i, one in enumerate(known):
            np.testing.assert_allclose(
                one.codes.dequantize().numpy(),
                one.real.numpy(),
                rtol=1e-6,
                atol=0,
                err_msg=f"{said}: seen from {i}",
            )


def code_failure(seed: int) -> str | None:
    """Return what is wrong with the program of a seed, which is nothing where all is well."""
    return failure(f"codes, seed {seed}", lambda: run(seed))
