"""Programs on graphs that answer alike in both libraries; ``python -m tests.quantization.graph_programs`` records."""

from __future__ import annotations

import copy
import importlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("recorded_graphs.json")
"""What PyTorch answered."""


def numbers(*sizes: int, seed: int) -> Any:
    """Return the same draws everywhere."""
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def tensor(t: Any, values: Any) -> Any:
    """Return a tensor of `t`, which is the workbench or PyTorch."""
    return t.from_numpy(values.copy())


def filled(t: Any, module: Any) -> Any:
    """Return a module whose parameters are drawn by NumPy, in the order of their names."""
    for seed, (_, one) in enumerate(sorted(module.named_parameters())):
        one.data.copy_(tensor(t, 0.4 * numbers(*one.shape, seed=seed)))
    return module


def network(t: Any) -> Any:
    """Return a network of `t`."""
    nn = t.nn

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.relu, self.conv2 = nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)
            self.fc = nn.Linear(16, 3)

        def forward(self, x: Any) -> Any:
            x = t.sigmoid(self.conv2(self.relu(self.conv1(x))))
            x = nn.functional.avg_pool2d(x, 2)
            return self.fc((x + x).flatten(1))

    return filled(t, Net().eval())


def mapping(t: Any) -> Any:
    """Return settings under which neither library searches a range; sums of 7 bits fit every processor's registers."""
    q = t.ao.quantization
    config = q.QConfig(q.MinMaxObserver.with_args(reduce_range=True), q.default_per_channel_weight_observer)
    fixed = q.get_default_qconfig_mapping("onednn").object_type_qconfigs
    made = q.QConfigMapping().set_global(config)
    # Here a sigmoid has its fixed scale by the table of ops.
    return made.set_object_type(t.sigmoid, fixed[t.sigmoid]) if t.sigmoid in fixed else made


def prepared(t: Any) -> tuple[Any, Any]:
    """Return the calibrated network, and what it was calibrated with."""
    fx = importlib.import_module(f"{t.__name__}.ao.quantization.quantize_fx")
    x = tensor(t, numbers(8, 2, 8, 8, seed=99))
    made = fx.prepare_fx(network(t), mapping(t), (x,))
    made(x)
    return made, x


def reference(t: Any) -> dict[str, Any]:
    """Return what the reference form answers, and the weights that it computes with."""
    made, x = prepared(t)
    fx = importlib.import_module(f"{t.__name__}.ao.quantization.quantize_fx")
    found = fx.convert_to_reference_fx(copy.deepcopy(made))
    fc = found.get_submodule("fc")
    return {
        "answer": found(x).detach().numpy().tolist(),
        "weight": fc.get_weight().detach().numpy().tolist(),
        "codes": fc.get_quantized_weight().int_repr().numpy().tolist(),
        "scale of the input": float(found.conv1_input_scale_0),
        "scale of conv2": float(found.conv2_scale_0),
        "keys": sorted(key for key in fc.state_dict() if not key.endswith(("qscheme", "dtype"))),
    }


def compared(t: Any) -> dict[str, Any]:
    """Return what the numeric suite says of the network and its integer form."""
    made, x = prepared(t)
    fx = importlib.import_module(f"{t.__name__}.ao.quantization.quantize_fx")
    ns = importlib.import_module(f"{t.__name__}.ao.ns._numeric_suite_fx")
    utils = importlib.import_module(f"{t.__name__}.ao.ns.fx.utils")
    integer = fx.convert_fx(copy.deepcopy(made))
    found: dict[str, Any] = {}
    weights = ns.extract_weights("float", made, "codes", integer)
    logged = ns.add_loggers("float", copy.deepcopy(made), "codes", copy.deepcopy(integer), ns.OutputLogger)
    for one in logged:
        one(x)
    outputs = ns.extract_logger_info(*logged, ns.OutputLogger, "codes")
    shadows = ns.add_shadow_loggers(
        "float", copy.deepcopy(made), "codes", copy.deepcopy(integer), ns.OutputLogger
    )
    shadows(x)
    shaded = ns.extract_shadow_logger_info(shadows, ns.OutputLogger, "codes")
    for word, results in (("weights", weights), ("outputs", outputs), ("shadows", shaded)):
        for name in ("sqnr", "normalized_l2_error", "cosine_similarity"):
            ns.extend_logger_results_with_comparison(
                results, "float", "codes", getattr(utils, f"compute_{name}"), name
            )
        for layer in ("conv1", "conv2", "sigmoid", "fc"):
            for entry in (results.get(layer) or {}).values():
                (last,) = entry["codes"]
                found[f"{word} {layer}"] = [
                    float(last[name][0]) for name in ("sqnr", "normalized_l2_error", "cosine_similarity")
                ] + [last["fqn"], last["index_of_arg"], last["ref_node_name"]]
    return found


def dynamic_training(t: Any) -> dict[str, Any]:
    """Return what a layer that becomes dynamic answers in training, its gradient, and what it answers in codes."""
    q, nn = t.ao.quantization, t.nn
    kind = importlib.import_module(f"{t.__name__}.ao.nn.qat.dynamic").Linear
    model = filled(t, nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))).train()
    model.qconfig = q.default_dynamic_qat_qconfig
    made = q.prepare_qat(model, mapping={nn.Linear: kind})
    x = tensor(t, numbers(7, 6, seed=3))
    out = made(x)
    out.sum().backward()
    made.eval()
    integer = q.convert(
        made, mapping={kind: importlib.import_module(f"{t.__name__}.ao.nn.quantized.dynamic").Linear}
    )
    return {
        "training": out.detach().numpy().tolist(),
        "gradient": made[0].weight.grad.numpy().tolist(),
        "codes": integer[2].weight().int_repr().numpy().tolist()
        if callable(integer[2].weight)
        else integer[2].weight.int_repr().numpy().tolist(),
        "answer": integer(x).detach().numpy().tolist(),
    }


PROGRAMS = {"reference": reference, "compared": compared, "dynamic training": dynamic_training}


def main() -> None:
    """Record what PyTorch answers anew."""
    warnings.simplefilter("ignore")
    torch = importlib.import_module("torch")
    importlib.import_module("torch.ao.quantization.quantize_fx")
    FILE.write_text(json.dumps({name: program(torch) for name, program in PROGRAMS.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
