"""Which modules a forward function runs: seen wherever its code names them, without running any of it."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench import nn
from workbench.attribution import (
    LRP,
    EpsilonRule,
    LayerActivation,
    NeuronGradient,
    Saliency,
    TrainingModeWarning,
    layers,
)
from workbench.attribution import behind as behind_module
from workbench.attribution.behind import models_behind, modules_behind
from workbench.attribution.self_contained import is_self_contained
from workbench.nn.traversal import parts

MODEL = nn.Sequential(nn.Linear(4, 3), nn.Dropout())
OTHER = nn.Linear(4, 3).eval()
BY_NAME = {"model": MODEL, "other": OTHER}
SEVERAL = [MODEL]
ASKED: list[str] = []
"""What an object was asked for that it does not have."""
FILE = types.ModuleType("models")
FILE.model = MODEL  # type: ignore[attr-defined]


class Holder:
    """Has a model under several roofs; what it would run when it is looked at fails."""

    def __init__(self) -> None:
        self.model, self.ready = MODEL, False

    def predict(self, x: Any) -> Any:
        return self.model(x).max(1)

    @property
    def lent(self) -> Any:
        assert self.ready, "a property ran"
        return self.model

    @functools.cached_property
    def kept(self) -> Any:
        raise AssertionError("a cached property ran")

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return MODEL(x)

    @staticmethod
    def of_nobody(x: Any) -> Any:
        return MODEL(x)

    def __getattr__(self, name: str) -> Any:
        ASKED.append(name)
        raise AttributeError(name)

    def __call__(self, x: Any) -> Any:
        return self.predict(x)


class Slotted:
    __slots__ = ("empty", "model")

    def __init__(self) -> None:
        self.model = MODEL


HOLDER, SLOTTED = Holder(), Slotted()


def predict(x: Any) -> Any:
    return MODEL(x)


def through_another(x: Any) -> Any:
    return predict(x).max(1)


def itself(x: Any, times: int = 2) -> Any:
    return itself(x, times - 1) if times else predict(x)


@functools.wraps(predict)
def wrapper(*inputs: Any) -> Any:
    return wrapper.__wrapped__(*inputs)


def nested() -> Callable[..., Any]:
    several = (MODEL,)

    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return several[0](y)

        return next(inner(one) for one in [x])

    return outer


@pytest.mark.parametrize(
    "forward",
    [
        MODEL,
        MODEL.forward,
        predict,
        through_another,
        itself,
        wrapper,
        nested(),
        lambda x, model=MODEL: model(x),
        lambda x: HOLDER.model(x),
        lambda x: HOLDER.predict(x),
        lambda x: HOLDER.lent(x),
        lambda x: HOLDER.of_class(x),
        lambda x: Holder.of_nobody(x),
        lambda x: getattr(HOLDER, "model")(x),  # noqa: B009  # as a program may say it
        lambda x: SLOTTED.model(x) + SLOTTED.empty,
        lambda x: FILE.model(x),
        lambda x: BY_NAME["model"](x),
        lambda x: SEVERAL[0](x),
        HOLDER,
        HOLDER.predict,
        functools.partial(lambda module, x: module(x), MODEL),
        functools.partial(HOLDER.predict),
        functools.lru_cache(predict),
        wb.no_grad()(predict),
        wb.vmap(MODEL),
    ],
)
def test_a_model_is_seen_wherever_it_is_named(forward: Any) -> None:
    ASKED.clear()
    assert modules_behind(forward) == [MODEL]
    assert not ASKED


def test_what_is_not_named_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert modules_behind(lambda x: SLOTTED.empty) == []
    assert modules_behind(len) == []
    # What is global to functions of this package is nobody's model.
    monkeypatch.setattr(layers, "near_miss", MODEL)
    assert modules_behind(layers.find_layer) == []
    # Of a dict whose key nobody knows, each may run.
    assert modules_behind(lambda x, name: BY_NAME[name](x)) == [MODEL, OTHER]


def test_a_module_that_runs_what_is_no_part_of_it() -> None:
    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = [OTHER]

        def forward(self, x: Any) -> Any:
            return self.hidden[0](x)

    whole = nn.Sequential(Wrapped())
    assert modules_behind(whole) == [whole, OTHER]
    # A part that is named beside the whole is found once.
    assert modules_behind(lambda x: MODEL[0](x) + MODEL(x)) == [MODEL]
    head = MODEL[0]
    assert modules_behind(lambda x: head(x) + MODEL(x)) == [MODEL]


class Plain(nn.Module):
    """Runs its parts alone, with helpers, numbers, functions of the house and texts on its way."""

    share = 0.5

    def __init__(self) -> None:
        super().__init__()
        self.first, self.act, self.scale = nn.Linear(4, 3), nn.functional.relu, 2.0
        self.inner = nn.ModuleList([nn.Linear(3, 3)])

    def helped(self, x: Any) -> Any:
        return self.act(self.first(x)) * self.share

    def forward(self, x: Any) -> Any:
        for one in self.inner:
            x = wb.flatten(one(self.helped(x)), 1) * getattr(self, "scale")  # noqa: B009
        return x


def test_most_modules_are_told_at_a_look_to_run_their_parts_alone() -> None:
    model = nn.Sequential(Plain(), nn.ReLU())
    assert is_self_contained(parts(model)) and models_behind(model) == [model]
    assert behind_module._searched(model) == [model]


def _with_a_list(plain: Any) -> None:
    plain.first.more = [OTHER]
    plain.helped = lambda x: plain.first.more[0](x)


def _with_a_wrapped_part(plain: Any) -> None:
    plain.act = wrapper


def _with_a_property(plain: Any) -> None:
    kind = type(plain)
    plain.__class__ = type("Kind", (kind,), {"share": property(lambda self: MODEL(self.scale))})


def _with_a_static_method(plain: Any) -> None:
    plain.__class__ = type("Kind", (type(plain),), {"act": staticmethod(predict)})
    del plain.act


def _with_a_mixin(plain: Any) -> None:
    class Mixin:
        def helped(self, x: Any) -> Any:
            return MODEL(x)

    plain.__class__ = type("Kind", (Mixin, type(plain)), {})


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_with_a_list, OTHER),
        (_with_a_wrapped_part, MODEL),
        (_with_a_property, MODEL),
        (_with_a_static_method, MODEL),
        (_with_a_mixin, MODEL),
    ],
)
def test_what_a_module_was_given_later_is_seen_in_the_next_call(
    change: Callable[[Any], None], found: nn.Module
) -> None:
    model = nn.Sequential(Plain())
    assert models_behind(model) == [model]
    change(model[0])
    assert not is_self_contained(parts(model))
    assert models_behind(model) == [model, found]


def test_what_is_called_like_the_house_is_not_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = types.ModuleType("workbench_of_mine")
    mine.model = MODEL  # type: ignore[attr-defined]
    assert modules_behind(lambda x: mine.model(x)) == [MODEL]  # type: ignore[attr-defined]

    class Named(nn.Module):
        def forward(self, x: Any) -> Any:
            return mine.model(x)  # type: ignore[attr-defined]

    model = Named()
    assert modules_behind(model) == [model, MODEL]


def test_an_attribute_is_no_global_of_the_same_name() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.OTHER = nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            return [self.OTHER(one) for one in x]

    model = Named()
    assert is_self_contained(parts(model)) and models_behind(model) == [model]
    assert models_behind(lambda x: x.MODEL) == []

    def inner(x: Any) -> Any:
        return [OTHER(one) for one in x]

    assert models_behind(inner) == [OTHER]


def test_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    rings: dict[str, Any] = {}
    rings["itself"] = rings
    assert modules_behind(lambda x: rings["itself"]) == []
    assert models_behind(wb.graph.trace(MODEL.eval(), wb.ones(1, 4)))[0].nodes
    monkeypatch.setattr(behind_module, "MOST", 2)
    assert modules_behind(through_another) == []


def test_a_model_in_training_behind_other_functions_is_warned_of() -> None:
    MODEL.train()
    x = wb.ones(2, 4)
    with pytest.warns(TrainingModeWarning, match="the model .Sequential. is in training mode"):
        found = Saliency(lambda x: HOLDER.predict(x).values).attribute(x)
    assert MODEL.training and MODEL[1].training
    MODEL.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = Saliency(lambda x: through_another(x).values).attribute(x)
    assert found.tolist() == again.tolist()


def test_layers_of_a_model_that_is_held() -> None:
    x = wb.ones(2, 4)
    MODEL.eval()
    expected = MODEL[0](x).tolist()
    for layer in ("0", MODEL[0]):
        assert LayerActivation(lambda x: HOLDER.predict(x), layer).attribute(x).tolist() == expected
    with pytest.raises(ValueError, match="the model has no layer '7'; its layers are 0, 1"):
        LayerActivation(lambda x: HOLDER.predict(x), "7")
    twin = nn.Sequential(nn.Linear(4, 3)).eval()
    with pytest.raises(
        ValueError, match="2 models behind the function have a layer '0'; give the module itself"
    ):
        LayerActivation(lambda x: MODEL(x) + twin(x), "0")
    found = LayerActivation(lambda x: MODEL(x) + twin(x), twin[0]).attribute(x)
    assert found.tolist() == twin[0](x).tolist()


def test_a_module_says_itself_that_it_runs() -> None:
    """Where no code names it, a module of its own is found when it is called."""
    key, x = "mod" + "el", wb.ones(2, 4)
    forward = lambda x: getattr(SLOTTED, key[:3] + "el")(x)
    MODEL.eval()
    assert modules_behind(forward) == []
    assert LayerActivation(forward, MODEL[0]).attribute(x).tolist() == MODEL[0](x).tolist()
    MODEL[1].train()
    for method in (LayerActivation(forward, MODEL[1]), NeuronGradient(forward, MODEL[1])):
        with pytest.warns(TrainingModeWarning, match=r"the model \(Dropout\) is in training mode"):
            method.attribute(x, *([0] if isinstance(method, NeuronGradient) else []))
    MODEL.eval()
    with pytest.raises(ValueError, match="layer 'Linear' runs not at all when the model does"):
        LayerActivation(forward, OTHER).attribute(x)
    with pytest.raises(
        ValueError, match=r"no module can be seen behind the function\. Give the module itself"
    ):
        LayerActivation(forward, "0")


def test_rules_of_modules_that_are_seen_nowhere_are_asked() -> None:
    model = nn.Sequential(nn.Linear(4, 1)).eval()
    asked = []

    class Rule(EpsilonRule):
        def __getattribute__(self, name: str) -> Any:
            asked.append(name)
            return super().__getattribute__(name)

    model[0].rule = Rule()
    models = types.SimpleNamespace(model=model)
    LRP(lambda x: getattr(models, "mod" + x.dtype.name[:0] + "el")(x)).attribute(wb.ones(1, 4))
    assert asked
