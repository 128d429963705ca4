"""The list of views is the one place that names them: everything else is written from it, or reads it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab import gauge
from workbench.lab import views
from workbench.lab.protocol import typescript
from workbench.live.messages import VIEWS

SCRIPT = """
import workbench as wb
from workbench import live
from workbench.live.encode import encode_snapshot
from workbench.live.answer import answer
from workbench.live.ledger import Ledger
from workbench.live.messages import PROTOCOL_VERSION
from workbench.live.registry import registry

level = wb.widgets.Level(0.3)
model = live.show(level)
assert (model.view, live.models("gauge")) == ("gauge", (model,))
replies = [
    answer(
        {"type": "event", "version": PROTOCOL_VERSION, "sender": "page", "number": number, "oldest": 1,
         "model": model.id, "event": {"type": "preset", "value": value}},
        registry, live.selection, Ledger(),
    ).reason
    for number, value in ((1, 0.5), (1, 3), (1, "x"))
]
print(level.value, replies, encode_snapshot("gauge", model.snapshot())[0]["value"])
widget = wb.widgets.gauge(0.25)
print(type(widget).__name__, widget.view, widget.state["value"])
"""


def contents(root: Path) -> dict[Path, bytes]:
    """Every file that a tree has of its own."""
    return {
        path.relative_to(root): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
        and not any(part.is_symlink() for part in (path, *path.parents))
        and "__pycache__" not in path.parts
    }


def test_what_is_written_from_the_list_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert views.main(["--check"]) == 0, capsys.readouterr().err


def test_the_list_as_text_is_the_list_as_python() -> None:
    read = views.read_views(views.ROOT / views.LIST)
    assert [one.name for one in read] == list(VIEWS)
    for entry in read:
        view = VIEWS[entry.name]
        assert entry.states == tuple(state.__name__ for state in view.states)
        assert entry.events == tuple(event.__name__ for event in view.events)
        for field in ("title", "icon", "widgets", "run", "selects", "height"):
            assert getattr(entry, field) == getattr(view, field)


def test_a_view_is_its_own_files_and_one_entry(tmp_path: Path) -> None:
    root = gauge.copy(tmp_path)
    before = contents(root)
    gauge.add(root)
    assert views.main(["--check"], root) == 1
    assert views.main([], root) == 0
    assert views.main(["--check"], root) == 0
    after = contents(root)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {*gauge.FILES.values(), views.LIST, *views.WRITTEN}
    (root / "workbench" / "widgets" / "static").mkdir(exist_ok=True)
    (root / "workbench" / "widgets" / "static" / "gauge.js").write_text("export default {};")
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=root, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()
    assert first.startswith("0.5 ['', 'the level lies between 0.0 and 1.0', \"'preset'.value is a number")
    assert first.endswith(" 0.5")
    assert second == "GaugeWidget gauge 0.25"


NAMES = re.compile(r"""["'](shapes|histogram|heatmap|scatter)["']""")
"""Names of views that mean nothing else; "graph" and "training" are words, too."""

WORDS = {
    "workbench/quantization/observer.py": "PyTorch's name of a buffer of the observer that keeps a histogram",
}
"""Files in which such a word is something else, and what."""

OWN = re.compile(r"(^|/)(shapes|training|histogram|graph|heatmap|scatter|tensor|flow|clash)(/|\.|_html|$)")
"""Files that belong to one view."""


@pytest.mark.parametrize(
    "folder",
    [
        *(f"workbench/{room}" for room in ("base", "core", "tensor", "graph", "quantization", "attribution")),
        *(f"workbench/{room}" for room in ("embedding", "train", "live", "lab")),
        *(f"extensions/{part}" for part in ("lab/src", "views/src", "widgets/src", "scripts")),
    ],
)
def test_nothing_but_the_list_and_what_is_written_from_it_names_views(folder: str) -> None:
    found = []
    for path in sorted((views.ROOT / folder).rglob("*")):
        relative = path.relative_to(views.ROOT)
        if path.suffix not in (".py", ".ts", ".mjs") or relative in (views.LIST, *views.WRITTEN):
            continue
        if (
            str(relative) in WORDS
            or "labextension" in relative.parts
            or "static" in relative.parts
            or OWN.search(str(relative))
        ):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if NAMES.search(line) and not line.lstrip().startswith(("#", "*", "//", ">>>", "...")):
                found.append(f"{relative}, line {number}: {line.strip()}")
    assert found == []


def test_a_changed_message_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = gauge.copy(tmp_path)
    path = root / views.MESSAGES / "common.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace("class Dim:", "class Dimension:"), encoding="utf-8"
    )
    assert views.main(["--check"], root) == 1
    assert "run: python -m workbench.lab.views" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "states=(GraphState,)",
            "states=GraphState",
            r"^views\.py, line \d+: states is a tuple of message classes",
        ),
        ('title="Graph",', "", r"^views\.py, line \d+: .*missing 1 required .*'title'"),
        ('name="graph",', 'name="graph", colour="red",', r"^views\.py, line \d+: .*'colour'"),
    ],
)
def test_an_entry_that_is_wrong_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    path = tmp_path / "views.py"
    text = (views.ROOT / views.LIST).read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(TypeError, match=words):
        views.read_views(path)


def test_a_field_without_equivalent_is_named_with_its_file(tmp_path: Path) -> None:
    root = gauge.copy(tmp_path)
    path = root / views.MESSAGES / "shapes.py"
    text = path.read_text(encoding="utf-8").replace("sliders: list[Slider]", "sliders: set[Slider]")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TypeError, match=r"^shapes\.py, line \d+: "):
        views.main(["--check"], root)


@pytest.mark.parametrize(
    ("python", "expected"),
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
def test_each_annotation_has_its_type(python: str, expected: str) -> None:
    assert expected in typescript(f'class M:\n    """A message."""\n    {python}\n')


def test_a_comment_stays_with_its_field() -> None:
    text = typescript('class M:\n    """A message."""\n    a: int\n    """In ``dB``."""\n    b: int\n')
    assert "  /** In `dB`. */\n  readonly b" not in text
    assert "  /** In `dB`. */\n  readonly a: number;\n" in text


def test_an_annotation_without_equivalent_is_refused_with_its_line() -> None:
    with pytest.raises(TypeError, match=r"line 3: the annotation 'set\[int\]' has no TypeScript equivalent"):
        typescript('class M:\n    """A message."""\n    x: set[int]\n')
