"""What can be set of an attribution method, read from its signature: written down once, shown everywhere."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.attribution.base import Attribution
from workbench.attribution.propagation.composites import COMPOSITES
from workbench.attribution.quadrature import METHODS as RULES
from workbench.attribution.wording import said

__all__ = [
    "Setting",
    "label_of",
    "made_with",
    "offered",
    "parted",
    "settings_of",
    "takes",
    "takes_layer",
]

Kind = Literal["whole", "wholes", "place", "number", "truth", "choice", "other"]

CHOICES: dict[str, tuple[str, ...]] = {
    "composite": tuple(COMPOSITES),
    "interpolate_mode": ("nearest", "bilinear", "bicubic"),
    "method": tuple(RULES),
    "nt_type": ("smoothgrad", "smoothgrad_sq", "vargrad"),
    "softmax": ("constant", "taylor"),
}
"""Settings that are one of a few words."""

WHOLES = ("sliding_window_shapes", "strides")
"""Settings that are a whole number for each dim."""

PLACES = ("neuron_selector",)
"""Settings that are an index, or a slice, for each dim."""

NO_SETTINGS = ("self", "forward_func", "model", "attribution_method", "layer", "device_ids")
"""What a method is made with that says what is explained, and where, and not how."""

HELD_AS = {"multiply_by_inputs": "multiplies_by_inputs"}
"""Settings of construction that a method holds by another name."""

UNSEEN = (
    "show_progress",
    "memory",
    "over",
    "internal_batch_size",
    "perturbations_per_eval",
    "enable_cross_tensor_attribution",
    "return_input_shape",
    "layer_number",
    "memory_efficient",
)
"""Settings that change how an answer is found and not which: a view does not offer them."""


WORDS: dict[str, tuple[str, str]] = {
    "abs": ("absolute", "The sizes of the gradients, without their signs."),
    "attr_dim_summation": ("sum of channels", "One map for all channels of the layer, instead of one each."),
    "attribute_to_layer_input": ("layer's input", "Explain by what the layer is given, instead of what it gives."),
    "composite": ("rules", "By which rule each kind of layer shares relevance out."),
    "eps": ("least difference", "Up to this difference from the baseline the slope stands for the quotient."),
    "interpolate_mode": ("resized by", "How the layer's map is brought to the size of the input."),
    "multiply_by_inputs": ("times inputs", "Attributions are shares of the output, and not its slope alone."),
    "softmax": ("softmax", "Whether the weights of a softmax take no part (constant), or share relevance out "
                "themselves (taylor)."),
    "attribute_to_neuron_input": ("neuron's input", "Explain what the neuron is given, instead of what it gives."),
    "method": ("integration", "The rule by which gradients along the path are added up."),
    "n_samples": ("draws", "How many random draws the answer is made of: more are slower and less rough."),
    "n_steps": ("steps", "At how many points between baseline and input gradients are taken: more are slower, and "
                "bring the delta down."),
    "neuron_selector": ("neuron", "The neuron's place in the layer: 7, or 3, 4, 5 where it has several dims; "
                        "of 3, 0:2, 5 the sum."),
    "nt_samples": ("noisy copies", "How many copies of the input, each with noise of its own, are explained."),
    "nt_type": ("taken of copies", "Their mean (smoothgrad), the mean of their squares (smoothgrad_sq), or their "
                "variance (vargrad)."),
    "relu_attributions": ("only what speaks for it", "Leave out what speaks against the class."),
    "return_convergence_delta": ("delta", "Find out how far the attributions are from adding up."),
    "sliding_window_shapes": ("window", "Size of the window that is covered, along each dim of a sample: 1, 4, 4. "
                              "Without one it is an eighth of each."),
    "stdevs": ("noise", "Standard deviation of the noise that is added, in units of the input."),
    "strides": ("stride", "How far apart the windows are: a number, or one for each dim."),
}  # fmt: skip
"""What settings are called where people read them, and what they do, by their names in Python."""


def label_of(name: str) -> str:
    """Return what a setting is called where people read it.

    >>> label_of("n_steps"), label_of("some_setting")
    ('steps', 'some setting')
    """
    return WORDS[name][0] if name in WORDS else name.replace("_", " ")


@dataclass(frozen=True)
class Setting:
    """One setting of a method."""

    name: str
    kind: Kind
    """``other`` is what nobody types: a function, a tensor, how many rows go at once."""
    default: Any
    choices: tuple[str, ...] = ()
    made: bool = False
    """Whether the method is made with it, not asked with it."""

    @property
    def label(self) -> str:
        """What it is called where people read it."""
        return label_of(self.name)

    @property
    def meaning(self) -> str:
        """What it does; empty where nobody said."""
        return WORDS.get(self.name, ("", ""))[1]

    def typed(self, value: Any) -> str:
        """Return a value as a person types it; of one that nobody types, what it is.

        >>> Setting("strides", "wholes", None).typed((1, 4)), Setting("perm_func", "other", None).typed(len)
        ('1, 4', 'len')
        """
        if value is None:
            return ""
        if isinstance(value, tuple | list):
            return ", ".join(map(self.typed, value))
        return str(value) if isinstance(value, float) else said(value)

    def parse(self, text: str) -> Any:
        """Return the value that a person typed.

        Raises:
            ValueError: it is no such value.

        >>> Setting("n_steps", "whole", 50).parse("200")
        200
        >>> Setting("strides", "wholes", None).parse("1, 4, 4")
        (1, 4, 4)
        """
        text = text.strip()
        if text in ("", "None"):
            if self.default is not None:
                raise ValueError(f"{self.name} has no value; without one of yours it is {self.default}")
            return None
        try:
            return self._parsed(text)
        except ValueError:
            raise ValueError(f"{self.name} is {_WANTED[self.kind]}{self._few()}; got {text!r}") from None

    def _parsed(self, text: str) -> Any:
        if self.kind == "whole":
            return int(text)
        if self.kind in ("wholes", "place"):
            read = int if self.kind == "wholes" else _index
            parts = tuple(read(one) for one in text.strip("()[] ,").split(","))
            return parts if len(parts) > 1 else parts[0]
        if self.kind == "number":
            number = float(text)
            if not math.isfinite(number):
                raise ValueError(text)
            return number
        if self.kind == "truth" and text in ("True", "False"):
            return text == "True"
        if self.kind == "choice" and text in self.choices:
            return text
        raise ValueError(text)

    def _few(self) -> str:
        return f" ({', '.join(self.choices)})" if self.choices else ""


_WANTED: dict[Kind, str] = {
    "whole": "a whole number",
    "wholes": "whole numbers, e.g. 1, 4, 4",
    "place": "whole numbers or slices, e.g. 3, 0:2, 5",
    "number": "a number",
    "truth": "True or False",
    "choice": "one of a few words",
    "other": "set in Python",
}


def _index(text: str) -> int | slice:
    """Return the index, or the slice, that is written."""
    if ":" not in text:
        return int(text)
    bounds = [int(one) if one.strip() else None for one in text.split(":")]
    if len(bounds) > 3:
        raise ValueError(text)
    return slice(*bounds)


def settings_of(method: type[Attribution]) -> tuple[Setting, ...]:
    """Return what can be set of `method`, with what it is without: what it is made with first."""
    return _settings_in(method.__init__, method._compute)


@functools.cache
def _settings_in(make: Callable[..., Any], compute: Callable[..., Any]) -> tuple[Setting, ...]:
    made = [one for one in _with_default(make) if one.name not in NO_SETTINGS]
    return (*(_setting(one, made=True) for one in made), *map(_setting, _with_default(compute)))


def _with_default(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return [one for one in parameters if one.default is not inspect.Parameter.empty]


def parted(method: type[Attribution], settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return settings of `method` in two: what it is made with, and what it is asked with.

    >>> import workbench as wb
    >>> parted(wb.attribution.LRP, {"composite": "epsilon_plus", "memory": "1GB"})
    ({'composite': 'epsilon_plus'}, {'memory': '1GB'})
    """
    made = {one.name for one in settings_of(method) if one.made}
    return (
        {name: value for name, value in settings.items() if name in made},
        {name: value for name, value in settings.items() if name not in made},
    )


