"""What layers made of parts share on codes: their parts become integer ones together."""

from __future__ import annotations

import copy
from typing import Any

from workbench.base.errors import QuantizationError
from workbench.nn import Linear
from workbench.quantization.attaching import observe_weight
from workbench.quantization.float_functional import FloatFunctional
from workbench.quantization.observed import observer_of
from workbench.quantization.quantizable.observed_parts import parts_of
from workbench.quantization.quantized.boundary import DeQuantize, Quantize
from workbench.quantization.quantized.functional_modules import QFunctional
from workbench.quantization.quantized.layers import Linear as IntegerLinear
from workbench.quantization.stubs import QuantStub

__all__ = ["InCodes"]


def _integer(part: Any) -> Any:
    match part:
        case Linear():
            observe_weight(part)
            return IntegerLinear.from_float(part)
        case FloatFunctional():
            return QFunctional.from_float(part)
        case QuantStub():
            return Quantize.from_float(observer_of(part))
        case _:
            return DeQuantize()


class InCodes:
    """The form on codes of a layer made of parts."""

    @classmethod
    def from_float(cls, other: Any, *settings: Any, **more: Any) -> Any:
        """Refuse: what becomes codes has been observed before."""
        raise QuantizationError(
            f"a {type(other).__name__} has not been observed: make it one of wb.ao.nn.quantizable, call it with data, "
            f"and then {cls.__name__}.from_observed(…), or leave it to prepare() and convert()"
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Return the form on codes of an observed layer, which stays as it is.

        Raises `QuantizationError` where it has seen no values.
        """
        made = copy.deepcopy(other).eval()
        missing = [
            path
            for path, part in parts_of(made)
            if isinstance(part, Linear) and not observer_of(part).has_range
        ]
        if missing:
            raise QuantizationError(
                f"not calibrated: {', '.join(missing)} of the {type(other).__name__} have seen no values: call it with "
                "data first"
            )
        for path, part in parts_of(made):
            made.set_submodule(path, _integer(part).eval())
        made.__class__ = cls
        for module in made.modules():
            module.__dict__.pop("qconfig", None)
        return made

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"
