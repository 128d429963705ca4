"""A view that is not there: its own files and its entry, as somebody would add them (see CONTRIBUTING.md).

`add` puts them into a tree, and `copy` makes a tree to try it in: the package and the front end as they are.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from workbench.lab.views import LIST, ROOT

__all__ = ["FILES", "add", "copy"]

HERE = Path(__file__).parent

FILES = {
    "messages.py": Path("workbench", "live", "messages", "gauge.py"),
    "widget.py": Path("workbench", "widgets", "gauge.py"),
    "index.ts": Path("extensions", "views", "src", "gauge", "index.ts"),
    "states.ts": Path("extensions", "views", "harness", "states", "gauge.ts"),
}
"""Its own files, and where they belong."""

IMPORT = "from workbench.live.messages.gauge import GaugeState, PresetEvent\n"
ENTRY = """\
        View(
            name="gauge",
            title="Gauge",
            icon="M2 7h12v2H2z",
            states=(GaugeState,),
            events=(PresetEvent,),
            widgets={"gauge": ("GaugeWidget", "Level", "gauge")},
            run="wb.live.show(wb.widgets.Level(0.3))",
            height=160,
        ),
"""


def copy(folder: Path) -> Path:
    """Return a tree in `folder` in which a view can be added; what adding one does not touch is linked."""
    package = folder / "workbench"
    package.mkdir()
    written = {"live", "widgets"}
    for path in (ROOT / "workbench").iterdir():
        if path.name in written:
            shutil.copytree(path, package / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    extensions = folder / "extensions"
    extensions.mkdir()
    for name in ("protocol", "views", "widgets", "scripts"):
        shutil.copytree(ROOT / "extensions" / name, extensions / name)
    for name in ("node_modules", "package.json", "tsconfig.json"):
        if (ROOT / "extensions" / name).exists():
            (extensions / name).symlink_to(ROOT / "extensions" / name)
    return folder


def add(root: Path) -> None:
    """Put the view's own files into the tree `root`, and its entry into the list."""
    for name, target in FILES.items():
        (root / target).parent.mkdir(exist_ok=True)
        shutil.copy(HERE / name, root / target)
    path = root / LIST
    text = path.read_text(encoding="utf-8")
    before = "from workbench.live.messages.graph import"
    text = text.replace(before, IMPORT + before, 1)
    end = text.rindex("    )\n}\n")
    path.write_text(text[:end] + ENTRY + text[end:], encoding="utf-8")