def made_with(method: Attribution) -> dict[str, Any]:
    """Return the settings that `method` was made with and that differ from what it is without.

    Of functions and models nothing is known: what stands for one that was not given is none that a reader would give.

    >>> import workbench as wb
    >>> made_with(wb.attribution.LRP(lambda x: x, composite="epsilon_plus"))
    {'composite': 'epsilon_plus'}
    """
    found = {}
    for one in settings_of(type(method)):
        if one.made and one.kind != "other":
            value = getattr(method, HELD_AS.get(one.name, one.name), one.default)
            if value != one.default:
                found[one.name] = value
    return found


def takes(method: type[Attribution], name: str) -> bool:
    """Say whether `method` is asked with an argument of that name, such as ``baselines``."""
    # Of the abstract base there is no `attribute`; each method has its own.
    attribute = getattr(method, "attribute", None)
    return attribute is not None and name in inspect.signature(attribute).parameters


def offered(method: type[Attribution]) -> bool:
    """Say whether `method` can be asked for by its name, a layer and settings that it has values for."""
    needed = [
        name
        for name, one in inspect.signature(method._compute).parameters.items()
        if one.default is inspect.Parameter.empty and one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    made = [
        name
        for name, one in inspect.signature(method.__init__).parameters.items()
        if one.default is inspect.Parameter.empty and one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    # The question is what is asked. A method inside another would have to be made.
    return set(needed) <= {"self", "question"} and set(made) <= {"self", "forward_func", "model", "layer"}


def takes_layer(method: type[Attribution]) -> bool:
    """Say whether `method` explains by a layer of the model."""
    return "layer" in inspect.signature(method.__init__).parameters


def _setting(parameter: inspect.Parameter, made: bool = False) -> Setting:
    name, default = parameter.name, parameter.default
    if name in CHOICES:
        return Setting(name, "choice", default, CHOICES[name], made)
    if name in UNSEEN:
        return Setting(name, "other", default, made=made)
    kind: Kind = _kind(default, str(parameter.annotation))
    if name in WHOLES or name in PLACES:
        kind = "wholes" if name in WHOLES else "place"
    return Setting(name, kind, default, made=made)


def _kind(default: Any, annotation: str) -> Kind:
    if isinstance(default, bool):
        return "truth"
    if isinstance(default, int):
        return "whole"
    if isinstance(default, float):
        return "number"
    # Without a default that tells, the annotation does: it is text here, and read as such.
    if "tuple" in annotation:
        return "wholes"
    if annotation.startswith("int"):
        return "whole"
    return "number" if annotation.startswith("float") else "other"
