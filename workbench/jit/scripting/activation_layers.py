"""Activations in words that can be scripted."""

from __future__ import annotations

from workbench import nn
from workbench.jit.scripting.layers import LAYERS
from workbench.nn import functional as F
from workbench.tensor import Tensor

__all__: list[str] = []


@LAYERS.put(nn.ReLU)
def _relu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.relu(input, self.inplace)


@LAYERS.put(nn.ReLU6)
def _relu6(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.relu6(input, self.inplace)


@LAYERS.put(nn.LeakyReLU)
def _leaky_relu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.leaky_relu(input, self.negative_slope, self.inplace)


@LAYERS.put(nn.ELU)
def _elu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.elu(input, self.alpha, self.inplace)


@LAYERS.put(nn.GELU)
def _gelu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.gelu(input, approximate=self.approximate)


@LAYERS.put(nn.SiLU)
def _silu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.silu(input, self.inplace)


@LAYERS.put(nn.Sigmoid)
def _sigmoid(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input.sigmoid()


@LAYERS.put(nn.Tanh)
def _tanh(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return input.tanh()


@LAYERS.put(nn.Softplus)
def _softplus(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.softplus(input, self.beta, self.threshold)


@LAYERS.put(nn.Hardtanh)
def _hardtanh(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


@LAYERS.put(nn.Softmax, where=lambda module: module.dim is not None)
def _softmax(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.softmax(input, self.dim)


@LAYERS.put(nn.LogSoftmax, where=lambda module: module.dim is not None)
def _log_softmax(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.log_softmax(input, self.dim)


@LAYERS.put(nn.CELU)
def _celu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.celu(input, self.alpha, self.inplace)


@LAYERS.put(nn.SELU)
def _selu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.selu(input, self.inplace)


@LAYERS.put(nn.Mish)
def _mish(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.mish(input, self.inplace)


@LAYERS.put(nn.Hardsigmoid)
def _hardsigmoid(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.hardsigmoid(input, self.inplace)


@LAYERS.put(nn.Hardswish)
def _hardswish(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.hardswish(input, self.inplace)


@LAYERS.put(nn.Hardshrink)
def _hardshrink(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.hardshrink(input, self.lambd)


@LAYERS.put(nn.Softshrink)
def _softshrink(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.softshrink(input, self.lambd)


@LAYERS.put(nn.Softsign)
def _softsign(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.softsign(input)


@LAYERS.put(nn.Tanhshrink)
def _tanhshrink(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.tanhshrink(input)


@LAYERS.put(nn.LogSigmoid)
def _logsigmoid(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.logsigmoid(input)


@LAYERS.put(nn.Threshold)
def _threshold(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.threshold(input, self.threshold, self.value, self.inplace)


@LAYERS.put(nn.PReLU)
def _prelu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.prelu(input, self.weight)


@LAYERS.put(nn.GLU)
def _glu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.glu(input, self.dim)


@LAYERS.put(nn.RReLU)
def _rrelu(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


@LAYERS.put(nn.Softmin, where=lambda module: module.dim is not None)
def _softmin(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.softmin(input, self.dim)


@LAYERS.put(nn.Softmax2d)
def _softmax2d(self, input: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    return F.softmax(input, -3)
