"""What a layer costs with so many bits: in bytes, in measured seconds, or in operations on bits."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.errors import QuantizationError
from workbench.base.number_format import byte_figure, figure, si
from workbench.core import dispatch
from workbench.fx import GraphModule, Interpreter, Node
from workbench.quantization.analysis import model_size
from workbench.quantization.batches import Batch
from workbench.quantization.default_observers import default_per_channel_weight_observer
from workbench.quantization.intrinsic.modules import weighted_layer
from workbench.quantization.qconfig import QConfig
from workbench.quantization.quantize_fx import convert_fx, prepare_fx
from workbench.quantization.simulation.simulated import Part, Simulated, name_of

__all__ = ["FULL", "Budget", "budget_of", "configuration", "layer_bytes", "products"]

FULL = "fp32"
_BITS = {FULL: (32, 32), "int8": (8, 8), "int4": (4, 8)}
"""Bits of weights and of values."""
_REPEATS = 5


@dataclass(frozen=True)
class Budget:
    """A limit, and what each choice takes of it."""

    name: str
    unit: str
    limit: float
    fixed: float
    """What is taken by what has no choice."""
    cost: Callable[[Part, str], float]
    figure: Callable[[float], str]


def configuration(simulated: Simulated, part: Part, choice: str) -> Any:
    """Return the qconfig of a choice; None is the layer's own."""
    if choice == "int8":
        return None
    own = simulated.configs[part.node]
    return QConfig(own.activation, default_per_channel_weight_observer.with_args(quant_min=-8, quant_max=7))


def layer_bytes(simulated: Simulated, part: Part, choice: str) -> float:
    """Return the bytes of a layer's weight: with its scales where it is codes, those of 4 bits packed."""
    if choice == FULL:
        return float(part.layer.weight.payload.nbytes)
    codes = simulated.weight(part, configuration(simulated, part, choice)).payload
    beside = codes.nbytes - part.weights
    return float(beside + (-(-part.weights // 2) if choice == "int4" else part.weights))


def products(simulated: Simulated, sample: tuple[Any, ...]) -> dict[str, int]:
    """Return how many products each layer with a weight computes for one sample, in codes or not."""
    sizes: dict[Node, tuple[int, ...]] = {}

    def watch(node: Node, result: Any) -> None:
        sizes[node] = tuple(getattr(result, "shape", ()))

    simulated.run(sample, watch=watch)
    found: dict[str, int] = {}
    for node, said in simulated.said.items():
        if said.way != "layer":
            continue
        layer: Any = weighted_layer(simulated.module.get_submodule(str(node.target)))
        # A transposed convolution spreads each place that it is given, others gather for each that they make.
        shape = sizes[node.all_input_nodes[0] if getattr(layer, "transposed", False) else node]
        linear = hasattr(layer, "out_features")
        places = shape[:-1] if linear else shape[len(shape) - len(layer.kernel_size) :]
        weights = np.prod(layer.weight.shape, dtype=np.int64)
        made = int(np.prod(places, dtype=np.int64) * weights)
        found[name_of(node)] = found.get(name_of(node), 0) + made
    return found


def budget_of(simulated: Simulated, batches: list[Batch], model: Any, limits: dict[str, Any]) -> Budget:
    """Return the one budget that was given. Raises `QuantizationError` for none, for several, and for no number."""
    given = [name for name, limit in limits.items() if limit is not None]
    if len(given) != 1:
        raise QuantizationError(
            f"give one budget: size in bytes, time in seconds or bit_operations; {', '.join(given) or 'none'} was given"
        )
    (name,) = given
    limit = limits[name]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit > 0:
        raise QuantizationError(f"{name}={limit!r}: a budget is a number above 0")
    if name == "size":
        return _size(simulated, float(limit))
    if name == "time":
        return _time(simulated, batches, model, float(limit))
    counts = products(simulated, batches[0].sample)
    return Budget(
        name, "bit operations", float(limit), 0.0,
        lambda part, choice: float(counts[part.name] * _BITS[choice][0] * _BITS[choice][1]), si,
    )  # fmt: skip


def _size(simulated: Simulated, limit: float) -> Budget:
    weights = {id(part.layer.weight): part.layer.weight for part in simulated.parts if part.layer is not None}
    fixed = model_size(simulated.module) - sum(int(one.payload.nbytes) for one in weights.values())
    return Budget(
        "size", "bytes", limit, float(max(0, fixed)),
        lambda part, choice: layer_bytes(simulated, part, choice), byte_figure,
    )  # fmt: skip


class _Timed(Interpreter):
    """Runs a graph and notes the seconds of each node."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.seconds: dict[str, float] = {}

    def run_node(self, n: Node) -> Any:
        """Run one node."""
        begun = time.perf_counter()
        result = super().run_node(n)
        self.seconds[n.name] = time.perf_counter() - begun
        return result


def _seconds(module: GraphModule, arguments: tuple[Any, ...]) -> dict[str, float]:
    """Return the median seconds of each node over some runs, after one that warms up."""
    rounds = []
    with dispatch.no_grad():
        for _ in range(_REPEATS + 1):
            timed = _Timed(module)
            timed.run(*arguments)
            rounds.append(timed.seconds)
    return {name: statistics.median(one[name] for one in rounds[1:]) for name in rounds[0]}


def _time(simulated: Simulated, batches: list[Batch], model: Any, limit: float) -> Budget:
    arguments = batches[0].arguments
    floats = _seconds(simulated.module, arguments)
    prepared = prepare_fx(model, simulated.given, batches[0].sample)
    with dispatch.no_grad():
        prepared(*arguments)
    integers = _seconds(convert_fx(prepared), arguments)
    named = {
        part.name: [node.name for node in part.nodes] for part in simulated.parts if part.layer is not None
    }
    choosing = {name for calls in named.values() for name in calls}
    fixed = sum(spent for name, spent in floats.items() if name not in choosing)

    def cost(part: Part, choice: str) -> float:
        spent = floats if choice == FULL else integers
        return sum(spent[name] for name in named[part.name])

    return Budget("time", "seconds", limit, fixed, cost, lambda value: f"{figure(value * 1e3)} ms")
