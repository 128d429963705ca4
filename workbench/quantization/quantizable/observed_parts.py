"""What layers made of parts share: their parts are observed together."""

from __future__ import annotations

from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import Linear, Module
from workbench.quantization.attaching import attach_observers
from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.float_functional import FloatFunctional
from workbench.quantization.qat.layers import Linear as RoundedLinear
from workbench.quantization.stubs import DeQuantStub, QuantStub

__all__ = ["MadeOfParts", "parts_of"]


def parts_of(module: Module) -> list[tuple[str, Any]]:
    """Return the parts of a layer that have a form on codes, with their paths."""
    return [
        (path, part)
        for path, part in module.named_modules()
        if type(part) in (Linear, RoundedLinear, FloatFunctional, QuantStub, DeQuantStub)
    ]


class MadeOfParts(Module):
    """A layer written with linear layers and functions that are observed each by itself."""

    _FLOAT_MODULE: type[Module]
    whole = True
    """False where the layer in floating point has layers in it that are addressed by paths of their own."""

    @classmethod
    def _check_float(cls, other: Any, qconfig: Any = None) -> Any:
        """Return the qconfig of a layer that is to be written with parts."""
        if type(other) is not cls._FLOAT_MODULE:
            raise QuantizationError(
                f"{cls.__name__} of this room is made of an nn.{cls._FLOAT_MODULE.__name__}, and was given a "
                f"{type(other).__name__}"
            )
        found = getattr(other, "qconfig", None) or qconfig
        if found is None:
            raise QuantizationError(
                f"the {type(other).__name__} has no qconfig, so that nothing says how it is observed: set one, such as "
                "wb.quantization.default_qconfig"
            )
        return found

    def is_part(self, path: str) -> bool:
        """Say whether what stands at a path in here is a part that the layer in floating point does not have."""
        return True

    def _observe(self, qconfig: Any) -> None:
        """Give all parts a qconfig and their observers; in training linear ones round their weight."""
        for module in self.modules():
            object.__setattr__(module, "qconfig", qconfig)
        if self.training and isinstance(qconfig.weight(), FakeQuantizeBase):
            for path, part in parts_of(self):
                if type(part) is Linear:
                    self.set_submodule(path, RoundedLinear.from_float(part))
        for _, part in parts_of(self):
            if not isinstance(part, DeQuantStub):
                attach_observers(part, isinstance(part, Linear), hook=not isinstance(part, FloatFunctional))
