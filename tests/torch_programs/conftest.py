"""Programs for PyTorch: here ``torch`` means the workbench, as long as a test runs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from workbench.torch import install, uninstall

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def torch() -> Iterator[ModuleType]:
    """Give the module that a program has as ``torch``; a peer that other tests have loaded is put back."""
    kept = {name: one for name, one in sys.modules.items() if name.partition(".")[0] == "torch"}
    for name in kept:
        del sys.modules[name]
    install()
    import torch

    yield torch
    uninstall()
    sys.modules.update(kept)


@pytest.fixture
def run(tmp_path: Path, root: Path) -> Run:
    """Run a text as a program, in a process of its own."""

    def run(
        text: str, *arguments: str, name: str = "program.py", before: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return subprocess.run(
            [sys.executable, "-m", "workbench.torch", *before, str(path), *arguments],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
