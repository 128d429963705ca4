"""Modules of PyTorch's as ones of ours, with the memory of their weights.

A layer that `workbench.nn` has is made anew from the settings that PyTorch's keeps under the same names. Any other
module is traced by ``torch.fx``, one at a time: what its `forward` does to tensors becomes a graph of
calls (`torch_graphs`), one like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from workbench import nn
from workbench.base.dims import Names
from workbench.base.random import fork_rng
from workbench.core.value import labelled
from workbench.interop.torch_graphs import Traced, forward_of, function_of
from workbench.interop.torch_quantized import dynamic_layer, is_quantized
from workbench.interop.torch_tensors import TORCH, from_torch
from workbench.nn import Module, Parameter
from workbench.tensor import Tensor

__all__ = ["from_module"]

UNREAD = frozenset(["device", "dtype", "size_average", "reduce", "_weight", "_freeze", "_random_samples"])
"""Arguments of constructors that leave no trace, or whose values come with the parameters and buffers."""

OURS = frozenset(["out_dim", "min_value", "max_value", "init"])
"""Arguments that PyTorch's layer does not keep, or has not: their defaults change nothing of what is computed."""


def from_module(module: Any, names: Mapping[str, Names] | None = None) -> Module:
    """Return a module of PyTorch's as one of ours: same structure, paths and state, weights in shared memory.

    Training one trains the other. Layers that `workbench.nn` has become those, and label the dims of their parameters;
    other modules, the user's own, are traced by ``torch.fx``, in training and in evaluation: `forward` may not depend
    on values, and arguments whose default is None, a bool or a word keep it. `names` gives names of dims by path of a
    parameter or buffer. The mode and the hooks of forward calls come along. Layers that quantize what comes to them
    become ours with copies of their codes.

    Raises TypeError, which says the path and the class, for a module that can be neither made nor traced, and for what
    its `forward` calls that is not there; ValueError for a path in `names` that leads to nothing.
    """
    if not hasattr(module, "_modules") or not isinstance(module, TORCH.nn.Module):
        raise TypeError(f"from_module: expected a torch.nn.Module, got {type(module).__name__}")
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(
            f"from_module: names are given by path, as {{'conv.weight': ('out', 'in', 'kH', 'kW')}}, and a "
            f"{type(names).__name__} was given; a module is read as it is, without an example of its inputs"
        )
    given = dict(names or {})
    # By all of their names, also where one tensor has several.
    paths = {*dict(module.named_parameters(remove_duplicate=False))}
    paths |= {*dict(module.named_buffers(remove_duplicate=False))}
    unknown = [path for path in given if path not in paths]
    if unknown:
        raise ValueError(
            f"from_module: names for {unknown[0]!r}, and the module has no such parameter or buffer"
        )
    # Layers draw first values when they are made, of which the program's streams are to know nothing.
    with fork_rng():
        return _Conversion(given).module(module, "")


