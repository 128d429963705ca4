"""Records `cases.npz` anew: Captum's own tests run with PyTorch, and each call of a method is noted.

``python -m tests.peers.attribution.record_captum FOLDER [NAME …]`` with a checkout of Captum's repository, in an
environment that has `captum`, `torch`, `parameterized` and `sklearn`. With names, such as ``lime shapley``, only the
files ``test_NAME.py`` are recorded anew. Only arguments, networks and values are kept.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.attribution.captum_cases.functions import FUNCTIONS

torch = pytest.importorskip("torch")
attr = pytest.importorskip("captum.attr", reason="Captum is what is recorded")
metrics = pytest.importorskip("captum.metrics")
robust = pytest.importorskip("captum.robust")
basic = pytest.importorskip("captum.testing.helpers.basic")
linear_model = pytest.importorskip("captum._utils.models.linear_model")
HELPERS = [
    pytest.importorskip(f"captum.testing.helpers.{name}")
    for name in ("basic_models", "classification_models")
]

TARGET = Path(__file__).parents[2] / "attribution" / "captum_cases" / "cases.npz"
FILES = "attr/layer attr/neuron attr/test_* metrics robust"
LEFT = re.compile(
    r"hf_compat|data_parallel|llm_attr|jit|wrapper|common|stat|summarizer|hook|batching|approximation"
)
MOST = 2
"""So many calls of a test are kept, the first and the last of them."""

ARRAYS: dict[str, Any] = {}
NETWORKS: dict[str, Any] = {}

AROUND = (torch.nn.Module, torch.Tensor, types.FunctionType, int)
"""What a function may take from around it."""

KERNEL = "lime:get_exp_kernel_similarity_function.default_exp_kernel"
PERTURBING = (
    "infidelity:infidelity_perturb_func_decorator.sub_infidelity_perturb_func_decorator.default_perturb_func"
)


class Unknown(Exception):
    """An argument that cannot be written down."""


def noted(array: Any) -> str:
    """Keep an array, and return the name that it is kept by."""
    array = np.ascontiguousarray(array)
    key = hashlib.sha1(array.tobytes() + str((array.dtype, array.shape)).encode()).hexdigest()[:10]
    ARRAYS[key] = array
    return key


def written(value: Any, model: Any = None) -> Any:
    """Return a value in words of JSON; `model` is that whose layers may be meant."""
    if isinstance(value, torch.Tensor):
        return {"t": noted(value.detach().cpu().numpy().copy())}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if value is Ellipsis:
        return {"ellipsis": 1}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    for kind, name in ((tuple, "tuple"), (list, "list")):
        if isinstance(value, kind):
            return {name: [written(one, model) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[written(key), written(one, model)] for key, one in value.items()]}
    if isinstance(value, linear_model.SkLearnLasso):
        return {"lasso": value.construct_kwargs["alpha"]}
    if isinstance(value, torch.nn.modules.loss._Loss):
        return {"loss": type(value).__name__, "reduction": value.reduction}
    if isinstance(value, torch.utils.data.DataLoader):
        return {"loader": [written(one) for one in value.dataset.tensors], "rows": value.batch_size}
    if isinstance(value, torch.nn.Module) and not isinstance(value, linear_model.LinearModel):
        layers = dict(model.named_modules()) if isinstance(model, torch.nn.Module) else {}
        layer = next((name for name, one in layers.items() if one is value and name), None)
        return {"layer": layer} if layer else {"model": network(value)}
    if hasattr(value, "_given"):
        return {"method": method(value)}
    if inspect.ismethod(value) and hasattr(value.__self__, "_given"):
        return {"function": value.__name__, "self": written(value.__self__)}
    if inspect.isfunction(value):
        return function(value)
    raise Unknown(getattr(value, "__qualname__", type(value).__name__))


def function(value: Any) -> Any:
    """Return a function by its name, with what it takes from around it."""
    name = f"{value.__module__.rpartition('.')[2]}:{value.__qualname__.replace('.<locals>', '')}"
    around = inspect.getclosurevars(value).nonlocals
    if name == KERNEL:
        return {"kernel": [around["distance_mode"], around["kernel_width"]]}
    if name == PERTURBING:
        return {"perturb": written(around["perturb_func"]), "by_inputs": around["multiply_by_inputs"]}
    # Defaults of a lambda are what it takes from the loop around it.
    if name not in FUNCTIONS or (value.__name__ == "<lambda>" and value.__defaults__):
        raise Unknown(value.__qualname__)
    taken = next(iter(inspect.signature(FUNCTIONS[name]).parameters), "") == "around"
    closed = {key: written(one) for key, one in around.items() if taken and isinstance(one, AROUND)}
    return {"function": name, **({"closure": closed} if closed else {})}


def network(model: Any) -> str:
    """Keep a network, and return the name that it is kept by."""
    arguments, keywords = getattr(model, "_given", ((), {}))
    rules = {
        name: [
            type(one.rule).__name__,
            {k: v for k, v in vars(one.rule).items() if isinstance(v, int | float)},
        ]
        for name, one in model.named_modules()
        if getattr(one, "rule", None) is not None
    }
    found = {
        "class": type(model).__name__,
        "qualname": type(model).__qualname__,
        "made": [written(list(arguments)), written(dict(keywords))],
        "state": {name: noted(one.detach().numpy().copy()) for name, one in model.state_dict().items()},
        "rules": rules,
    }
    key = hashlib.sha1(json.dumps(found, sort_keys=True).encode()).hexdigest()[:8]
    NETWORKS[key] = found
    return key


def method(one: Any) -> Any:
    """Return how a method was made."""
    if not any(hasattr(module, type(one).__name__) for module in (attr, robust)):
        raise Unknown(type(one).__name__)
    arguments, keywords = one._given
    model = next((one for one in (*arguments, *keywords.values()) if isinstance(one, torch.nn.Module)), None)
    return {
        "class": type(one).__name__,
        "args": [written(value, model) for value in arguments],
        "kwargs": {name: written(value, model) for name, value in keywords.items()},
    }


class Recorder:
    """A plugin of pytest that notes the calls of each test."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self.cases: list[Any] = []
        self.calls: list[tuple[Any, Any]] = []
        self.left: set[str] = set()
        self.test = ""
        self.inside = False
        self._patch()

    def _patch(self) -> None:
        for module in HELPERS:
            for one in vars(module).values():
                if isinstance(one, type) and one.__module__ == module.__name__ and "__init__" in vars(one):
                    _keep_arguments(one)
        for one in {*_below(attr.Attribution), robust.FGSM, robust.PGD}:
            if one.__module__.startswith("captum."):
                _keep_arguments(one)
                for name in {"attribute", "perturb"} & set(vars(one)):
                    if inspect.isfunction(vars(one)[name]):
                        setattr(one, name, self._noting(vars(one)[name], name))
                if "attribute_future" in vars(one):
                    one.attribute_future = _no_futures
        for name in ("infidelity", "sensitivity_max"):
            setattr(metrics, name, self._noting(getattr(metrics, name), name, bound=False))
        asserted = basic.assertTensorAlmostEqual

        def noting(test: Any, actual: Any, expected: Any, delta: float = 0.0001, mode: str = "sum") -> None:
            asserted(test, actual, expected, delta, mode)
            for entry, out in self.calls:
                path = self._place(out, actual)
                if path is not None:
                    wanted = expected if isinstance(expected, torch.Tensor) else torch.tensor(expected)
                    known = {
                        "path": path,
                        "expected": written(wanted),
                        "delta": delta,
                        "mode": mode,
                    }
                    entry.setdefault("asserts", []).append(known)
                    return

        basic.assertTensorAlmostEqual = noting

    def _noting(self, call: Callable[..., Any], name: str, bound: bool = True) -> Callable[..., Any]:
        @functools.wraps(call)
        def noting(*arguments: Any, **keywords: Any) -> Any:
            if self.inside or not self.test:
                return call(*arguments, **keywords)
            self.inside = True
            try:
                entry = self._entry(name, arguments, keywords, bound)
                try:
                    out = call(*arguments, **keywords)
                except Exception as error:
                    self.calls.append((entry | {"raises": type(error).__name__}, None))
                    raise
                if "left" not in entry:
                    self.calls.append((entry | {"result": written(out)}, out))
                return out
            finally:
                self.inside = False

        return noting

    def _entry(self, name: str, arguments: Any, keywords: Any, bound: bool) -> Any:
        model = getattr(arguments[0], "forward_func", None) if bound else None
        try:
            return {
                "call": name,
                **({"method": method(arguments[0])} if bound else {}),
                "args": [written(value, model) for value in arguments[bound:]],
                "kwargs": {key: written(value, model) for key, value in keywords.items()},
            }
        except Unknown as unknown:
            self.left.add(f"{self.test} is left out: {unknown}")
            return {"left": str(unknown)}

    def _place(self, out: Any, actual: Any) -> list[int] | None:
        """Return where in an answer a tensor is."""
        if out is actual:
            return []
        tensors = isinstance(out, torch.Tensor) and isinstance(actual, torch.Tensor)
        if tensors and out.numel() and (out.data_ptr(), out.shape) == (actual.data_ptr(), actual.shape):
            return []
        if tensors and out.numel() and actual.numel() and out.ndim == actual.ndim + 1:
            parts: Iterator[Any] = iter(out)
        elif isinstance(out, tuple | list):
            parts = iter(out)
        else:
            return None
        for number, part in enumerate(parts):
            path = self._place(part, actual)
            if path is not None:
                return [number, *path]
        return None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        self.test, self.calls = item.nodeid, []
        outcome = yield
        if outcome.excinfo is None:  # type: ignore[attr-defined]
            self._keep()
        self.test = ""

    def _keep(self) -> None:
        kept = [entry for entry, _ in self.calls if "left" not in entry]
        # What is judged was attributed before; the judgement is what is tested.
        kept = [entry for entry in kept if "method" not in entry] or kept
        file, _, name = self.test.partition("::")
        title = f"{Path(file).stem.removeprefix('test_')}::{name.rpartition('::')[2].removeprefix('test_')}"
        chosen = kept if len(kept) <= MOST else [kept[0], kept[-1]]
        for number, entry in enumerate(chosen):
            self.cases.append(entry | {"name": title + (f"#{number}" if len(chosen) > 1 else "")})


