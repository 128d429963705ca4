from __future__ import annotations

import json
from pathlib import Path

from workbench.lab.extension import EXTENSION, labextension_paths


def test_names_agree_on_both_sides(root: Path) -> None:
    package = json.loads((root / "extensions" / "package.json").read_text())
    assert package["name"] == EXTENSION
    (paths,) = labextension_paths()
    built = (root / "extensions" / package["jupyterlab"]["outputDir"]).resolve()
    assert built == root / "workbench" / paths["src"]


def test_versions_agree_on_both_sides(root: Path) -> None:
    package = json.loads((root / "extensions" / "package.json").read_text())
    declared = [
        line for line in (root / "pyproject.toml").read_text().splitlines() if line.startswith("version = ")
    ]
    assert declared == [f'version = "{package["version"]}"']
