"""Functions of codes that are told what their result is coded by: sums, products, joins, products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.base.quantized_array import QuantizedArray, code_range
from workbench.core.op import ops
from workbench.core.typing import Dim, Tensor
from workbench.ops.quantized.convolution import check_codes
from workbench.ops.quantized.scalars import QUANTIZED_ADD_SCALAR, QUANTIZED_MUL_SCALAR
from workbench.ops.shape.join import cat as joined

__all__ = [
    "add", "add_relu", "add_scalar", "add_scalar_relu", "cat", "coded", "matmul", "mul", "mul_relu", "mul_scalar",
    "mul_scalar_relu", "recoded",
]  # fmt: skip


def coded(name: str, operands: Sequence[Any], scale: float, zero_point: int, **params: Any) -> Tensor:
    """Call the op on codes that is called `name` there, for a result of this scale and zero point."""
    check_codes(f"quantized {name}", operands[0])
    low, high = code_range(operands[0].dtype)
    found: Tensor = getattr(ops, f"quantized_{name}")(
        *operands, scale=float(scale), zero_point=int(zero_point), qmin=low, qmax=high, **params
    )
    return found


def recoded(codes: Tensor, *, scale: float, zero_point: int, qmin: int, qmax: int) -> Tensor:
    """Return codes under this scale and within these limits: those that have them already as they are.

    What codes have is known where there are some: in a trace they are written anew, which leaves the same ones.
    """
    held = codes.payload
    if (
        isinstance(held, QuantizedArray)
        and held.per_tensor
        and (float(held.scale), int(held.zero_point), *code_range(held.dtype))
        == (scale, zero_point, qmin, qmax)
    ):
        return codes
    found: Tensor = ops.quantized_clone(codes, scale=scale, zero_point=zero_point, qmin=qmin, qmax=qmax)
    return found


def _both(name: str, a: Tensor, b: Tensor, scale: float, zero_point: int, relu: bool) -> Tensor:
    check_codes(f"quantized {name}", b, a.dtype if a.is_quantized else b.dtype)
    return coded(name, (a, b), scale, zero_point, relu=relu)


def add(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """Add what two tensors of codes stand for: q = clamp(rne((a + b) / scale) + zero_point).

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> a = wb.quantize_per_tensor(wb.tensor([1.0, -2.0]), 0.1, 30, wb.quint8)
    >>> F.add(a, a, 0.2, 50).dequantize()
    tensor([ 2., -4.])
    """
    return _both("add", qa, qb, scale, zero_point, relu=False)


def add_relu(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """Add what two tensors of codes stand for, and rectify: nothing is below the zero point."""
    return _both("add", qa, qb, scale, zero_point, relu=True)


def mul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """Multiply what two tensors of codes stand for: q = clamp(rne(a·b / scale) + zero_point).

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> a = wb.quantize_per_tensor(wb.tensor([1.0, -2.0]), 0.1, 30, wb.quint8)
    >>> F.mul(a, a, 0.5, 0).dequantize()
    tensor([1., 4.])
    """
    return _both("mul", qa, qb, scale, zero_point, relu=False)


def mul_relu(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """Multiply what two tensors of codes stand for, and rectify."""
    return _both("mul", qa, qb, scale, zero_point, relu=True)


def add_scalar(qa: Tensor, c: float) -> Tensor:
    """Add a number: the zero point moves by rne(c / scale), and codes change only where it would leave them.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> q = F.add_scalar(wb.quantize_per_tensor(wb.tensor([1.0, 2.0]), 0.1, 30, wb.quint8), 0.5)
    >>> q.dequantize(), q.q_zero_point()
    (tensor([1.5000, 2.5000]), 25)
    """
    check_codes("quantized add_scalar", qa, qa.dtype)
    return QUANTIZED_ADD_SCALAR(qa, value=float(c), relu=False)


def add_scalar_relu(qa: Tensor, c: float) -> Tensor:
    """Add a number, and rectify."""
    check_codes("quantized add_scalar", qa, qa.dtype)
    return QUANTIZED_ADD_SCALAR(qa, value=float(c), relu=True)


def mul_scalar(qa: Tensor, c: float) -> Tensor:
    """Multiply with a number: the scale changes, and a negative number turns the codes around.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> F.mul_scalar(wb.quantize_per_tensor(wb.tensor([1.0, 2.0]), 0.1, 30, wb.quint8), -2.0).dequantize()
    tensor([-2., -4.])
    """
    check_codes("quantized mul_scalar", qa, qa.dtype)
    return QUANTIZED_MUL_SCALAR(qa, value=float(c), relu=False)


def mul_scalar_relu(qa: Tensor, c: float) -> Tensor:
    """Multiply with a number, and rectify."""
    check_codes("quantized mul_scalar", qa, qa.dtype)
    return QUANTIZED_MUL_SCALAR(qa, value=float(c), relu=True)


def cat(qxs: Sequence[Tensor], dim: Dim, scale: float, zero_point: int) -> Tensor:
    """Put tensors of codes side by side, each brought to `scale` and `zero_point`.

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> a = wb.quantize_per_tensor(wb.tensor([1.0, 2.0]), 0.1, 30, wb.quint8)
    >>> b = wb.quantize_per_tensor(wb.tensor([3.0]), 0.5, 0, wb.quint8)
    >>> F.cat([a, b], 0, 0.5, 10).int_repr().tolist()
    [12, 14, 16]
    """
    if not qxs:
        raise ValueError("quantized cat: expected a non-empty list of tensors")
    dtype = qxs[0].dtype
    for one in qxs:
        check_codes("quantized cat", one, dtype if one.is_quantized else one.dtype)
    low, high = code_range(dtype)
    told: dict[str, Any] = {"scale": float(scale), "zero_point": int(zero_point), "qmin": low, "qmax": high}
    return joined([recoded(one, **told) for one in qxs], dim)


def matmul(qa: Tensor, qb: Tensor, scale: float, zero_point: int) -> Tensor:
    """Multiply matrices of codes, in batches too: q = clamp(rne(a·b / scale) + zero_point).

    >>> import workbench as wb
    >>> from workbench.quantization.quantized import functional as F
    >>> a = wb.quantize_per_tensor(wb.tensor([[1.0, 2.0]]), 0.1, 30, wb.quint8)
    >>> F.matmul(a, a.t(), 0.5, 0).dequantize()
    tensor([[5.]])
    """
    check_codes("quantized matmul", qb, qb.dtype)
    return coded("matmul", (qa, qb), scale, zero_point)
