"""What a set of integer kernels takes: which layers and functions are quantized, and by which types.

The table of ops knows what can be quantized here; a `BackendConfig` narrows it to what another place can run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from workbench.base.dtypes import DType
from workbench.base.public import words
from workbench.fx import GraphModule, Node

__all__ = [
    "BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints", "ObservationType",
    "get_native_backend_config",
]  # fmt: skip


class ObservationType(Enum):
    """What observes the result of a pattern."""

    OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT = 0
    """An observer of its own."""
    OUTPUT_SHARE_OBSERVER_WITH_INPUT = 1
    """That of what comes in."""
    INPUT_OUTPUT_NOT_OBSERVED = 2
    """None."""


@dataclass
class DTypeWithConstraints:
    """A type of codes, and limits that they keep."""

    dtype: DType | None = None
    quant_min_lower_bound: int | float | None = None
    quant_max_upper_bound: int | float | None = None
    scale_min_lower_bound: int | float | None = None
    scale_max_upper_bound: int | float | None = None
    scale_exact_match: float | None = None
    zero_point_exact_match: int | None = None


@dataclass
class DTypeConfig:
    """The types of a pattern's values: what comes in, what goes out, weight, bias."""

    input_dtype: Any = None
    output_dtype: Any = None
    weight_dtype: Any = None
    bias_dtype: Any = None
    is_dynamic: bool | None = None


@dataclass
class BackendPatternConfig:
    """One pattern: a type of layer, a function, the name of a method, or a tuple of them in their order.

    >>> import workbench as wb
    >>> pattern = BackendPatternConfig(wb.nn.Linear).add_dtype_config(DTypeConfig(input_dtype=wb.quint8))
    >>> len(pattern.dtype_configs)
    1
    """

    pattern: Any = None
    observation_type: ObservationType = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
    dtype_configs: list[DTypeConfig] = field(default_factory=list)

    def set_observation_type(self, observation_type: ObservationType) -> BackendPatternConfig:
        """Set what observes the result."""
        self.observation_type = observation_type
        return self

    def add_dtype_config(self, dtype_config: DTypeConfig) -> BackendPatternConfig:
        """Add types that the pattern is computed in."""
        self.dtype_configs.append(dtype_config)
        return self

    def set_dtype_configs(self, dtype_configs: list[DTypeConfig]) -> BackendPatternConfig:
        """Set the types that the pattern is computed in."""
        self.dtype_configs = list(dtype_configs)
        return self


class BackendConfig:
    """The patterns that a set of integer kernels takes; without a pattern nothing is quantized.

    >>> import workbench as wb
    >>> config = BackendConfig("mine").set_backend_pattern_config(BackendPatternConfig(wb.nn.Linear))
    >>> [one.pattern.__name__ for one in config.configs]
    ['Linear']
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._patterns: dict[Any, BackendPatternConfig] = {}

    def set_name(self, name: str) -> BackendConfig:
        """Set the name."""
        self.name = name
        return self

    def set_backend_pattern_config(self, config: BackendPatternConfig) -> BackendConfig:
        """Add a pattern, or put another in its place."""
        self._patterns[config.pattern] = config
        return self

    def set_backend_pattern_configs(self, configs: list[BackendPatternConfig]) -> BackendConfig:
        """Add patterns."""
        for config in configs:
            self.set_backend_pattern_config(config)
        return self

    @property
    def configs(self) -> list[BackendPatternConfig]:
        """The patterns."""
        return list(self._patterns.values())

    def takes(self, module: GraphModule, node: Node) -> bool:
        """Say whether a node of a graph may be quantized."""
        kind: Any = node.target
        if node.op == "call_module":
            layer: Any = module.get_submodule(str(node.target))
            # What was joined is of the kind of its parts, in their order.
            parts = tuple(type(one) for one in layer) if hasattr(layer, "_count") else ()
            kinds = {type(layer), parts, *type(layer).__mro__, node.meta.get("function")}
            return any(config.pattern in kinds for config in self.configs)
        if node.op in ("placeholder", "get_attr", "output"):
            return True
        return any(config.pattern is kind or config.pattern == kind for config in self.configs)


class _Native(BackendConfig):
    """All that the table of ops knows to quantize."""

    def takes(self, module: GraphModule, node: Node) -> bool:
        """Say yes: the table has the last word."""
        return True


def get_native_backend_config() -> BackendConfig:
    """Return what is quantized here: everything that the table of ops has a statement for."""
    return _Native("native")


__getattr__, __dir__ = words(__name__, __all__)
