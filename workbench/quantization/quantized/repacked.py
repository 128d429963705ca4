"""The state of converted layers under PyTorch's keys: a weight in codes with its bias, and the type of the codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.nn import Module
from workbench.quantization.quantized.script_objects import advice_for
from workbench.tensor import Tensor

__all__ = ["PACKED", "TYPE", "PackedConvolution", "PackedLinear", "Repacked"]

TYPE = "_packed_params.dtype"
PACKED = "_packed_params._packed_params"


class Repacked(Module):
    """A module whose tensors stand under other keys in a state than they have in the module."""

    shown: tuple[str, ...] = ()
    """The key in a state of what is missing there, where it is not that in the module: pairs in a row."""

    parts: Mapping[str, int] = {}
    """The versions of the states of modules that PyTorch's layer has in it, by their names."""

    def packed(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return what a state has for the tensors of the module."""
        return own

    def unpacked(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors of the module for what a state has; raise ValueError for what it cannot have."""
        return given

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        own: dict[str, Any] = {}
        super()._save_to_state_dict(own, "", keep_vars)
        destination.update((prefix + key, value) for key, value in self.packed(own).items())
        if hasattr(destination, "_metadata"):
            for name, version in self.parts.items():
                destination._metadata[prefix + name] = {"version": version}

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        inside = {key.removeprefix(prefix): one for key, one in state_dict.items() if key.startswith(prefix)}
        try:
            own = {prefix + key: one for key, one in self.unpacked(inside).items()}
        except ValueError as error:
            error_msgs.append(f"{prefix}{error}")
            return
        missing: list[str] = []
        super()._load_from_state_dict(
            own, prefix, local_metadata, strict, missing, unexpected_keys, error_msgs
        )
        called = dict(zip(self.shown[::2], self.shown[1::2], strict=True))
        said = [prefix + called.get(key.removeprefix(prefix), key.removeprefix(prefix)) for key in missing]
        missing_keys.extend(dict.fromkeys(said))


class PackedLinear(Repacked):
    """A linear layer, whose weight and bias are one pair."""

    _version = 3
    parts: Mapping[str, int] = {"_packed_params": 3}
    shown = ("weight", PACKED, "bias", PACKED)

    def packed(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return weight and bias as a pair, and the type of the weight beside."""
        weight, bias = own.pop("weight"), own.pop("bias", None)
        return {**own, TYPE: weight.dtype, PACKED: (weight, bias)}

    def unpacked(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return weight and bias of the pair."""
        own = {key: one for key, one in given.items() if key not in (TYPE, PACKED)}
        if PACKED not in given:
            return own
        pair = given[PACKED]
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"{PACKED}: expected a weight and a bias, got {type(pair).__name__}.")
        if not isinstance(pair[0], Tensor):
            raise ValueError(
                f"{PACKED}: expected a weight and a bias, got a {type(pair[0]).__name__} of "
                f"{type(pair[0]).__module__}{advice_for(pair[0])}."
            )
        own["weight"] = pair[0]
        if pair[1] is not None:
            own["bias"] = pair[1]
        return own


class PackedConvolution(Repacked):
    """A convolution, whose bias is in a state also where it is None."""

    def packed(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors, and None for a bias that there is none of."""
        return {"bias": None, **own}

    def unpacked(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors that there are."""
        return {key: one for key, one in given.items() if key != "bias" or one is not None}