class _Conversion:
    """One call of `from_module`: what was converted already, so that what is shared stays shared."""

    def __init__(self, names: dict[str, Names]) -> None:
        self._names = names
        self._modules: dict[int, Module] = {}
        self._tensors: dict[int, Tensor] = {}

    def module(self, theirs: Any, path: str, own: Any = None) -> Module:
        """Return the module that stands for `theirs`, of the class of `own` where that is called the same."""
        found = self._modules.get(id(theirs))
        if found is None:
            if isinstance(theirs, TORCH.jit.ScriptModule):
                raise self._refusal(theirs, path, "it is compiled: give the module it was made of")
            if _lazy(theirs):
                raise self._refusal(theirs, path, "it has no sizes yet: call it once first")
            _check_hooks(theirs, path)
            known = _known(theirs)
            if known is not None and isinstance(own, known) and type(own).__name__ == type(theirs).__name__:
                known = type(own)
            if is_quantized(theirs):
                ours = self._quantized(theirs, path)
            else:
                ours = self._traced(theirs, path) if known is None else self._layer(theirs, known, path)
            found = self._modules[id(theirs)] = ours
            _carry_hooks(theirs, ours)
            # Of this module alone: `train` would set those within it, too.
            ours.__dict__["training"] = theirs.training
        return found

    def _refusal(self, theirs: Any, path: str, why: str) -> TypeError:
        where = f"module {path!r}" if path else "the module"
        return TypeError(
            f"from_module: {where} is a {type(theirs).__module__}.{type(theirs).__name__}: {why}"
        )

    # ------------------------------------------------------------------------------------- layers

    def _quantized(self, theirs: Any, path: str) -> Module:
        """Return a layer with codes, which are not in shared memory."""
        ours = dynamic_layer(theirs)
        if ours is None:
            raise self._refusal(
                theirs,
                path,
                "layers with codes are made here of those that quantize_dynamic leaves: convert the float model here, "
                "and load the state, as converted.load_state_dict(wb.load(path)) after torch.save(module.state_dict(), "
                "path)",
            )
        return ours

    def _layer(self, theirs: Any, known: type[Module], path: str) -> Module:
        made = CHILDREN.get(known.__name__)
        if made is None:
            ours = known(**self._settings(theirs, known, path))
        else:
            arguments = made(theirs, lambda name: self.module(theirs.get_submodule(name), _join(path, name)))
            ours = known(**{key: self._setting(theirs, key, value, path) for key, value in arguments.items()})
        own = (name for name in ours._parameter_names if ours.__dict__[name] is not None)
        computed = next((name for name in own if name not in theirs._parameters), None)
        if computed is not None:
            raise self._refusal(
                theirs,
                path,
                f"its {computed} is computed and no parameter of its own: make it one first, as "
                f"torch.nn.utils.parametrize.remove_parametrizations(module, {computed!r}) does",
            )
        self._fill(theirs, ours, path)
        return ours

    def _settings(self, theirs: Any, known: type[Module], path: str) -> dict[str, Any]:
        """Return the constructor's arguments, read from the attributes of the same names."""
        found: dict[str, Any] = {}
        for key, parameter in inspect.signature(known).parameters.items():
            if key in UNREAD or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if key in READ.get(known.__name__, {}):
                value = READ[known.__name__][key](theirs)
            elif not hasattr(theirs, key):
                if key in OURS:
                    continue
                raise self._refusal(
                    theirs, path, f"it has no attribute {key!r}, which the layer here is made with"
                )
            else:
                value = getattr(theirs, key)
            # PyTorch has the parameter under the name of the setting.
            if key == "bias" and not isinstance(value, bool):
                value = value is not None
            found[key] = self._setting(theirs, key, value, path)
        return found

    def _setting(self, theirs: Any, key: str, value: Any, path: str) -> Any:
        """Return one setting as a value of ours."""
        if isinstance(value, TORCH.Tensor):
            return self._tensor(value, None)
        if isinstance(value, TORCH.Size):
            return tuple(value)
        if isinstance(value, TORCH.nn.Module):
            return self.module(value, _join(path, key))
        if callable(value) and not isinstance(value, type | Module):
            found = function_of(value)
            if found is None:
                raise self._refusal(
                    theirs, path, f"its {key} is {value!r}, for which there is no function here"
                )
            return found
        return value

    def _fill(self, theirs: Any, ours: Module, path: str) -> None:
        """Put the parameters, buffers and modules of `theirs` in the place of those of `ours`."""
        for name, parameter in theirs._parameters.items():
            own = getattr(ours, name, None)
            if parameter is None or isinstance(own, Tensor):
                _check_shape(own, parameter, _join(path, name))
            shared = self._shared(parameter, own, _join(path, name))
            if name in ours._parameter_names:
                setattr(ours, name, shared)
            else:
                ours.register_parameter(name, shared)  # type: ignore[arg-type]
        for name, buffer in theirs._buffers.items():
            shared = self._shared(buffer, getattr(ours, name, None), _join(path, name))
            if name in ours._buffer_names:
                setattr(ours, name, shared)
            else:
                ours.register_buffer(name, shared, name not in theirs._non_persistent_buffers_set)
        for name, child in theirs._modules.items():
            if child is not None:
                converted = self.module(child, _join(path, name), ours.__dict__.get(name))
                if ours.__dict__.get(name) is not converted:
                    # A plain attribute of that name, None too, would have add_module refuse.
                    ours.__dict__.pop(name, None)
                    ours.add_module(name, converted)

    # ------------------------------------------------------------------------------------ tensors

    def _shared(self, theirs: Any, own: Tensor | None, path: str) -> Tensor | None:
        """Return a parameter or a buffer in shared memory, with the names that `own` or the caller gave."""
        if theirs is None:
            return None
        names = self._names.get(path, None if own is None else own._names)
        return self._tensor(theirs, names, None if own is None else own._labels)

    def _tensor(self, theirs: Any, names: Any, labels: Any = None) -> Tensor:
        found = self._tensors.get(id(theirs))
        if found is None:
            found = labelled(from_torch(theirs.detach(), names=names), labels)
            if isinstance(theirs, TORCH.nn.Parameter):
                found = Parameter(found, theirs.requires_grad)
            self._tensors[id(theirs)] = found
        return found

    # ------------------------------------------------------------------------------------- traced

    def _traced(self, theirs: Any, path: str) -> Module:
        try:
            forwards = {
                mode: forward_of(theirs, mode, lambda one: self._tensor(one, None)) for mode in (True, False)
            }
        except TypeError as error:
            raise self._refusal(theirs, path, str(error)) from None
        ours = Traced(type(theirs).__name__, forwards)
        self._fill(theirs, ours, path)
        ours.hold()
        return ours


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _check_shape(own: Tensor | None, theirs: Any, path: str) -> None:
    ours = None if own is None else tuple(own.shape)
    wanted = None if theirs is None else tuple(theirs.shape)
    if ours != wanted:
        raise TypeError(f"from_module: parameter {path!r} has shape {wanted}, and the layer here {ours}")


