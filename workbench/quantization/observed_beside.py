"""Observers that PyTorch's models in training have not: their state stands beside the keys of a state."""

from __future__ import annotations

import warnings
from typing import Any

from workbench.nn import Module
from workbench.nn.state import once_checked

__all__ = ["keep_beside"]


def keep_beside(module: Module, child: str) -> None:
    """Have the state of a layer hold that of an observer in it beside the versions, so that the keys are PyTorch's.

    A plain dict, which has no place for versions, has it among the keys.
    """
    owner: Any = module
    owner._beside = child
    module.register_state_dict_post_hook(_put_beside)
    module.register_load_state_dict_pre_hook(_take_from_beside)


def _put_beside(module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
    if hasattr(state_dict, "_metadata"):
        lead = f"{prefix}{module._beside}."
        inside = [key for key in state_dict if key.startswith(lead)]
        # Copies: what is beside is not looked at by who copies the tensors of a state.
        local_metadata["held"] = {
            key.removeprefix(prefix): state_dict.pop(key).detach().clone() for key in inside
        }


def _take_from_beside(
    module: Any, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
) -> None:
    lead = f"{prefix}{module._beside}."
    if any(key.startswith(lead) for key in state_dict):
        return
    held = local_metadata.get("held")
    if held is None:
        own: dict[str, Any] = {}
        getattr(module, module._beside).state_dict(destination=own, prefix=lead)
        state_dict.update(own)
        once_checked(local_metadata, lambda: _tell(module, lead))
    else:
        state_dict.update({prefix + key: one for key, one in held.items()})


def _tell(module: Any, lead: str) -> None:
    warnings.warn(
        f"the state has no {lead[:-1]}, as PyTorch has none in a {type(module).__name__} in training: it stays as it "
        "is here. Train on, or calibrate on the same data, and it sees what the layer gives now",
        stacklevel=4,
    )
