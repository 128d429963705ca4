"""PyTorch's room for quantization, ``torch.ao``: `wb.quantization` under the paths that programs name."""

from __future__ import annotations

import sys
from types import ModuleType

from workbench import quantization
from workbench.ao import nn, ns
from workbench.base.lazy import imported
from workbench.base.module_types import Gathered
from workbench.base.public import words

__all__ = ["nn", "ns", "quantization"]


def _alias(name: str, module: ModuleType) -> None:
    """Have a module found under another name, too: it stays one, with one set of classes."""
    sys.modules[f"{__name__}.{name}"] = module


_alias("quantization", quantization)
for _file in quantization.PYTORCH_FILES:
    _alias(f"quantization.{_file}", Gathered(f"{__name__}.quantization.{_file}", quantization))
for _file in ("quantize_fx", "backend_config"):
    _alias(f"quantization.{_file}", getattr(quantization, _file))
_alias("quantization.fx", Gathered(f"{__name__}.quantization.fx", quantization))
_alias("quantization.fx.custom_config", quantization.custom_config)
_alias("ns._numeric_suite", quantization.numeric_suite)
_alias("ns._numeric_suite_fx", quantization.numeric_suite_fx)
_alias("ns.fx", Gathered(f"{__name__}.ns.fx", quantization.numeric_suite_fx))
_alias("ns.fx.utils", Gathered(f"{__name__}.ns.fx.utils", quantization.numeric_suite_fx))
for _room in (
    "quantized", "quantized.dynamic", "quantized.reference", "quantizable", "qat", "qat.dynamic", "intrinsic",
    "intrinsic.qat", "intrinsic.quantized",
):  # fmt: skip
    _alias(f"nn.{_room}", imported(f"workbench.nn.{_room}"))
    parent, _, word = _room.rpartition(".")
    setattr(
        sys.modules[f"{__name__}.nn{'.' + parent if parent else ''}"],
        word,
        sys.modules[f"{__name__}.nn.{_room}"],
    )

__getattr__, __dir__ = words(__name__, __all__)
