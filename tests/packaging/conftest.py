"""The build steps as a module: they lie outside the package, because they run before it exists."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def build_steps(root: Path) -> ModuleType:
    """`extensions/build_steps.py`, loaded from its file."""
    spec = importlib.util.spec_from_file_location("build_steps", root / "extensions" / "build_steps.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