def _known(theirs: Any) -> type[Module] | None:
    """Return our layer for `theirs`: of its class, or of the class whose `forward` it has unchanged."""
    kind: Any
    for kind in type(theirs).__mro__:
        # A class that changes `forward` is that layer no longer.
        if getattr(kind, "forward", type(theirs).forward) is not type(theirs).forward:
            break
        found = getattr(nn, kind.__name__, None)
        if found is not None and getattr(TORCH.nn, kind.__name__, None) is kind is not TORCH.nn.Module:
            return cast(type[Module], found)
    return None


def _lazy(theirs: Any) -> bool:
    check = getattr(theirs, "has_uninitialized_params", None)
    return check is not None and bool(check())


def _check_hooks(theirs: Any, path: str) -> None:
    """Refuse hooks of PyTorch's own, which compute with its functions."""
    for hook in (*theirs._forward_pre_hooks.values(), *theirs._forward_hooks.values()):
        if (getattr(hook, "__module__", None) or "").startswith("torch."):
            raise TypeError(
                f"from_module: module {path!r} has a hook of PyTorch's own, {hook!r}: remove it first, as "
                "remove_weight_norm, remove_spectral_norm and prune.remove of torch.nn.utils do"
            )


def _carry_hooks(theirs: Any, ours: Module) -> None:
    """Register the hooks of forward calls."""
    for key, hook in theirs._forward_pre_hooks.items():
        ours.register_forward_pre_hook(hook, with_kwargs=key in theirs._forward_pre_hooks_with_kwargs)
    for key, hook in theirs._forward_hooks.items():
        ours.register_forward_hook(
            hook,
            with_kwargs=key in theirs._forward_hooks_with_kwargs,
            always_call=key in theirs._forward_hooks_always_called,
        )


# ---------------------------------------------------------------------------- what stands under other names

_TRANSFORMER_LAYER = {
    "d_model": lambda m: m.self_attn.embed_dim,
    "nhead": lambda m: m.self_attn.num_heads,
    "dim_feedforward": lambda m: m.linear1.out_features,
    "dropout": lambda m: m.dropout.p,
    "layer_norm_eps": lambda m: m.norm1.eps,
    "batch_first": lambda m: m.self_attn.batch_first,
    "bias": lambda m: m.linear1.bias is not None,
}

READ: dict[str, dict[str, Callable[[Any], Any]]] = {
    "AdaptiveLogSoftmaxWithLoss": {"cutoffs": lambda m: m.cutoffs[:-1]},
    "LinearCrossEntropyLoss": {
        "in_features": lambda m: m.linear.in_features,
        "bias": lambda m: m.linear.bias is not None,
    },
    "PairwiseDistance": {"p": lambda m: m.norm},
    "MultiheadAttention": {
        "bias": lambda m: m.in_proj_bias is not None,
        "add_bias_kv": lambda m: m.bias_k is not None,
    },
    "TransformerDecoderLayer": _TRANSFORMER_LAYER,
    "TransformerEncoderLayer": _TRANSFORMER_LAYER,
}
"""Arguments of constructors that are read otherwise than from the attribute of the same name."""

CHILDREN: dict[str, Any] = {
    "Sequential": lambda m, child: {},
    "ModuleList": lambda m, child: {},
    "ModuleDict": lambda m, child: {},
    "ParameterList": lambda m, child: {},
    "ParameterDict": lambda m, child: {},
    "TransformerEncoder": lambda m, child: {
        "encoder_layer": child("layers.0"),
        "num_layers": m.num_layers,
        "norm": m.norm and child("norm"),
        "enable_nested_tensor": m.enable_nested_tensor,
        "mask_check": m.mask_check,
    },
    "TransformerDecoder": lambda m, child: {
        "decoder_layer": child("layers.0"),
        "num_layers": m.num_layers,
        "norm": m.norm and child("norm"),
    },
    "Transformer": lambda m, child: {
        "d_model": m.d_model,
        "nhead": m.nhead,
        "custom_encoder": child("encoder"),
        "custom_decoder": child("decoder"),
        "batch_first": m.batch_first,
    },
}
"""Arguments of modules that are made of other modules."""
