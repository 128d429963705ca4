"""The methods that a study can be asked for: those that go by a name, and its caller's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.attribution.base import Attribution
from workbench.attribution.layer.base import LayerAttribution
from workbench.attribution.layers import by_name
from workbench.attribution.method_settings import (
    Setting,
    label_of,
    made_with,
    offered,
    parted,
    settings_of,
    takes,
    takes_layer,
)
from workbench.attribution.methods import METHODS
from workbench.attribution.neuron.base import NeuronAttribution
from workbench.attribution.noise_tunnel import NoiseTunnel
from workbench.attribution.wording import said

__all__ = ["StudyMethod", "entry_of", "named_methods"]


@dataclass(frozen=True, eq=False)
class StudyMethod:
    """A method as a study asks for it: by its class, or made ready, which has its layer and what it was made with."""

    kind: type[Attribution]
    ready: Attribution | None = None

    @property
    def title(self) -> str:
        """What it is called where people read it."""
        return self.kind.get_name() + (", made ready" if self.ready is not None else "")

    @property
    def layer(self) -> bool:
        """Whether it is asked by a layer."""
        return self.ready is None and takes_layer(self.kind)

    @property
    def offered(self) -> bool:
        """Whether it can be asked for with settings that it has values for."""
        return self.ready is not None or offered(self.kind)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What can be set of it."""
        return tuple(one for one in settings_of(self.kind) if self.ready is None or not one.made)

    @property
    def held_layer(self) -> Any:
        """The layer of one that is made ready: its name, where it has one; None where there is none."""
        if not isinstance(self.ready, LayerAttribution | NeuronAttribution):
            return None
        return by_name(self.ready.forward_func, self.ready.layer)

    @property
    def made(self) -> str:
        """What one that is made ready was made with, in words; empty where there is nothing to say."""
        if self.ready is None:
            return ""
        layer = self.held_layer
        parts = [
            *([f"layer {layer if isinstance(layer, str) else said(layer)}"] if layer is not None else []),
            *(f"{label_of(name)} {said(value)}" for name, value in made_with(self.ready).items()),
        ]
        if isinstance(self.ready, NoiseTunnel):
            inside = self.ready.attribution_method
            parts = [inside.get_name(), StudyMethod(type(inside), inside).made, *parts]
        return " · ".join(filter(None, parts))

    def takes(self, name: str) -> bool:
        """Say whether it is asked with an argument of that name, such as ``baselines``."""
        return takes(self.kind, name)

    def of(self, forward: Callable[..., Any], layer: str | None, settings: Mapping[str, Any]) -> Attribution:
        """Return it for a model, with those of the settings that it is made with.

        Raises:
            ValueError: it explains by a layer, and there is none.
        """
        if self.ready is not None:
            return self.ready.on(forward)
        made, _ = parted(self.kind, settings)
        if not self.layer:
            return self.kind(forward, **made)
        if layer is None:
            raise ValueError(f"{self.title} explains by a layer, and none can be seen in this model")
        by_layer: Callable[..., Attribution] = self.kind
        return by_layer(forward, layer, **made)

    def function_of(self, forward: Callable[..., Any], models: Collection[Callable[..., Any]]) -> Any:
        """Return what it explains where `forward` is asked: one that was made for none of the models has its own."""
        own = None if self.ready is None else self.ready.forward_func
        return forward if own is None or own in models else own


def named_methods() -> dict[str, StudyMethod]:
    """Return all methods that go by a name, by it."""
    return {name: StudyMethod(kind) for name, kind in METHODS.items()}


def entry_of(method: Any, known: Mapping[str, StudyMethod]) -> tuple[str, StudyMethod | None]:
    """Return by which name a method is asked for, given that, its class, or one made ready; and what it is asked as.

    One that is not known yet has a name that is free. Of an unknown name, or what is no method, nothing is known.

    >>> from workbench.attribution.saliency import Saliency
    >>> ready = Saliency(lambda x: x)
    >>> [entry_of(one, named_methods())[0] for one in ("saliency", Saliency, ready, "magic")]
    ['saliency', 'saliency', 'Saliency', 'magic']
    """
    own = next((name for name, one in known.items() if method is (one.ready or one.kind)), None)
    if isinstance(method, str) or own is not None:
        name = own or str(method)
        return name, known.get(name)
    ready = method if isinstance(method, Attribution) else None
    kind = type(ready) if ready is not None else method
    if not (isinstance(kind, type) and issubclass(kind, Attribution)):
        return str(getattr(method, "__name__", method)), None
    called = kind.get_name()
    free = itertools.chain([called], (f"{called} #{number}" for number in itertools.count(2)))
    return next(name for name in free if name not in known), StudyMethod(kind, ready)
