"""Layers that compute on the numbers that codes stand for: dequantize, compute, quantize under the observed scale.

That is how PyTorch's own do it, too. Norms and softmax are made of whole sums of codes where codes are of 8 bits; what
has a weight in codes stands in `layers.py`.
"""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.base.dims import dim_index
from workbench.base.dtypes import quint8
from workbench.core.op import ops
from workbench.core.value import dims_of
from workbench.nn import Module
from workbench.ops.quantized.quantize import DEQUANTIZE, QUANTIZE_PER_TENSOR
from workbench.quantization.intrinsic import modules as fused
from workbench.quantization.observed import observer_of
from workbench.quantization.quantized.boundary import QuantizedModule, require_codes

__all__ = [
    "ELU", "GELU", "BNReLU2d", "BNReLU3d", "BatchNorm2d", "BatchNorm3d", "Computed", "GroupNorm",
    "Hardsigmoid", "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "PReLU",
    "ReLU6", "SiLU", "Sigmoid", "Softmax", "Tanh",
]  # fmt: skip


_INNER = "inner."


class Computed(QuantizedModule):
    """A floating point module between codes: q = quantize(f(dequantize(x)))."""

    def __init__(self, inner: Module) -> None:
        super().__init__()
        self.inner = inner.eval()
        self.dtype = quint8

    @classmethod
    def from_float(cls, module: Any) -> Any:
        """Return the form on codes of an observed module."""
        observer = observer_of(module)
        made = cls(_bare(module))
        made.dtype = observer.dtype
        made.set_output(observer)
        return made

    def forward(self, input: Any) -> Any:
        """Compute on codes [any dims]."""
        require_codes(self, input)
        return QUANTIZE_PER_TENSOR(
            self.inner(DEQUANTIZE(input)),
            scale=float(self.scale.payload), zero_point=int(self.zero_point.payload),
            qmin=self.quant_min, qmax=self.quant_max, dtype=self.dtype,
        )  # fmt: skip

    def state_dict(self, *args: Any, **settings: Any) -> Any:
        """Return the state, in which the module's own tensors stand beside scale and zero point."""
        prefix = settings.get("prefix", args[1] if len(args) > 1 else "")
        found = super().state_dict(*args, **settings)
        for key in [key for key in found if key.startswith(f"{prefix}{_INNER}")]:
            found[prefix + key.removeprefix(f"{prefix}{_INNER}")] = found.pop(key)
        return found

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # In place: the module inside is given what is left of it.
        for key in [key for key in state_dict if key.startswith(prefix)]:
            last = key.removeprefix(prefix)
            if last not in self._buffer_names and not last.startswith(_INNER):
                state_dict[f"{prefix}{_INNER}{last}"] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        """Return scale and zero point."""
        return self._output_repr()


class _Served(Computed):
    """A module whose op has a kernel on codes: what that takes beside them, and its parameters, are the module's."""

    def served(self, input: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
        """Return the op on codes, what it takes beside the input, and its parameters; None where none does the same."""
        raise AssertionError("each kind says it")  # pragma: no cover

    def forward(self, input: Any) -> Any:
        """Compute on codes [any dims]."""
        require_codes(self, input)
        found = self.served(input) if self.dtype is quint8 is input.payload.dtype else None
        if found is None:
            return super().forward(input)
        op, factors, params = found
        return op(
            input, *factors, **params, scale=float(self.scale.payload), zero_point=int(self.zero_point.payload),
            qmin=self.quant_min, qmax=self.quant_max,
        )  # fmt: skip


def _factors(inner: Any) -> tuple[Any, ...]:
    return tuple(one for one in (inner.weight, inner.bias) if one is not None)


class LayerNorm(_Served):
    """`LayerNorm` between codes."""

    def served(self, input: Any) -> Any:
        """Normalise over the last dims."""
        inner: Any = self.inner
        if not inner.normalized_shape or tuple(dims_of(input).sizes[-len(inner.normalized_shape) :]) != tuple(
            inner.normalized_shape
        ):
            return None  # refused by the module, in its words
        return (
            ops.quantized_layer_norm, _factors(inner), {"count": len(inner.normalized_shape), "eps": inner.eps}
        )  # fmt: skip


class GroupNorm(_Served):
    """`GroupNorm` between codes."""

    def served(self, input: Any) -> Any:
        """Normalise groups of channels."""
        inner: Any = self.inner
        return ops.quantized_group_norm, _factors(inner), {"groups": inner.num_groups, "eps": inner.eps}


class _InstanceNorm(_Served):
    """An instance normalisation between codes."""

    rank: int

    def served(self, input: Any) -> Any:
        """Normalise each channel of each sample, unless running statistics stand for its own."""
        inner: Any = self.inner
        sizes = dims_of(input).sizes
        if inner.running_mean is not None or len(sizes) != self.rank:
            return None
        return ops.quantized_group_norm, _factors(inner), {"groups": sizes[1], "eps": inner.eps}


class InstanceNorm1d(_InstanceNorm):
    """`InstanceNorm1d` between codes."""

    rank = 3


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm2d` between codes."""

    rank = 4


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm3d` between codes."""

    rank = 5


class Softmax(_Served):
    """`Softmax` between codes."""

    def served(self, input: Any) -> Any:
        """Scale powers of e along the dim that is named; one that is not is chosen by the module."""
        inner: Any = self.inner
        if inner.dim is None:
            return None
        return ops.quantized_softmax, (), {"dim": dim_index(dims_of(input), inner.dim)}


def _bare(module: Any) -> Any:
    """Return a module without its observers and the hook that shows them values."""
    object.__setattr__(module, "_hooks", None)
    object.__setattr__(module, "_hooked", False)
    for name in ("activation_post_process", "weight_post_process"):
        if name in module._module_names:
            delattr(module, name)
    return module


def _computed(kind: type) -> Any:
    """Return the class on codes of a floating point one."""
    made = type(kind.__name__, (Computed,), {"__doc__": f"`{kind.__name__}` between codes."})
    made.__module__ = __name__
    return made


ELU, GELU, Hardsigmoid, Hardswish = (
    _computed(kind) for kind in (nn.ELU, nn.GELU, nn.Hardsigmoid, nn.Hardswish)
)
LeakyReLU, PReLU, ReLU6, SiLU = (_computed(kind) for kind in (nn.LeakyReLU, nn.PReLU, nn.ReLU6, nn.SiLU))
Sigmoid, Tanh, BatchNorm2d, BatchNorm3d = (
    _computed(kind) for kind in (nn.Sigmoid, nn.Tanh, nn.BatchNorm2d, nn.BatchNorm3d)
)
BNReLU2d, BNReLU3d = (_computed(kind) for kind in (fused.BNReLU2d, fused.BNReLU3d))