def _keep_arguments(kind: Any) -> None:
    """Have instances remember what they were made with."""
    made = kind.__init__

    @functools.wraps(made)
    def init(self: Any, *arguments: Any, **keywords: Any) -> None:
        if type(self) is kind and "_given" not in vars(self):
            object.__setattr__(self, "_given", (arguments, keywords))
        made(self, *arguments, **keywords)

    kind.__init__ = init


def _no_futures(self: Any, *arguments: Any, **keywords: Any) -> None:
    pytest.skip("there are no futures here")


def _below(kind: Any) -> Iterator[Any]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def main(folder: str, *names: str) -> None:
    """Run the tests of a checkout, or only those of some files, write what was noted, and say what was left out."""
    root = Path(folder).resolve()
    found = [path for pattern in FILES.split() for path in sorted((root / "tests").glob(pattern))]
    files = [path for one in found for path in (sorted(one.glob("test_*.py")) if one.is_dir() else [one])]
    wanted = [path for path in files if path.suffix == ".py" and not LEFT.search(path.name)]
    recorder = Recorder()
    if names:
        by_name = {path.stem.removeprefix("test_"): path for path in wanted}
        if absent := set(names) - set(by_name):
            raise SystemExit(f"there is nothing to record of {sorted(absent)}; there are {sorted(by_name)}")
        wanted = [by_name[name] for name in names]
        recorder.cases = _kept(names)
    pytest.main(
        [
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
            f"--rootdir={root}",
            "--import-mode=importlib",
            *map(str, wanted),
        ],
        plugins=[recorder],
    )
    cases = sorted(recorder.cases, key=lambda one: one["name"].partition("::")[0])
    text = json.dumps({"cases": cases, "networks": NETWORKS}, separators=(",", ":"))
    used = set(re.findall(r'"model":"([0-9a-f]{8})"', text))
    networks = {key: one for key, one in NETWORKS.items() if key in used}
    text = json.dumps({"cases": cases, "networks": networks}, separators=(",", ":"))
    used = set(re.findall(r'"([0-9a-f]{10})"', text))
    kept = {key: array for key, array in ARRAYS.items() if key in used}
    np.savez_compressed(TARGET, cases=np.frombuffer(text.encode(), np.uint8), **kept)
    print(*sorted(recorder.left), sep="\n")
    print(f"{len(cases)} calls of {len({one['name'].partition('#')[0] for one in cases})} tests")


def _kept(names: tuple[str, ...]) -> list[Any]:
    """Return the recorded cases of other files than those named, and take over their networks and arrays."""
    with np.load(TARGET, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    recorded = json.loads(arrays.pop("cases").tobytes())
    ARRAYS.update(arrays)
    NETWORKS.update(recorded["networks"])
    return [one for one in recorded["cases"] if one["name"].partition("::")[0] not in names]


if __name__ == "__main__":
    main(*sys.argv[1:])
