from __future__ import annotations

from pathlib import Path

import pytest

from workbench.core import table
from workbench.lab import cli


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Command lines that would have replaced this process."""
    calls: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda program, arguments: calls.append([program, *arguments[1:]]))
    return calls


def test_lab_opens_the_notebook_and_hands_the_rest_on(
    started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000, raising=False)
    (tmp_path / "some folder").mkdir()
    (tmp_path / "some folder" / "first.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path)
    cli.main(["lab", "some folder/first.ipynb", "--no-browser", "--port=9999"])
    (command,) = started
    assert command[1:5] == ["-m", "jupyterlab", "--no-browser", "--port=9999"]
    address = "--LabApp.default_url=/lab/tree/some%20folder/first.ipynb"
    assert command[5:] == [f"--ServerApp.root_dir={tmp_path}", address]


def test_a_notebook_elsewhere_is_served_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "first.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path / "here")
    arguments = cli.lab_arguments(tmp_path / "first.ipynb", [], root=False)
    assert arguments == [f"--ServerApp.root_dir={tmp_path}", "--LabApp.default_url=/lab/tree/first.ipynb"]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [([], ["--allow-root"]), (["--allow-root"], ["--allow-root"])],
    ids=["added", "not twice"],
)
def test_root_may_serve(rest: list[str], expected: list[str]) -> None:
    assert cli.lab_arguments(None, rest, root=True) == expected


def test_a_missing_notebook_is_refused_by_name(
    started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lab", "nowhere.ipynb"]) == 2
    assert "there is no notebook 'nowhere.ipynb' in" in capsys.readouterr().err
    assert started == []


def test_an_unknown_argument_of_doctor_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["doctor", "--opps"])
    assert stop.value.code == 2
    assert "unrecognized arguments: --opps" in capsys.readouterr().err


def test_no_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    assert stop.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


def test_doctor_prints_a_table_without_colour_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["doctor"])
    printed = capsys.readouterr().out
    assert "\x1b[" not in printed
    assert code == (1 if "not healthy" in printed else 0)
    assert printed.splitlines()[0].startswith("versions")


def test_doctor_lists_the_ops(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--ops"]) == 0
    printed = capsys.readouterr().out
    assert f"{len(table())} ops" in printed
    assert "argmax" in printed
    assert "the output is constant almost everywhere" in printed


def test_doctor_shows_ops_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--ops", "argm*"]) == 0
    printed = capsys.readouterr().out
    assert "argmax: " in printed
    assert "argmin: " in printed
    assert "softmax" not in printed


def test_doctor_refuses_a_name_that_is_no_op(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--ops", "argmux"]) == 2
    assert "no op is called 'argmux'" in capsys.readouterr().err
