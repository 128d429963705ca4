"""Layers that compute on the numbers that codes stand for: dequantize, compute, quantize under the observed scale.

That is how PyTorch's own do it, too. What has an integer kernel stands in `layers.py`.
"""

from __future__ import annotations

from typing import Any

from workbench import nn
from workbench.base.dtypes import quint8
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
Sigmoid, Softmax, Tanh = (_computed(kind) for kind in (nn.Sigmoid, nn.Softmax, nn.Tanh))
BatchNorm2d, BatchNorm3d, GroupNorm = (
    _computed(kind) for kind in (nn.BatchNorm2d, nn.BatchNorm3d, nn.GroupNorm)
)
InstanceNorm1d, InstanceNorm2d = (_computed(kind) for kind in (nn.InstanceNorm1d, nn.InstanceNorm2d))
InstanceNorm3d, LayerNorm = (_computed(kind) for kind in (nn.InstanceNorm3d, nn.LayerNorm))
BNReLU2d, BNReLU3d = (_computed(kind) for kind in (fused.BNReLU2d, fused.BNReLU3d))
