"""The graph of a model that is to be quantized: traced to its layers, those of transformers to their linear ones."""

from __future__ import annotations

import copy
from typing import Any

from workbench import nn
from workbench.base.errors import QuantizationError
from workbench.core import dispatch
from workbench.fx import GraphModule, Proxy, TraceError, Tracer, from_graph
from workbench.graph import Graph as HouseGraph
from workbench.graph import trace as graph_trace
from workbench.models.language import worded
from workbench.nn import Module
from workbench.nn.modules.transformer import check_pair, is_causal_mask, named_as
from workbench.quantization.custom_config import FuseCustomConfig, PrepareCustomConfig
from workbench.quantization.graph_mode.examples import Examples
from workbench.quantization.quantizable.separate_attention import separate
from workbench.tensor import Tensor

__all__ = ["THROUGH", "traced"]

THROUGH: tuple[type[Module], ...] = (
    nn.MultiheadAttention, nn.Transformer, nn.TransformerDecoder, nn.TransformerDecoderLayer, nn.TransformerEncoder,
    nn.TransformerEncoderLayer,
)  # fmt: skip
"""Layers made of others that are quantized one by one."""


INSTEAD = (
    "A model that asks its values for numbers has no graph for all of them: wb.jit.trace(model, *example_inputs) has "
    "that of the examples, for their sizes, and is quantized as it is; "
    "PrepareCustomConfig().set_non_traceable_module_classes([...]) leaves the module that asks in floating point"
)
"""What to do about a model that cannot be traced."""


class _LeafTracer(Tracer):
    """Traces, and calls some modules whole.

    A model that asks whether its values have names is told what they have with `inputs`, the examples.
    """

    def __init__(self, custom: PrepareCustomConfig, inputs: tuple[Any, ...] | None) -> None:
        # These ask what they are given for sizes and names.
        super().__init__(autowrap_functions=(check_pair, is_causal_mask, named_as, worded))
        named = inputs is not None and any(isinstance(one, Tensor) and one.has_names() for one in inputs)
        self._inputs = inputs if named else None
        self._examples: Examples | None = None
        self.names = frozenset((*custom.non_traceable_module_names, *custom.standalone_module_names))
        self.types = (
            *custom.non_traceable_module_classes,
            *custom.standalone_module_classes,
            *(kind for swaps in custom.float_to_observed_mapping.values() for kind in swaps),
        )

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Say whether a module is called whole."""
        if self.is_named(m, module_qualified_name):
            return True
        through = getattr(m, "traced_through", False) or type(m) in THROUGH
        return not through and super().is_leaf_module(m, module_qualified_name)

    def is_named(self, m: Module, path: str) -> bool:
        """Say whether the configuration has a module called whole."""
        return path in self.names or isinstance(m, self.types)

    def has_names(self, obj: Proxy) -> bool:
        """Say whether a value has names of dims with the examples; without names among these it has none."""
        if self._inputs is None:
            return False
        if self._examples is None:
            self._examples = Examples(self.root, self.graph, self._inputs)
        return self._examples.has_names(obj.node)

    def separate_attention(self, model: Module, path: str = "") -> None:
        """Have attention project by linear layers, in place, in all that is not called whole."""
        if path and self.is_named(model, path):
            return
        if type(model) is nn.MultiheadAttention:
            separate(model)
        for name, child in [*model.named_children()]:
            self.separate_attention(child, f"{path}.{name}" if path else name)


def traced(
    model: Any, custom: PrepareCustomConfig | FuseCustomConfig, inputs: tuple[Any, ...] | None = None
) -> GraphModule:
    """Return a graph of a copy of `model`; one that has a graph of the house is run through to its ops."""
    absent = [name for name in custom.preserved_attributes if not hasattr(model, name)]
    if absent:
        raise QuantizationError(f"the model has no attribute {absent[0]!r} to be preserved")
    made = _graph_of(model, custom, inputs)
    for name in custom.preserved_attributes:
        if not hasattr(made, name):
            setattr(made, name, copy.deepcopy(getattr(model, name)))
    return made


def _graph_of(
    model: Any, custom: PrepareCustomConfig | FuseCustomConfig, inputs: tuple[Any, ...] | None
) -> GraphModule:
    traces = isinstance(custom, PrepareCustomConfig)
    # A graph that calls a transformer whole is traced again, through it.
    if isinstance(model, GraphModule) and not (
        traces and any(type(one) in THROUGH for one in model.modules())
    ):
        return copy.deepcopy(model)
    own = getattr(model, "graph", None)
    if isinstance(own, HouseGraph):
        with dispatch.no_grad():
            made = from_graph(own if inputs is None else graph_trace(model, *inputs))
        made = copy.deepcopy(made)
        return made.train(bool(getattr(model, "training", False)))
    copied = copy.deepcopy(model)
    tracer = Tracer()
    if isinstance(custom, PrepareCustomConfig):
        tracer = _LeafTracer(custom, inputs)
        tracer.separate_attention(copied)
    try:
        graph = tracer.trace(copied)
    except TraceError as error:
        raise type(error)(f"{error}.\n{INSTEAD}") from error
    return GraphModule(copied, graph, type(model).__name__)
