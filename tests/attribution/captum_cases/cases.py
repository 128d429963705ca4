"""What was recorded of Captum's own tests: each call of a method, with its network, arguments and expected values."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from tests.attribution.captum_cases.functions import FUNCTIONS
from tests.attribution.captum_cases.networks import network
from workbench import attribution
from workbench.attribution import metrics, robust
from workbench.data import DataLoader, TensorDataset

__all__ = ["CASES", "Case", "recorded_network"]

STORED = np.load(Path(__file__).with_name("cases.npz"), allow_pickle=False)
RECORDED = json.loads(STORED["cases"].tobytes())
MOST_SAMPLES = 300
"""Captum's tests draw up to 3500, for seconds a test; so many are near enough for what is let through as chance."""
CALLABLE = {
    "infidelity": metrics.infidelity,
    "sensitivity_max": metrics.sensitivity_max,
}


@dataclass(frozen=True)
class Case:
    """One call in one of Captum's tests."""

    name: str
    """The test's file and name, with a number where it makes several calls."""
    entry: Any

    @property
    def method(self) -> str:
        """The class, or function, that is called."""
        return str(self.entry["method"]["class"] if "method" in self.entry else self.entry["call"])

    @property
    def raises(self) -> str:
        """What Captum raises; empty where it answers."""
        return str(self.entry.get("raises", ""))

    def asks(self, *words: str) -> bool:
        """Whether the call, written as JSON, has one of these classes, functions or settings."""
        given = json.dumps([self.entry.get(part) for part in ("method", "args", "kwargs")])
        return any(word in given for word in words)

    def largest_input(self) -> float:
        """The largest size of a number that is given as what is explained."""
        first = value(self.entry["args"][0])
        several = first if isinstance(first, tuple) else (first,)
        return max(float(np.abs(one.numpy()).max(initial=0)) for one in several)

    def run(self) -> Any:
        """Make the call; of perturbed samples, `MOST_SAMPLES` are drawn at most."""
        model, call = None, CALLABLE.get(self.entry["call"])
        if call is None:
            made = _method(self.entry["method"])
            model, call = getattr(made, "forward_func", None), getattr(made, self.entry["call"])
        arguments = [value(one, model) for one in self.entry["args"]]
        keywords = {name: value(one, model) for name, one in self.entry["kwargs"].items()}
        if "n_samples" in keywords and self.asks("Shapley", "KernelShap", "Lime"):
            keywords["n_samples"] = min(keywords["n_samples"], MOST_SAMPLES)
        return call(*arguments, **keywords)

    def result(self) -> Any:
        """Return what Captum answered."""
        return value(self.entry["result"])

    def expected(self) -> list[tuple[list[int], Any, float, str]]:
        """Return what its test expects of parts of the answer: the part, the value, how near and in which sense."""
        return [
            (one["path"], value(one["expected"]).numpy(), one["delta"], one["mode"])
            for one in self.entry.get("asserts", ())
        ]


def value(stored: Any, model: Any = None) -> Any:
    """Return an argument as it was given; layers are those of `model`."""
    if isinstance(stored, list):
        return [value(one, model) for one in stored]
    if not isinstance(stored, dict):
        return stored
    for kind, read in READ.items():
        if kind in stored:
            return read(stored, model)
    raise ValueError(f"nothing is known of {sorted(stored)}")


def recorded_network(name: str) -> Any:
    """Return a network of Captum's tests as it is made without arguments, with its weights."""
    plain: list[Any] = [{"list": []}, {"dict": []}]
    networks = RECORDED["networks"].items()
    key = next(key for key, one in networks if (one["class"], one["made"]) == (name, plain))
    return _model({"model": key}).eval()


def _model(stored: Any, model: Any = None) -> Any:
    if not isinstance(stored["model"], str):
        return value(stored["model"])
    given = RECORDED["networks"][stored["model"]]
    made = network(given["qualname"], *value(given["made"]))
    state = {name: wb.from_numpy(STORED[key].copy()) for name, key in given["state"].items()}
    # Tables that were put aside while their words are explained.
    for name in dict.fromkeys(name.partition(TABLE)[0] for name in state if TABLE in name):
        attribution.configure_interpretable_embedding_layer(made, name)
    for one in state.values():
        made.to(one.dtype)
    made.load_state_dict(state)
    for name, (rule, settings) in given["rules"].items():
        known = {"STABILITY_FACTOR": "epsilon", "gamma": "gamma"}
        chosen = {
            known[one]: number
            for one, number in settings.items()
            if one in known and rule == KNOWN[known[one]]
        }
        made.get_submodule(name).rule = getattr(attribution, rule)(**chosen)
    return made


TABLE = ".embedding."
KNOWN = {"epsilon": "EpsilonRule", "gamma": "GammaRule"}


def _method(stored: Any) -> Any:
    kind: Any = getattr(attribution, stored["class"], None) or getattr(robust, stored["class"])
    model = next((_model(one) for one in stored["args"] if isinstance(one, dict) and "model" in one), None)
    given = [
        model if isinstance(one, dict) and "model" in one else value(one, model) for one in stored["args"]
    ]
    named = {
        name: _model(one) if isinstance(one, dict) and "model" in one else one
        for name, one in stored["kwargs"].items()
    }
    model = model or next((one for one in named.values() if isinstance(one, wb.nn.Module)), None)
    return kind(*given, **{name: value(one, model) for name, one in named.items()})


def _function(stored: Any, model: Any) -> Any:
    name = stored["function"]
    if "self" in stored:
        return getattr(value(stored["self"]), name)
    closure = {key: value(one, model) for key, one in stored.get("closure", {}).items()}
    return functools.partial(FUNCTIONS[name], closure) if closure else FUNCTIONS[name]


READ: dict[str, Callable[[Any, Any], Any]] = {
    "t": lambda stored, model: wb.from_numpy(STORED[stored["t"]].copy()),
    "tuple": lambda stored, model: tuple(value(one, model) for one in stored["tuple"]),
    "list": lambda stored, model: [value(one, model) for one in stored["list"]],
    "dict": lambda stored, model: {value(key): value(one, model) for key, one in stored["dict"]},
    "slice": lambda stored, model: slice(*stored["slice"]),
    "ellipsis": lambda stored, model: ...,
    "layer": lambda stored, model: model.get_submodule(stored["layer"]),
    "lasso": lambda stored, model: attribution.Lasso(stored["lasso"]),
    "kernel": lambda stored, model: attribution.get_exp_kernel_similarity_function(*stored["kernel"]),
    "perturb": lambda stored, model: metrics.infidelity_perturb_func_decorator(stored["by_inputs"])(
        value(stored["perturb"], model)
    ),
    "loss": lambda stored, model: getattr(wb.nn, stored["loss"])(reduction=stored["reduction"]),
    "loader": lambda stored, model: DataLoader(
        TensorDataset(*map(value, stored["loader"])), batch_size=stored["rows"]
    ),
    "model": _model,
    "method": lambda stored, model: _method(stored["method"]),
    "function": _function,
}

CASES = [Case(entry["name"], entry) for entry in RECORDED["cases"]]
