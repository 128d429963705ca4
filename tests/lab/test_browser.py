from __future__ import annotations

from pathlib import Path

import pytest

from workbench.lab.browser import browser_version, find_browser


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH and an empty home."""
    monkeypatch.delenv("WORKBENCH_BROWSER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "downloads"))
    monkeypatch.setattr("workbench.lab.browser._PLACES", {})
    return tmp_path


def test_nothing_is_found_on_a_bare_machine(bare: Path) -> None:
    assert find_browser() is None


def test_the_system_comes_before_downloads(bare: Path) -> None:
    newest = program(bare / "downloads" / "chromium-1200" / "chrome-linux" / "chrome", "")
    for other in ("chromium-1100", "chromium-999", "chromium-old"):
        program(bare / "downloads" / other / "chrome-linux" / "chrome", "")
    assert find_browser() == newest
    system = program(bare / "bin" / "chromium", "")
    assert find_browser() == system


def test_the_variable_comes_first_and_is_checked(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(bare / "bin" / "chromium", "")
    named = program(bare / "mine", "")
    monkeypatch.setenv("WORKBENCH_BROWSER", str(named))
    assert find_browser() == named
    monkeypatch.setenv("WORKBENCH_BROWSER", str(bare / "gone"))
    with pytest.raises(FileNotFoundError, match=r"WORKBENCH_BROWSER is '.*gone', which is not a file"):
        find_browser()


def test_the_version_is_the_line_with_a_number(bare: Path) -> None:
    assert browser_version(program(bare / "a", "echo a warning; echo Chromium 140.0")) == "Chromium 140.0"


@pytest.mark.parametrize("text", ["exit 1", "echo nothing to see"])
def test_a_program_that_is_no_browser_has_no_version(text: str, bare: Path) -> None:
    assert browser_version(program(bare / "a", text)) is None
    assert browser_version(bare / "missing") is None
