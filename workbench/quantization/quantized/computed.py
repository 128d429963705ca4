"""Layers that compute on the numbers that codes stand for: dequantize, compute, quantize under the observed scale.

That is how PyTorch's own do it, too. Norms and softmax are made of whole sums of codes where codes are of 8 bits; what
has a weight in codes stands in `layers.py`.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from workbench import nn
from workbench.base.dims import dim_index
from workbench.base.dtypes import quint8
from workbench.core.op import ops
from workbench.core.value import dims_of
from workbench.nn import Module
from workbench.nn.state import once_checked
from workbench.ops.quantized.quantize import DEQUANTIZE, QUANTIZE_PER_TENSOR
from workbench.quantization.intrinsic import modules as fused
from workbench.quantization.observed import observer_of
from workbench.quantization.quantized.boundary import QuantizedModule, require_codes

__all__ = [
    "ELU", "GELU", "BNReLU2d", "BNReLU3d", "BatchNorm2d", "BatchNorm3d", "Computed", "GroupNorm",
    "Hardsigmoid", "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "PReLU",
    "SiLU", "Sigmoid", "Softmax", "Tanh",
]  # fmt: skip


_SCALE = ("scale", "zero_point")


class Computed(QuantizedModule):
    """A floating point module between codes: q = quantize(f(dequantize(x)))."""

    inside: ClassVar[str] = "inner."
    """Where the module's own tensors stand, which a state has beside scale and zero point."""

    in_rows: ClassVar[bool] = False
    """Whether a state has scale and zero point as rows of one number, as PyTorch has them here."""

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
        return QUANTIZE_PER_TENSOR(self.inner(DEQUANTIZE(input)), **self._coding(), dtype=self.dtype)

    def state_dict(self, *args: Any, **settings: Any) -> Any:
        """Return the state, in which the module's own tensors stand beside scale and zero point."""
        prefix = settings.get("prefix", args[1] if len(args) > 1 else "")
        found = super().state_dict(*args, **settings)
        for key in [key for key in found if key.startswith(prefix + self.inside)]:
            found[prefix + key.removeprefix(prefix + self.inside)] = found.pop(key)
        if self.in_rows:
            found.update({prefix + name: found[prefix + name].reshape(1) for name in _SCALE})
        return found

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # In place: the module inside is given what is left of it.
        for key in [key for key in state_dict if key.startswith(prefix)]:
            last = key.removeprefix(prefix)
            if last not in self._buffer_names and not last.startswith(self.inside):
                state_dict[prefix + self.inside + last] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        """Return scale and zero point."""
        return self._output_repr()

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"


class _Stateless(Computed):
    """A module of which PyTorch's state has nothing: what it holds is beside the versions there."""

    def state_dict(self, *args: Any, **settings: Any) -> Any:
        """Return the state; where it has no place for versions, it has the tensors."""
        prefix = settings.get("prefix", args[1] if len(args) > 1 else "")
        found = super().state_dict(*args, **settings)
        if hasattr(found, "_metadata"):
            own = {name: found.pop(prefix + name) for name in self._held()}
            found._metadata[prefix[:-1]]["held"] = {name: one.detach().clone() for name, one in own.items()}
        return found

    def _held(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _SCALE}
        return {**own, **{name: one.detach() for name, one in self.inner.named_parameters()}}

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        held, own = local_metadata.get("held", {}), self._held()
        kept = [name for name in own if name not in held and prefix + name not in state_dict]
        for name, one in own.items():
            state_dict.setdefault(prefix + name, held.get(name, one))
        if kept:
            once_checked(local_metadata, lambda: self._tell(prefix, kept))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _tell(self, prefix: str, kept: list[str]) -> None:
        names = ", ".join(prefix + name for name in kept)
        warnings.warn(
            f"the state has no {names}, as PyTorch saves none of a quantized {type(self).__name__}: they stay as they "
            "are here. Calibrate on the same data before, or set them behind",
            stacklevel=4,
        )


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
        return op(input, *factors, **params, **self._coding())


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


def _computed(kind: type, base: type = Computed, **settings: Any) -> Any:
    """Return the class on codes of a floating point one."""
    made = type(kind.__name__, (base,), {"__doc__": f"`{kind.__name__}` between codes.", **settings})
    made.__module__ = __name__
    return made


ELU, GELU, PReLU, SiLU = (_computed(kind, _Stateless) for kind in (nn.ELU, nn.GELU, nn.PReLU, nn.SiLU))
Hardsigmoid, Hardswish, LeakyReLU = (_computed(kind) for kind in (nn.Hardsigmoid, nn.Hardswish, nn.LeakyReLU))
Sigmoid, Tanh = (_computed(kind) for kind in (nn.Sigmoid, nn.Tanh))
BatchNorm2d, BatchNorm3d = (_computed(kind, in_rows=True) for kind in (nn.BatchNorm2d, nn.BatchNorm3d))
BNReLU2d, BNReLU3d = (
    _computed(kind, in_rows=True, inside="inner.0.") for kind in (fused.BNReLU2d, fused.BNReLU3d)
)
