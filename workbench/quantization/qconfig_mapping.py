"""Which configuration counts for which part of a model, by type, name or pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from workbench import nn
from workbench.base.dims import near_miss
from workbench.base.errors import QuantizationError
from workbench.nn import functional
from workbench.quantization import default_observers as observers
from workbench.quantization.default_fake_quantize import default_weight_fake_quant
from workbench.quantization.fake_quantize import FixedQParamsFakeQuantize
from workbench.quantization.given import checked_qconfig
from workbench.quantization.qconfig import (
    QConfig,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = [
    "QConfigMapping",
    "get_default_qat_qconfig_dict",
    "get_default_qat_qconfig_mapping",
    "get_default_qconfig_dict",
    "get_default_qconfig_mapping",
]

Some = QConfig | None

_ORDER = (
    "global_qconfig", "object_type_qconfigs", "module_name_regex_qconfigs", "module_name_qconfigs",
    "module_name_object_type_order_qconfigs",
)  # fmt: skip


def _require_text(what: str, given: Any) -> None:
    if not isinstance(given, str):
        raise QuantizationError(f"{what} is text, and {given!r} was given")


class QConfigMapping:
    """Configurations for the parts of a model; what stands further down here counts for more:

    - `set_global`: all of it,
    - `set_object_type`: a type of module, a function, or a method by its name,
    - `set_module_name_regex`: modules whose path fits a pattern; the first that fits counts,
    - `set_module_name`: a module by its path, and all below it,
    - `set_module_name_object_type_order`: the i-th call of a function, or module of a type, in a module.

    None leaves a part in floating point.

    >>> from workbench.quantization import default_qconfig
    >>> mapping = QConfigMapping().set_global(default_qconfig).set_module_name("head", None)
    >>> mapping.for_module("head.fc", nn.Linear) is None, mapping.for_module("body", nn.Linear) is default_qconfig
    (True, True)
    """

    def __init__(self) -> None:
        self.global_qconfig: Some = None
        self.object_type_qconfigs: dict[Any, Some] = {}
        self.module_name_regex_qconfigs: dict[str, Some] = {}
        self.module_name_qconfigs: dict[str, Some] = {}
        self.module_name_object_type_order_qconfigs: dict[tuple[str, Any, int], Some] = {}

    def set_global(self, global_qconfig: Some) -> QConfigMapping:
        """Set what counts where nothing else does."""
        self.global_qconfig = checked_qconfig(global_qconfig, "all of the model")
        return self

    def set_object_type(self, object_type: Callable[..., Any] | str, qconfig: Some) -> QConfigMapping:
        """Set what counts for a type of module, a function, or a method by its name."""
        self.object_type_qconfigs[object_type] = checked_qconfig(
            qconfig, getattr(object_type, "__name__", repr(object_type))
        )
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Some) -> QConfigMapping:
        """Set what counts for modules whose path fits a pattern; raise `QuantizationError` for what is no pattern."""
        _require_text("a pattern", module_name_regex)
        try:
            re.compile(module_name_regex)
        except re.error as error:
            raise QuantizationError(f"{module_name_regex!r} is no regular expression: {error}") from None
        self.module_name_regex_qconfigs[module_name_regex] = checked_qconfig(qconfig, repr(module_name_regex))
        return self

    def set_module_name(self, module_name: str, qconfig: Some) -> QConfigMapping:
        """Set what counts for a module and all below it."""
        _require_text("the path of a module", module_name)
        self.module_name_qconfigs[module_name] = checked_qconfig(qconfig, repr(module_name))
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Callable[..., Any], index: int, qconfig: Some
    ) -> QConfigMapping:
        """Set what counts for the `index`-th call of a function, or module of a type, in a module."""
        _require_text("the path of a module", module_name)
        count: Any = index
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise QuantizationError(
                f"index counts the calls in {module_name!r} from 0, and {count!r} was given"
            )
        place = module_name, object_type, index
        self.module_name_object_type_order_qconfigs[place] = checked_qconfig(qconfig, repr(module_name))
        return self

    # ----------------------------------------------------------------------------------------- asking

    def for_module(
        self,
        name: str,
        kind: Any,
        index: int | None = None,
        inside: str | None = None,
        whole: Sequence[Any] = (),
    ) -> Some:
        """Return what counts for a module, or for a call of `kind` in the module `name`.

        `index` says which such call it is in the module `inside`, `whole` of what kinds it is a part, from within:
        where one of these is left in floating point, so is it; what else is said of them counts behind its own kind.
        """
        place = (inside if inside is not None else name.rpartition(".")[0], kind, index)
        if place in self.module_name_object_type_order_qconfigs:
            return self.module_name_object_type_order_qconfigs[place]
        # The nearest module above that is named counts.
        parts = name.split(".") if name else []
        for length in range(len(parts), 0, -1):
            path = ".".join(parts[:length])
            if path in self.module_name_qconfigs:
                return self.module_name_qconfigs[path]
        for pattern, qconfig in self.module_name_regex_qconfigs.items():
            if re.match(pattern, name):
                return qconfig
        told = [one for one in whole if one in self.object_type_qconfigs]
        if any(self.object_type_qconfigs[one] is None for one in told):
            return None
        own = kind if kind in self.object_type_qconfigs else next(iter(told), kind)
        return self.object_type_qconfigs.get(own, self.global_qconfig)

    def names(self, path: str) -> bool:
        """Say whether a module, or one above it, is named here, or fits a pattern."""
        above = [one for one in self.module_name_qconfigs if path == one or path.startswith(f"{one}.")]
        return bool(above) or any(re.match(one, path) for one in self.module_name_regex_qconfigs)

    def check_names(self, paths: Iterable[str]) -> None:
        """Raise `QuantizationError` for a name, or a pattern, that goes with no module of these paths."""
        known = [path for path in paths if path]
        ordered = [name for name, _, _ in self.module_name_object_type_order_qconfigs]
        for name in [*self.module_name_qconfigs, *ordered]:
            if name and name not in known:
                near = near_miss(name, known)
                raise QuantizationError(
                    f"there is a qconfig for {name!r}, and no module of that name"
                    + (f": did you mean {near!r}?" if near else "")
                )
        for pattern in self.module_name_regex_qconfigs:
            if not any(re.match(pattern, path) for path in known):
                raise QuantizationError(f"there is a qconfig for {pattern!r}, and no module's path fits it")

    # ---------------------------------------------------------------------------------------- as dicts

    def to_dict(self) -> dict[str, Any]:
        """Return the same as a dict of lists of tuples, as PyTorch had it first."""
        return {
            "": self.global_qconfig,
            "object_type": list(self.object_type_qconfigs.items()),
            "module_name_regex": list(self.module_name_regex_qconfigs.items()),
            "module_name": list(self.module_name_qconfigs.items()),
            "module_name_object_type_order": [
                (*key, qconfig) for key, qconfig in self.module_name_object_type_order_qconfigs.items()
            ],
        }

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """Return the mapping of such a dict; raise `QuantizationError` for a key that means nothing."""
        ways: dict[str, Any] = {
            "object_type": cls.set_object_type, "module_name_regex": cls.set_module_name_regex,
            "module_name": cls.set_module_name,
            "module_name_object_type_order": cls.set_module_name_object_type_order,
        }  # fmt: skip
        made = cls()
        if not isinstance(qconfig_dict, dict):
            raise QuantizationError(
                f"from_dict takes a dict of qconfigs, and {type(qconfig_dict).__name__} was given"
            )
        for key, value in qconfig_dict.items():
            if key == "":
                made.set_global(value)
            elif key not in ways:
                raise QuantizationError(
                    f"{key!r} means nothing in a dict of qconfigs; there is the empty key for all, and "
                    + ", ".join(ways)
                )
            else:
                size = 4 if key == "module_name_object_type_order" else 2
                for entry in value if isinstance(value, Iterable) else (value,):
                    if not isinstance(entry, list | tuple) or len(entry) != size:
                        raise QuantizationError(
                            f"{key!r} has a list of tuples of {size}, the last a qconfig, and {entry!r} is none"
                        )
                    ways[key](made, *entry)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QConfigMapping) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for style in _ORDER:
            lines.append(f" {style}")
            value = getattr(self, style)
            entries = (
                [f"  {key}: {one}" for key, one in value.items()] if isinstance(value, dict) and value else []
            )
            lines += entries or [f"  {value}"]
        return "\n".join([*lines, ")"])


_FIXED: dict[Any, Any] = {
    **dict.fromkeys(
        (
            nn.Hardsigmoid, functional.hardsigmoid, "hardsigmoid", "hardsigmoid_", nn.Sigmoid, functional.sigmoid,
            "sigmoid", "sigmoid_", nn.Softmax, functional.softmax, "softmax",
        ),
        observers.default_fixed_qparams_range_0to1_observer,
    ),
    **dict.fromkeys(
        (nn.Tanh, functional.tanh, "tanh", "tanh_"), observers.default_fixed_qparams_range_neg1to1_observer
    ),
}  # fmt: skip
"""What has a range that is known without looking."""


def _default(qconfig: QConfig, backend: str, trained: bool) -> QConfigMapping:
    weight = default_weight_fake_quant if trained else observers.default_weight_observer
    # A transposed convolution's channels lie along the other dim: one scale for all of them.
    spread = QConfig(qconfig.activation, weight) if backend in ("fbgemm", "x86") else qconfig
    norm = QConfig(qconfig.activation, observers.default_placeholder_observer)
    mapping = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    for n in (1, 2, 3):
        mapping.set_object_type(getattr(nn, f"ConvTranspose{n}d"), spread)
        mapping.set_object_type(getattr(functional, f"conv_transpose{n}d"), spread)
    mapping.set_object_type(functional.layer_norm, norm).set_object_type(nn.LayerNorm, norm)
    mapping.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    for kind, observer in _FIXED.items():
        activation = FixedQParamsFakeQuantize.with_args(observer=observer) if trained else observer
        mapping.set_object_type(kind, QConfig(activation, weight))
    return mapping


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """Return what suits a set of integer kernels, for models in use.

    >>> get_default_qconfig_mapping().for_module("fc", nn.Linear) == get_default_qconfig()
    True
    """
    return _default(get_default_qconfig(backend, version), backend, trained=False)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """Return what suits a set of integer kernels, for models in training."""
    return _default(get_default_qat_qconfig(backend, version), backend, trained=True)


def get_default_qconfig_dict(backend: str = "x86", version: int = 0) -> dict[str, Any]:
    """Return `get_default_qconfig_mapping` as a dict."""
    return get_default_qconfig_mapping(backend, version).to_dict()


def get_default_qat_qconfig_dict(backend: str = "x86", version: int = 1) -> dict[str, Any]:
    """Return `get_default_qat_qconfig_mapping` as a dict."""
    return get_default_qat_qconfig_mapping(backend, version).to_dict()
