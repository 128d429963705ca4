"""What is called once a module has been imported."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

import pytest

from workbench.base.imported import when_imported


def test_the_call_comes_behind_the_import_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "waited_for"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("done = True\n")
    (tmp_path / "waited_and_broken.py").write_text("raise ValueError('broken')\n")
    seen = []
    when_imported("waited_for.part", lambda: seen.append(sys.modules["waited_for.part"].done))
    when_imported("waited_and_broken", lambda: seen.append("never"))
    assert not seen
    found = importlib.import_module("waited_for.part")
    assert seen == [True]
    assert inspect.getsource(found) == "done = True\n"
    assert type(found.__loader__).__name__ == "SourceFileLoader"
    importlib.reload(found)
    when_imported("waited_for.part", lambda: seen.append("at once"))
    assert seen == [True, "at once"]
    with pytest.raises(ValueError, match="broken"):
        importlib.import_module("waited_and_broken")
    assert seen == [True, "at once"]
    when_imported("waited_for.nothing", seen.clear)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("waited_for.nothing")
    assert seen
