"""What a random program does with a tensor: it moves values, computes with them, or writes among them."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from tests.quantization.random_draws import Random, chance, pick, whole

__all__ = ["computed", "moves", "written"]

F = wb.nn.functional


def dim_of(random: Random, x: Any) -> int:
    return whole(random, -x.ndim, x.ndim) if x.ndim else 0


def key_of(random: Random, x: Any) -> Any:
    """Draw a key of a tensor: numbers, slices, None, an ellipsis, lists of places, a mask."""
    key: list[Any] = []
    kinds = ["slice"] * 4 + ["number", "places", "none", "mask"]
    lists = 0
    for size in x.shape[: whole(random, 0, x.ndim + 1)]:
        kind = pick(random, kinds)
        if kind == "number" and size:
            key.append(whole(random, -size, size))
        elif kind == "places" and size and not lists:
            lists = 1
            key.append(wb.from_numpy(random.integers(-size, size, 3)))
        elif kind == "mask" and not lists:
            lists = 1
            key.append(wb.from_numpy(random.random(size) < 0.5))
        elif kind == "none":
            key += [None, slice(None)]
        else:
            bounds = sorted(random.integers(0, size + 1, 2).tolist())
            key.append(slice(*bounds, whole(random, 1, 3)))
    return tuple(key) if len(key) != 1 or chance(random) else key[0]


def moves(random: Random, x: Any) -> dict[str, Callable[[Any], Any]]:
    """Return what moves values of these sizes, or looks at them otherwise."""
    n, shape = x.ndim, tuple(x.shape)
    d, e = dim_of(random, x), dim_of(random, x)
    size = shape[d] if n else 1
    key, order = key_of(random, x), random.permutation(n).tolist()
    places = wb.from_numpy(random.integers(0, max(size, 1), 4))
    mask = wb.from_numpy(np.asarray(random.random(shape) < 0.5))
    found: dict[str, Callable[[Any], Any]] = {
        "key": lambda x: x[key],
        "permute": lambda x: x.permute(order),
        "flatten": lambda x: x.flatten(),
        "unsqueeze": lambda x: x.unsqueeze(d),
        "squeeze": lambda x: x.squeeze(),
        "clone": lambda x: x.clone(),
        "contiguous": lambda x: x.contiguous(),
        "detach": lambda x: x.detach(),
        "view_as": lambda x: x.view_as(x),
        "deepcopy": copy.deepcopy,
        "pickle": lambda x: pickle.loads(pickle.dumps(x)),
        "file": filed,
        "masked_select": lambda x: x.masked_select(mask),
        "ravel": lambda x: x.ravel(),
        "view": lambda x: x.view(-1),
        "mask": lambda x: x[mask],
        "to device": lambda x: x.to("cpu"),
        "T": lambda x: x.t() if n <= 2 else x.mT,
        "expand_as": lambda x: x.expand_as(wb.zeros(2, *shape)),
        "reshape": lambda x: x.reshape(-1, 1),
        "zeros_like": lambda x: wb.zeros_like(x),
        "alias": lambda x: x.data,
        "item": lambda x: x.flatten()[:1],
    }
    if n:
        found |= {
            "transpose": lambda x: x.transpose(d, e),
            "movedim": lambda x: x.movedim(d, e),
            "flip": lambda x: x.flip(d),
            "roll": lambda x: x.roll(2, d),
            "narrow": lambda x: x.narrow(d, 0, size // 2),
            "repeat": lambda x: x.repeat(*[2] * n),
            "index_select": lambda x: x.index_select(d, places),
            "unbind": lambda x: x.unbind(d)[-1],
            "chunk": lambda x: x.chunk(2, d)[0],
            "split": lambda x: x.split(2, d)[-1],
            "select": lambda x: x.select(d, size - 1),
            "unfold": lambda x: x.unfold(d, min(2, size), 1),
            "repeat_interleave": lambda x: x.repeat_interleave(2, d),
            "tile": lambda x: x.tile(2),
            "take": lambda x: x.take(places),
            "gather": lambda x: x.gather(d, wb.zeros(shape).long()),
            "unflatten": lambda x: x.unflatten(d, (size, 1)),
            "stack": lambda x: wb.stack([x, x], d),
            "cat": lambda x: wb.cat([x, x], d),
            "tensor_split": lambda x: x.tensor_split(2, d)[1],
            "swapaxes": lambda x: x.swapaxes(d, e),
            "hstack": lambda x: wb.hstack([x, x]),
            "vstack": lambda x: wb.vstack([x, x]),
            "pad": lambda x: F.pad(x, (1, 2)),
            "atleast_3d": lambda x: wb.atleast_3d(x),
            "first": lambda x: x[0],
            "rows backwards": lambda x: x.flip(0)[::2],
            "broadcast": lambda x: x.unsqueeze(0).expand(3, *shape),
            "as_strided": lambda x: x.as_strided((2, 2), (1, 1)) if x.numel() > 3 else x,
        }
    if n > 1:
        found |= {
            "diagonal": lambda x: x.diagonal(),
            "tril": lambda x: x.tril(),
            "triu": lambda x: x.triu(1),
            "rot90": lambda x: x.rot90(),
        }
    return found


def computed(random: Random, x: Any) -> dict[str, Callable[[Any], Any]]:
    """Return what computes with values of these sizes; codes or numbers come out."""
    n, shape = x.ndim, tuple(x.shape)
    d = dim_of(random, x)
    mask = wb.from_numpy(np.asarray(random.random(shape) < 0.5))
    low = float(random.normal())
    found: dict[str, Callable[[Any], Any]] = {
        "relu": lambda x: x.relu(),
        "clamp": lambda x: x.clamp(low, low + 1),
        "clamp_min": lambda x: x.clamp(min=low),
        "max": lambda x: x.max(),
        "min": lambda x: x.min(),
        "argmax": lambda x: x.argmax(),
        "eq": lambda x: x == low,
        "lt": lambda x: x < low,
        "where": lambda x: wb.where(mask, x, x),
        "masked_fill": lambda x: x.masked_fill(mask, low),
        "isnan": lambda x: x.isnan(),
        "equal": lambda x: wb.tensor(x.equal(x)),
        "allclose": lambda x: wb.tensor(wb.allclose(x, x)),
        "maximum": lambda x: wb.maximum(x, x),
        "sort all": lambda x: x.flatten().sort()[0],
        "hardtanh": lambda x: F.hardtanh(x),
        "relu6": lambda x: F.relu6(x),
        "leaky": lambda x: F.leaky_relu(x),
        "median": lambda x: x.median(),
        "numel": lambda x: wb.tensor(x.numel()),
        "threshold": lambda x: F.threshold(x, low, low),
        "ge codes": lambda x: x >= x,
        "unique": lambda x: x.unique(),
        "isfinite": lambda x: x.isfinite(),
        "any": lambda x: (x != 0).any(),
        "count": lambda x: x.count_nonzero(),
    }
    if n and min(shape) > 0:
        found |= {
            "amax": lambda x: x.amax(d),
            "amin": lambda x: x.amin(d, keepdim=True),
            "max dim": lambda x: x.max(d)[0],
            "min dim": lambda x: x.min(d)[1],
            "sort": lambda x: x.sort(d)[0],
            "sort down": lambda x: x.sort(d, descending=True)[0],
            "sort places": lambda x: x.sort(d, stable=True)[1],
            "topk": lambda x: x.topk(1, d)[0],
            "kthvalue": lambda x: x.kthvalue(1, d)[0],
            "argsort": lambda x: x.argsort(d, stable=True),
            "mean": lambda x: x.mean(d),
            "argmin": lambda x: x.argmin(d),
            "cummax": lambda x: x.cummax(d)[0],
            "msort": lambda x: wb.msort(x),
            "mode": lambda x: x.mode(d)[0],
        }
    if n == 4 and min(shape) > 1:
        found |= {
            "max_pool2d": lambda x: F.max_pool2d(x, 2),
            "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
            "interpolate": lambda x: F.interpolate(x, scale_factor=2),
            "adaptive": lambda x: F.adaptive_avg_pool2d(x, 1),
        }
    return found


def written(random: Random, x: Any) -> dict[str, Callable[[Any], Any]]:
    """Return what writes into values of these sizes, or changes how they are seen."""
    n, shape = x.ndim, tuple(x.shape)
    d, e = dim_of(random, x), dim_of(random, x)
    mask, key, value = (
        wb.from_numpy(np.asarray(random.random(shape) < 0.5)),
        key_of(random, x),
        float(random.normal() * 2),
    )
    other = wb.from_numpy(random.standard_normal(shape).astype(np.float32))
    places = wb.from_numpy(random.integers(0, max(shape[d], 1) if n else 1, 2))

    def assigned(x: Any) -> Any:
        x[key] = value
        return x

    def assigned_own(x: Any) -> Any:
        x[key] = x[key].clone()
        return x

    def masked(x: Any) -> Any:
        x[mask] = value
        return x

    def assigned_numbers(x: Any) -> Any:
        x[...] = other
        return x

    return {
        "fill_": lambda x: x.fill_(value),
        "zero_": lambda x: x.zero_(),
        "masked_fill_": lambda x: x.masked_fill_(mask, value),
        "copy_": lambda x: x.copy_(other),
        "clamp_": lambda x: x.clamp_(-1.0, value),
        "relu_": lambda x: x.relu_(),
        "x[key] = number": assigned,
        "x[key] = codes": assigned_own,
        "x[mask] = number": masked,
        "x[...] = numbers": assigned_numbers,
        "copy_ own": lambda x: x.copy_(x.clone()),
        "transpose_": lambda x: x.transpose_(d, e) if n else x,
        "unsqueeze_": lambda x: x.unsqueeze_(d),
        "squeeze_": lambda x: x.squeeze_(),
        "t_": lambda x: x.t_() if n <= 2 else x,
        "index_fill_": lambda x: x.index_fill_(d, places, value) if n and shape[d] else x,
        "hardtanh_": lambda x: F.hardtanh_(x),
        "index_put_": lambda x: x.index_put_((mask,), wb.tensor(value)),
        "copy_ number": lambda x: x.copy_(wb.tensor(value)),
    }


def filed(x: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        wb.save({"x": x}, Path(folder) / "x.pt")
        return wb.load(Path(folder) / "x.pt")["x"]
