"""What was measured on this machine once, kept for later processes: so all of them compute the same bits.

One small JSON file in the user's cache folder holds which way each class of products goes, for each machine that was
met (processor, libraries, compiled kernels: a home folder may be shared by several). It is read when a class comes up
that this process has not met, and written when something was measured, never on import. What cannot be read, or is not
ours, is left as it is: the process goes on with what it measures itself, and `trouble` says why.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from workbench.base.files import alone, open_file, replacing
from workbench.base.lazy import Lazy
from workbench.kernels.loader import native

__all__ = ["SETTING", "WAYS", "folder", "kept", "known", "settle", "trouble", "where"]

SETTING = "WORKBENCH_CACHE"
"""Environment variable: the folder in which measured choices are kept, or ``off``: every process measures anew."""

WAYS = ("gemm", "made", "packed", "own", "BLAS")
VERSION = 1

hashlib, json = Lazy("hashlib"), Lazy("json")

_NAME = "products.json"
_LARGEST_FILE = 1 << 20
_MOST_MACHINES = 16
_MOST_CHOICES = 512
_LONGEST_TEXT = 256
_PATIENCE = 5.0  # seconds that another process may have the file

_trouble = ""

Record = dict[str, dict[str, Any]]
"""For each machine's mark: ``processor`` and ``software`` for who reads the file, and ``products``, way by class."""


def folder() -> Path | None:
    """Return the folder for what can be made anew: `SETTING`, or the platform's; None where nothing is to be kept."""
    given = os.environ.get(SETTING, "")
    if given.strip().lower() == "off":
        return None
    if given:
        return Path(given)
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        # The convention has relative paths ignored.
        told = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = told if told.is_absolute() else home / ".cache"
    return base / "workbench" if base.is_absolute() else None


def where() -> Path | None:
    """Return the file that choices are kept in, whether it is there or not; None where nothing is kept."""
    found = folder()
    return None if found is None else found / _NAME


def _processor() -> dict[str, str]:
    """Return what the system says of the first core: its model, and what it can."""
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
    found = {"model name": platform.processor() or platform.machine()}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() in wanted:
                    found[key.strip()] = value.strip()
                if not line.strip():
                    break
    except OSError:
        pass  # no Linux
    return found


def _software() -> str:
    """Return what computes products here: versions of the libraries, and what instructions they may use."""
    built: Any = np.show_config(mode="dicts")
    blas = built.get("Build Dependencies", {}).get("blas", {})
    told = native.info()
    return (
        f"oneDNN {told['onednn']} ({told['isa']}), loops {told['loops']}, "
        f"NumPy {np.__version__}, {blas.get('name', 'BLAS')} {blas.get('version', '')}"
    )


@lru_cache(maxsize=1)
def _machine() -> tuple[str, dict[str, str]]:
    """Return the mark of all that decides how fast each way is, and what of it a person may read."""
    processor, software = _processor(), _software()
    mark = hashlib.sha256(f"{sorted(processor.items())}\n{software}\n".encode())
    # Of the compiled kernels, what they are: two builds of one version differ.
    mark.update(Path(native.__file__).read_bytes())
    description = {"processor": processor["model name"], "software": software}
    return mark.hexdigest()[:32], {key: text[:_LONGEST_TEXT] for key, text in description.items()}


def _refuse(why: str) -> None:
    raise ValueError(why)


def _checked(content: Any) -> Record:
    """Return the machines of a file's content. Raises ValueError for anything that this code would not have written."""
    if not isinstance(content, dict) or set(content) != {"version", "machines"}:
        _refuse("it is none of the workbench's")
    if content["version"] != VERSION:
        _refuse(f"its version is {str(content['version'])[:20]!r}, expected {VERSION}")
    machines = content["machines"]
    if not isinstance(machines, dict) or len(machines) > _MOST_MACHINES:
        _refuse(f"it has no list of at most {_MOST_MACHINES} machines")
    for entry in machines.values():
        if not isinstance(entry, dict) or set(entry) != {"processor", "software", "products"}:
            _refuse("it describes a machine in other words")
        products = entry["products"]
        if not isinstance(products, dict) or len(products) > _MOST_CHOICES:
            _refuse(f"a machine has no list of at most {_MOST_CHOICES} products")
        if any(way not in WAYS for way in products.values()):
            _refuse(f"it has another way than {', '.join(WAYS)}")
        texts = (entry["processor"], entry["software"], *products)
        if any(not isinstance(text, str) or len(text) > _LONGEST_TEXT for text in texts):
            _refuse("it has something else where a short text belongs")
    return dict(machines)


def _read(path: Path) -> Record:
    """Return what is kept; nothing where there is no file. Raises OSError or ValueError for one that is not ours."""
    try:
        file, size = open_file(path)
    except FileNotFoundError:
        return {}
    with file:
        if size > _LARGEST_FILE:
            _refuse(f"it has {size:,} bytes")
        text = file.read(_LARGEST_FILE + 1)
    try:
        return _checked(json.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _write(path: Path, machines: Record) -> None:
    content = {"version": VERSION, "machines": machines}
    text = (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
    if len(text) > _LARGEST_FILE:
        _refuse("it would become too large")
    with replacing(path) as part:
        part.write_bytes(text)


def _note(error: Exception, path: Path) -> None:
    global _trouble
    _trouble = f"{path}: {error}"


def trouble() -> str:
    """Return why choices could not be read or kept when that was last needed; empty where they could."""
    return _trouble


def kept() -> dict[str, str]:
    """Return what is kept for this machine: the way of each class of products."""
    path = where()
    if path is None or native is None:
        return {}
    try:
        found = _read(path).get(_machine()[0], {}).get("products", {})
    except (OSError, ValueError) as error:
        _note(error, path)
        return {}
    return dict(found)


def known(product: str) -> str | None:
    """Return the way that is kept for a class of products; None where there is none."""
    return kept().get(product)


def settle(product: str, way: str) -> str:
    """Keep the way of a class of products; return it, or what another process has kept meanwhile: that one stays."""
    global _trouble
    path = where()
    if path is None:
        return way
    try:
        mark, description = _machine()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Not for ever: a file is replaced whole even where two write at once, and what is lost is measured again.
        with alone(path.parent, wait=_PATIENCE):
            machines = _read(path)
            products = machines.pop(mark, {"products": {}})["products"]
            if product in products:
                return str(products[product])
            if len(products) >= _MOST_CHOICES:
                _refuse(f"it has {_MOST_CHOICES} products already")
            # The machine that was met last stands last; the one that was not met for longest makes room.
            while len(machines) >= _MOST_MACHINES:
                del machines[next(iter(machines))]
            machines[mark] = {**description, "products": {**products, product: way}}
            _write(path, machines)
        _trouble = ""
    except (OSError, ValueError) as error:
        _note(error, path)
    return way
