"""Weights in and out: `load_weights` and `save_weights`, offered by the package itself."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base.dtypes import bfloat16
from workbench.base.errors import DTypeError, WeightsError, short
from workbench.base.files import open_file, replacing
from workbench.base.public import words
from workbench.data.archive import DataError, read_all
from workbench.interop import pytorch_files, safetensors
from workbench.nn import Module
from workbench.tensor import Tensor
from workbench.tensor.factories import from_numpy

__all__ = ["CHECKPOINT", "load_weights", "save_weights"]

CHECKPOINT = "workbench.checkpoint"
"""The metadata of a checkpoint have the state of a training by this key; the model's tensors are ``model.…``."""


def load_weights(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the tensors of a file by name: safetensors, a ``state_dict`` of PyTorch's in .pt or .pth, or .npz.

    What the file is, it says itself; nothing that stands in it is run. ``module.load_state_dict(load_weights(path))``
    copies them into a module, once all fit. Of a checkpoint of a `Trainer` they are its model's. What else a checkpoint
    of PyTorch's holds, such as an optimizer's state, is read by ``interop.pytorch_files.load_pytorch``.

    Raises `WeightsError` for a file that is damaged, of another kind, or holds more than tensors.

    >>> import tempfile, workbench as wb
    >>> module, other = wb.nn.Linear(3, 2), wb.nn.Linear(3, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_weights(module, f"{folder}/linear.safetensors")
    ...     other.load_state_dict(load_weights(f"{folder}/linear.safetensors"))
    <All keys matched successfully>
    >>> bool((module.weight == other.weight).all())
    True
    """
    stream, _ = open_file(path)
    with stream:
        start = stream.read(9)
        zipped = start.startswith(b"PK") and _holds_arrays(path)
    if zipped:
        try:
            return {name: _own(array, name, path) for name, array in read_all(Path(path)).items()}
        except DataError as error:
            raise WeightsError(str(error)) from None
    # As the length of a header these bytes could begin safetensors, too; then '{' follows at 8.
    if start.startswith((b"PK\3\4", b"\x80")) and start[8:9] != b"{":
        return _flat(pytorch_files.load_pytorch(path), path)
    for beginning, what in _OTHERS.items():
        if start.lstrip().lower().startswith(beginning):
            raise WeightsError(f"{os.fspath(path)}: {what}")
    found = safetensors.load_file(path)
    if CHECKPOINT not in safetensors.read_metadata(path):
        return found
    return {name.removeprefix("model."): one for name, one in found.items() if name.startswith("model.")}


_OTHERS = {
    b"<!doctype": "it is a web page, as what a download gives that did not work: get the file anew",
    b"<html": "it is a web page, as what a download gives that did not work: get the file anew",
    b"version h": "it is a pointer of Git LFS, which says where the file is: git lfs pull brings it",
    b"\x1f\x8b": "it is packed by gzip: unpack it first",
    b"\x89hdf": "it is HDF5, which is not read: save the arrays with numpy.savez",
    b"gguf": "it is GGUF, which is not read: take the model's safetensors",
}
"""How other files begin that are taken for weights, in lower case, and what is said of them."""


def _holds_arrays(path: str | os.PathLike[str]) -> bool:
    """Say whether a zip holds NumPy's arrays; what cannot be opened is for the readers to refuse."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return False


def _own(array: np.ndarray[Any, Any], name: str, path: str | os.PathLike[str]) -> Tensor:
    """Return a tensor with a copy in this machine's order of bytes: what was read is not writable."""
    try:
        return from_numpy(np.array(array, array.dtype.newbyteorder("="), order="C"))
    except DTypeError as error:
        raise WeightsError(f"{os.fspath(path)}: array {short(name)}: {error}") from None


def _flat(found: Any, path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return a mapping of tensors as it is; refuse other values, and say how to get at what is in them."""
    if isinstance(found, dict):
        odd = next((key for key, one in found.items() if not isinstance(one, Tensor)), None)
        if odd is None and all(isinstance(key, str) for key in found):
            return found
        what = f"{short(odd)} is a {type(found.get(odd)).__name__}"
    else:
        what = f"it holds a {type(found).__name__}"
    raise WeightsError(
        f"{os.fspath(path)}: no mapping of names to tensors: {what}. Read it with "
        "interop.pytorch_files.load_pytorch(path), and take the part of it that is"
    )


def save_weights(weights: Module | Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a module's state, or tensors by name, in the format that the suffix says; the file is replaced whole.

    ``.safetensors`` keeps names of dims, and is what to take; ``.pt`` and ``.pth`` are for ``torch.load``, which reads
    past the names; ``.npz`` is for NumPy, and has none.

    Raises ValueError for another suffix, `DTypeError` for types that the format has not, `QuantizationError` for
    quantized tensors; nothing is written then.
    """
    suffix = Path(path).suffix.lower()
    tensors: Mapping[str, Any]
    if not isinstance(weights, Module):
        tensors = weights
    elif suffix in (".pt", ".pth"):
        tensors = weights.state_dict()
    else:
        # What a state has beside its keys has no place in a file of tensors, and is among them there.
        tensors = weights.state_dict(destination={})
    if suffix == ".safetensors":
        safetensors.save_file(tensors, path)
    elif suffix in (".pt", ".pth"):
        pytorch_files.save_pytorch(tensors, path)
    elif suffix == ".npz":
        _save_npz(tensors, path)
    else:
        raise ValueError(
            f"save_weights: {Path(path).name!r} has no suffix that says the format: .safetensors, .pt, .pth or .npz"
        )


def _save_npz(tensors: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    arrays, _ = safetensors.arrays_of(tensors, "save_weights")
    for key, array in arrays.items():
        if array.dtype == bfloat16.numpy:
            raise DTypeError(
                f"save_weights: {key!r} is bfloat16, which .npz does not have: write .safetensors"
            )
    # Not np.savez: its own arguments are called `file` and `allow_pickle`, as a tensor may be.
    with replacing(path) as part, zipfile.ZipFile(part, "w") as archive:
        for key, array in arrays.items():
            # How long it gets is not known when it is opened, and without the wider fields 2 GiB are the end.
            # A ZipInfo has no time: equal tensors give equal files.
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


__getattr__, __dir__ = words(__name__, __all__)
