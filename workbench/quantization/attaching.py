"""How one layer is given its observers, and shows them what flows by."""

from __future__ import annotations

from typing import Any

from workbench.quantization.fake_quantize import FakeQuantizeBase
from workbench.quantization.observed import float_layer, observer_of
from workbench.quantization.observer_base import ObserverBase
from workbench.quantization.qconfig import is_memoryless
from workbench.quantization.weight_observers import weight_observer

__all__ = ["attach_observers", "detach_observer", "observe_weight", "round_output"]


def _observe(module: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    """Show the output of a layer to its observer; fake quantization returns another output."""
    observer = module.activation_post_process
    result = observer(output)
    return result if isinstance(observer, FakeQuantizeBase) else None


def _observe_before(module: Any, inputs: tuple[Any, ...]) -> Any:
    """Show what comes into a layer to its observer; fake quantization returns another input."""
    observer = module.activation_post_process
    result = observer(inputs[0])
    return (result, *inputs[1:]) if isinstance(observer, FakeQuantizeBase) else None


def attach_observers(module: Any, weight: bool, hook: bool = True) -> None:
    """Give a layer the observers that its qconfig asks for: of its output, and of its `weight`.

    One that remembers no batch stands in front of the layer: what is dynamic quantizes what it takes. Without a `hook`
    it shows its results itself: what has methods for its functions does.
    """
    if isinstance(getattr(module, "activation_post_process", None), ObserverBase | FakeQuantizeBase):
        # A part of what was observed as a whole has its own.
        return
    config = module.qconfig
    module.activation_post_process = config.activation().train(module.training)
    if weight and not hasattr(module, "weight_fake_quant"):
        module.weight_post_process = weight_observer(config, module).train(module.training)
    if hook and is_memoryless(config):
        module.register_forward_pre_hook(_observe_before)
    elif hook:
        module.register_forward_hook(_observe)


def round_output(module: Any, rounding: FakeQuantizeBase) -> None:
    """Give a layer whose results have a fixed scale what rounds to it while training."""
    module.activation_post_process = rounding.train(module.training)
    module.register_forward_hook(_observe)


def detach_observer(module: Any) -> None:
    """Take away from a layer, in place, what watches or rounds its output."""
    del module.activation_post_process
    for hooks in (module._hooks.forward, module._hooks.forward_pre):
        for key in [key for key, hook in hooks.items() if hook.call in (_observe, _observe_before)]:
            del hooks[key]


def observe_weight(module: Any) -> None:
    """Show the weight of a layer, as it is now, to its observer; what that saw before is forgotten.

    In training the fake quantization of a weight decides itself what it keeps, and whether it still observes.
    """
    if hasattr(module, "weight_fake_quant"):
        module.weight_fake_quant(float_layer(module).weight.detach())
        return
    observer = observer_of(module, "weight_post_process")
    # Weights may have been trained on, and those of before would widen the range for good.
    observer.reset()
    observer(float_layer(module).weight.detach())
