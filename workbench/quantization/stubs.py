"""Where a model enters the realm of codes and leaves it."""

from __future__ import annotations

from typing import Any

from workbench.nn import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper", "add_quant_dequant"]


class QuantStub(Module):
    """Marks where values become codes: passes them through until `convert` puts a `Quantize` in its place."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x


class DeQuantStub(Module):
    """Marks where codes become values again: passes them through until `convert` puts a `DeQuantize` in its place."""

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x


class QuantWrapper(Module):
    """Puts a `QuantStub` before a model and a `DeQuantStub` behind it.

    >>> import workbench as wb
    >>> QuantWrapper(wb.nn.Linear(2, 2))(wb.zeros(1, 2)).shape
    (1, 2)
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant = QuantStub(getattr(module, "qconfig", None))
        self.dequant = DeQuantStub()
        self.module = module
        self.train(module.training)

    def forward(self, x: Any) -> Any:
        """Quantize, call the model, dequantize."""
        return self.dequant(self.module(self.quant(x)))


def add_quant_dequant(module: Module) -> Module:
    """Wrap each layer of `module` that has a qconfig and no parts in a `QuantWrapper`, in place; return it.

    >>> import workbench as wb
    >>> model = wb.nn.Sequential(wb.nn.Linear(2, 2), wb.nn.ReLU())
    >>> model[0].qconfig = wb.quantization.default_qconfig
    >>> type(add_quant_dequant(model)[0]).__name__
    'QuantWrapper'
    """
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in [*module.named_children()]:
        setattr(module, name, add_quant_dequant(child))
    return module
