"""A model, inputs, and one question after the other about them, answered beside whatever else runs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.attribution.asking import Ask, Baseline, Shown, Target, check_ask
from workbench.attribution.background import Runs, Stopped, attempt, own_copy
from workbench.attribution.base import Attribution
from workbench.attribution.blurring import check_width, spatial_dims, usual_width
from workbench.attribution.checks import check_model
from workbench.attribution.layers import by_name, find_layer, first_layer_to_ask, layers_of
from workbench.attribution.of_samples import checked_labels, each, predicted
from workbench.attribution.quadrature import METHODS as RULES
from workbench.attribution.result import AttributionResult
from workbench.attribution.study_answers import answer
from workbench.attribution.study_code import code_of
from workbench.attribution.study_methods import StudyMethod, entry_of, named_methods
from workbench.base import events, renderer_lookup
from workbench.base.listeners import Listeners
from workbench.tensor import Tensor

__all__ = ["Study"]

Array = np.ndarray[Any, Any]

MOST_KEPT = 64
"""Most answers that are kept, the latest used last."""

PREFERRED_BY_LAYER = "layer_grad_cam"
"""What a layer is explained by unless another such method was asked."""


class Study:
    """Asks `models` about `inputs` [N, …], one question at a time, in a thread of its own.

    `models` is a model or, by name, several of the same thing (``{"float": model, "int8": converted}``); `inputs` a
    tensor or a tuple of them. `labels` are the true classes [N], `class_names` what classes are called, `tokens` for
    texts the words of each sample. `settings` are those of the `method`, `rule` what some methods call their method.
    While a question is worked on the last answer stays (`shown`); a newer question takes the place of one that is not
    answered yet. Where there is no answer, `failure` says why in the words of the refusal, and the last one stays.

    Modules are copied before they run, so a cell may train them meanwhile.

    Raises:
        TypeError: there is no model, or no input.
        ValueError: there are not as many labels or texts as samples.

    >>> import workbench as wb
    >>> study = Study(wb.models.DigitsNet(), wb.rand(N=3, C=1, H=28, W=28), labels=[3, 1, 2])
    >>> study.ask(method="saliency", target="true", samples=[1])
    >>> study.wait().target_name(0)
    '1'
    """

    def __init__(
        self,
        models: Callable[..., Any] | Mapping[str, Callable[..., Any]],
        inputs: Any,
        labels: Any = None,
        *,
        class_names: Sequence[Any] | None = None,
        tokens: Sequence[Sequence[str]] | None = None,
        baselines: Any = None,
        additional_forward_args: Any = None,
        method: str | type[Attribution] | Attribution = "integrated_gradients",
        target: Target = "predicted",
        layer: str | None = None,
        rule: str | None = None,
        other: str | None = None,
        title: str = "",
        publish: bool = True,
        **settings: Any,
    ) -> None:
        named = dict(models) if isinstance(models, Mapping) else {"model": models}
        if not named or not all(callable(one) for one in named.values()):
            raise TypeError("a study takes a model, or models by name: {'float': model, 'int8': converted}")
        for one in named.values():
            check_model("Study", one)
        values = inputs if isinstance(inputs, tuple) else (inputs,)
        if not values or not all(isinstance(one, Tensor) and one.ndim > 0 for one in values):
            raise TypeError("a study takes inputs [N, …] as a tensor, or a tuple of tensors")
        self.models: dict[str, Callable[..., Any]] = {str(name): model for name, model in named.items()}
        self.inputs = inputs
        self.samples: int = values[0].shape[0]
        self.pictures = tuple(one for one in values if spatial_dims(one) is not None)
        """Those of the inputs that can be blurred."""
        self.labels = checked_labels(labels, self.samples)
        self.tokens = (
            None
            if tokens is None
            else [[str(one) for one in words] for words in each("tokens", tokens, self.samples)]
        )
        self.class_names = None if class_names is None else tuple(str(one) for one in class_names)
        self.baselines = baselines
        self.additional_forward_args = additional_forward_args
        self.title = title or type(next(iter(self.models.values()))).__name__
        self.shown: Shown | None = None
        """The last answer."""
        self.failure = ""
        """Why the last question has no answer; empty if it has one."""
        self.predictions: Array | None = None
        """[N]: the class that the asked model gives each sample; None until it is known, or where it has no classes."""
        self.known_predictions: dict[str, Array | None] = {}
        """The same by the names of the models that were asked."""
        self.given: tuple[tuple[int, ...], ...] | None = None
        """The targets of a result that a study goes on from, where they are not the predicted classes."""
        self._lock = threading.RLock()
        self._listeners: Listeners[[]] = Listeners()
        self._kept: OrderedDict[Ask, Shown] = OrderedDict()
        self._wanted: Ask | None = None
        self._runs: Runs | None = None
        self._idle = threading.Event()
        self._idle.set()
        settings = settings if rule is None else {**settings, "method": rule}
        self.methods: Mapping[str, StudyMethod] = named_methods()
        """What can be asked for, by name: a method of the caller's own is among it from when it was asked for."""
        name, self.methods = self._with(method)
        first = next(iter(self.models))
        start: Baseline = "zeros" if baselines is None else "given"
        self.asked = self._checked(
            Ask(first, name, tuple(settings.items()), target, layer, other, (0,), start), self.methods
        )
        """The question that is worked on, or was last answered."""
        if publish:
            events.publish(self)

    @classmethod
    def of(cls, result: AttributionResult) -> Study | None:
        """Return a study that goes on from what `explain` has found; None where it does not say what was asked."""
        given = dict(result.asked or {})
        method, model = given.pop("method", None) or "integrated_gradients", given.pop("model", None)
        if method in RULES:
            method, given["rule"] = "integrated_gradients", method
        if model is None:
            return None
        if given.get("layer") is not None:
            given["layer"] = by_name(model, given["layer"])
        # A layer that has no name cannot be asked for again.
        if not isinstance(given.get("layer"), str | None):
            return None
        given.pop("targets", None)
        study = cls(model, given.pop("inputs"), method=method, publish=False, **given)
        study._take(result)
        return study

    # ------------------------------------------------------------------------------------------- asking

    def ask(self, **parts: Any) -> None:
        """Ask: parts of an `Ask` that are not given stay as they are, and so do settings by their names.

        Another method begins with its own settings. An answer that is known is shown at once.

        Raises:
            ValueError: there is no such model, method, layer, setting, sample or label.
            TypeError: there is no such part.
        """
        unknown = [name for name in parts if name not in Ask.__dataclass_fields__]
        if unknown:
            raise TypeError(
                f"there is no {unknown[0]!r} to ask for; there are {', '.join(Ask.__dataclass_fields__)}"
            )
        with self._lock:
            asked = self._next(parts)
            self.failure = ""
            if self._runs is not None:
                # What it would find is not wanted any more.
                self._runs.stop()
            self.asked = asked
            known = self._known(asked)
            if known is not None:
                self._wanted = None
                self._show(known)
            else:
                self._begin(asked)
        self._listeners.tell()

    def ask_layer(self, layer: str) -> None:
        """Ask by a layer, with the method by which layers are explained if the one that was asked is none of those.

        Raises:
            ValueError: there is no such layer, or no method that explains by one.
        """
        by_layer = [name for name, method in self.methods.items() if method.layer]
        if not by_layer:
            raise ValueError("no method here explains by a layer")
        method = self.asked.method if self.asked.method in by_layer else PREFERRED_BY_LAYER
        self.ask(layer=layer, method=method if method in by_layer else by_layer[0])

    def wait(self, timeout: float | None = None) -> AttributionResult:
        """Return the answer, once it is there.

        Raises:
            TimeoutError: it is not there after `timeout` seconds.
            RuntimeError: there is none, for the reason that is given.
        """
        if self.shown is None and self._idle.is_set() and not self.failure:
            self.ask()
        if not self._idle.wait(timeout):
            raise TimeoutError(f"the answer is not there after {timeout:g} s")
        if self.failure or self.shown is None:
            raise RuntimeError(self.failure or "nothing was asked")
        return self.shown.result

    def stop(self) -> None:
        """End the work on a question: what its method has so far is shown, else the last answer stays."""
        with self._lock:
            if self._runs is not None:
                self._runs.stop()

    @property
    def runs(self) -> Runs | None:
        """The work that goes on; None if there is none."""
        return self._runs

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` at every change, in whichever thread makes it; return a function that stops it."""
        return self._listeners.add(listener)

    def layers(self) -> list[str]:
        """Return the names of the asked model's layers: of one that runs a graph those of its nodes, too."""
        return layers_of(self.models[self.asked.model])

    def class_name(self, index: int) -> str:
        """Return what a class is called; its number where it has no name."""
        return (
            self.class_names[index] if self.class_names and 0 <= index < len(self.class_names) else str(index)
        )

    def code(self) -> str:
        """Return Python that finds the answer that is shown, from ``model`` (``models``) and ``inputs``.

        What has no short form (baselines, further arguments, a mask) is a variable of the name that it is asked by.
        With another model beside it is a dict of both answers.
        """
        return code_of(self, self.asked if self.shown is None else self.shown.ask)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return renderer_lookup.mimebundle(self)

    # ------------------------------------------------------------------------------------------- checks

    def _next(self, parts: Mapping[str, Any]) -> Ask:
        given = dict(parts)
        asked = self.asked
        methods = self.methods
        if "method" in given:
            given["method"], methods = self._with(given["method"])
        # What a method is set to says nothing to another.
        held = {} if given.get("method", asked.method) != asked.method else dict(asked.settings)
        held.update(given.pop("settings", {}))
        given["settings"] = tuple(held.items())
        if "samples" in given:
            given["samples"] = tuple(int(one) for one in given["samples"])
        asked = self._checked(replace(asked, **given), methods)
        self.methods = methods
        if asked.layer is None and self.methods[asked.method].layer:
            # A view asks for the method first, and for another layer when it shows which there are.
            return replace(asked, layer=first_layer_to_ask(self.models[asked.model]))
        return asked

    def _with(self, method: str | type[Attribution] | Attribution) -> tuple[str, Mapping[str, StudyMethod]]:
        """Return the name by which a method is asked for, and all that are known with it."""
        name, entry = entry_of(method, self.methods)
        return name, self.methods if entry is None else {**self.methods, name: entry}

    def _checked(self, asked: Ask, methods: Mapping[str, StudyMethod]) -> Ask:
        check_ask(asked, models=self.models, methods=methods, samples=self.samples)
        method = methods[asked.method]
        if asked.layer is not None:
            # There are more names than are offered, such as that of a call: who finds it says what is wrong.
            find_layer(method.kind.__name__, self.models[asked.model], asked.layer)
        first = next(iter(self.models.values()))
        if method.function_of(first, self.models.values()) is not first and (
            asked.other is not None or self.models[asked.model] is not first
        ):
            raise ValueError(
                f"{method.title} for a function that is none of the models, explains nothing but that: make it of one "
                "of them, or ask for another method"
            )
        if asked.target == "true" and self.labels is None:
            raise ValueError("the true classes are not known: give labels=")
        if asked.target == "given" and self.given is None:
            raise ValueError("no targets were given; ask for 'predicted', 'true' or a class's number")
        if asked.baseline == "given" and self.baselines is None:
            raise ValueError("no baselines were given; ask for 'zeros' or 'mean', or give baselines=")
        return self._with_blur(asked) if asked.baseline == "blurred" else asked

    def _with_blur(self, asked: Ask) -> Ask:
        """Return a question that starts from blurred pictures with a width that can be."""
        if not self.pictures:
            raise ValueError(
                "no input is a picture that could be blurred: name its dims H and W, or ask for 'zeros'"
            )
        if asked.blur_width is None:
            return replace(asked, blur_width=usual_width(self.pictures))
        check_width(asked.blur_width)
        return asked

    # --------------------------------------------------------------------------------------------- work

    def _known(self, asked: Ask) -> Shown | None:
        found = self._kept.get(asked)
        if found is not None:
            self._kept.move_to_end(asked)
            return found
        # An answer for a whole batch is one for each of its samples.
        whole = self._kept.get(replace(asked, samples=tuple(range(self.samples))))
        return None if whole is None else replace(whole, ask=asked, rows=asked.samples)

    def _take(self, result: AttributionResult) -> None:
        """Show what was found for all samples before."""
        whole = replace(self.asked, samples=tuple(range(self.samples)))
        best = None if result.probabilities is None else result.probabilities.argmax(axis=1)
        self.known_predictions[self.asked.model] = self.predictions = best
        if result.targets[0] and (best is None or [(int(one),) for one in best] != list(result.targets)):
            self.given = result.targets
            self.asked = replace(self.asked, target="given")
            whole = replace(whole, target="given")
        self._kept[whole] = Shown(whole, result, whole.samples)
        self.shown = replace(self._kept[whole], ask=self.asked, rows=self.asked.samples)

    def _show(self, shown: Shown) -> None:
        self.shown = shown
        self.predictions = self.known_predictions.get(shown.ask.model, self.predictions)

    def _begin(self, asked: Ask) -> None:
        self._wanted = asked
        if self._idle.is_set():
            self._idle.clear()
            # A daemon: Python must not wait for a picture when it ends.
            threading.Thread(target=self._work, name="workbench-attribution", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                asked, self._wanted = self._wanted, None
                if asked is None:
                    self._idle.set()
                    return
                self._runs = runs = Runs(self._listeners.tell)
            found, failure = self._answer(asked, runs)
            with self._lock:
                self._runs = None
                if self._wanted is None:
                    self._finish(asked, found, failure)
            self._listeners.tell()

    def _finish(self, asked: Ask, found: Shown | None, failure: str) -> None:
        if found is not None and not found.result.interrupted:
            self._kept[asked] = found
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        # An answer that was known took its place meanwhile.
        if self.asked != asked:
            return
        self.failure = failure
        if found is not None:
            # What it took for what was not said belongs to what is asked.
            self.asked = found.ask
            self._show(found)
        # What could not be done has changed nothing.
        elif self.shown is not None:
            self.asked = self.shown.ask

    def _answer(self, asked: Ask, runs: Runs) -> tuple[Shown | None, str]:
        def work() -> Shown:
            model = own_copy(self.models[asked.model], runs)
            self._predict(asked, model)
            return answer(self, asked, model, runs)

        try:
            return attempt(f"a question about {self.title}", work)
        except Stopped:
            return None, "stopped before there was anything to show"

    def _predict(self, asked: Ask, model: Callable[..., Any]) -> None:
        """Find out which class the model gives each sample."""
        if asked.model in self.known_predictions:
            return
        self.known_predictions[asked.model] = predicted(
            model, self.inputs, self.additional_forward_args, self.samples
        )
        with self._lock:
            self.predictions = self.known_predictions[asked.model]
