"""The TypeScript types and the Python messages are one thing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workbench.widgets import generate


def _copied(folder: Path, old: str, new: str) -> Path:
    """The files of the messages in `folder`, with `new` for `old` in the one that has it."""
    copied = folder / "messages"
    shutil.copytree(generate.MESSAGES, copied, ignore=shutil.ignore_patterns("__pycache__"))
    (path,) = (path for path in copied.glob("*.py") if old in path.read_text(encoding="utf-8"))
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return copied


def test_the_committed_types_are_those_of_the_messages(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, capsys.readouterr().err


def test_a_changed_message_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = _copied(tmp_path, "class Dim:", "class Dimension:")
    monkeypatch.setattr(generate, "MESSAGES", changed)
    assert generate.main(["--check"]) == 1
    assert "run: python -m workbench.widgets.generate" in capsys.readouterr().err


def test_writing_makes_the_check_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "TARGET", tmp_path / "src" / "messages.ts")
    assert generate.main(["--check"]) == 1
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("python", "typescript"),
    [
        ("x: int", "readonly x: number;"),
        ("x: float | None", "readonly x: number | null;"),
        ("x: list[list[str]]", "readonly x: readonly (readonly string[])[];"),
        ("x: list[int | None]", "readonly x: readonly (number | null)[];"),
        ('x: Literal["a", "b"]', "readonly x: 'a' | 'b';"),
        ("x: dict[str, object]", "readonly x: Readonly<Record<string, unknown>>;"),
        ("x: Dim", "readonly x: Dim;"),
    ],
)
def test_each_annotation_has_its_type(python: str, typescript: str) -> None:
    assert typescript in generate.typescript(f'class M:\n    """A message."""\n    {python}\n')


def test_a_comment_stays_with_its_field() -> None:
    text = generate.typescript(
        'class M:\n    """A message."""\n    a: int\n    """In ``dB``."""\n    b: int\n'
    )
    assert "  /** In `dB`. */\n  readonly b" not in text
    assert "  /** In `dB`. */\n  readonly a: number;\n" in text


def test_an_annotation_without_equivalent_is_refused_with_its_line() -> None:
    with pytest.raises(TypeError, match=r"line 3: the annotation 'set\[int\]' has no TypeScript equivalent"):
        generate.typescript('class M:\n    """A message."""\n    x: set[int]\n')


@pytest.mark.parametrize(
    ("old", "new", "file"),
    [
        ("sliders: list[Slider]", "sliders: set[Slider]", "shapes.py"),
        ('"graph": ((GraphState,), ', '"graph": (GraphState, ', "views.py"),
    ],
)
def test_a_refusal_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, file: str
) -> None:
    changed = _copied(tmp_path, old, new)
    monkeypatch.setattr(generate, "MESSAGES", changed)
    with pytest.raises(TypeError, match=rf"^{file}, line \d+: "):
        generate.main(["--check"])
