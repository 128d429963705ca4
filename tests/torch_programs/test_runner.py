"""``python -m workbench.torch`` runs a program as Python itself would, and says in a line what it lacks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.torch_programs.conftest import Run

PROGRAM = """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
data = TensorDataset(torch.randn(64, 2), torch.randn(64, 1))
optimizer = optim.Adam(model.parameters(), lr=1e-2)
losses = []
for epoch in range(3):
    for x, y in DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
print(sys.argv[1:], __name__, sys.modules["__main__"].__file__ == __file__, __spec__, len(losses))
print(sorted(name for name in sys.modules if name.startswith("torch._C")), isinstance(x, Tensor))
"""


def test_a_program_runs_as_main(run: Run) -> None:
    done = run(PROGRAM, "--epochs", "3")
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["['--epochs', '3'] __main__ True None 3", "[] True"]
    assert done.returncode == 0


def test_the_exit_status_is_the_programs(run: Run) -> None:
    assert run("raise SystemExit(7)").returncode == 7


def test_a_traceback_is_that_of_python_itself(run: Run, tmp_path: Path) -> None:
    text = "import torch\ndef f(x):\n    return x / 0\nf(1)\n"
    done = run(text)
    plain = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(_without_torch(tmp_path))},
    )
    assert done.returncode == plain.returncode == 1
    assert done.stderr == plain.stderr
    assert "ZeroDivisionError" in done.stderr


def _without_torch(folder: Path) -> Path:
    """Return a folder in which a module ``torch`` does nothing: PyTorch may be installed, or not."""
    place = folder / "nothing"
    place.mkdir()
    (place / "torch.py").write_text("", encoding="utf-8")
    return place


def test_a_mistake_in_the_syntax_is_told_as_python_tells_it(run: Run) -> None:
    done = run("import torch\nx = = 1\n")
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("  File ") and first.endswith('program.py", line 2')
    assert last == "SyntaxError: invalid syntax"


def test_an_interrupt_ends_the_program_as_it_would_end_python(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import time, torch\nprint('ready', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench.torch", str(path)],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert told.splitlines()[-1] == "KeyboardInterrupt"
    assert "workbench" not in told.replace(str(tmp_path), "")


LACKING = {
    "torch.lineer": "module 'torch' has no attribute 'lineer': did you mean 'linear'?",
    "from torch.nn import Lineer": "module 'torch.nn' has no attribute 'Lineer': did you mean 'Linear'?",
    "import torch.nn.functionel": "module 'torch.nn' has no attribute 'functionel': did you mean 'functional'?",
    "torch.zeros(2).to('cuda')": "there is no device 'cuda' here",
    "torch.cuda.current_device()": "cuda.current_device needs a GPU, and there is none that CuPy can use here",
    "import not_there.at_all": "needs the package 'not_there', which is not installed here",
    "torch.zeros(2).flattten()": "'Tensor' object has no attribute 'flattten' here: did you mean 'flatten'?",
    "torch.sparse.FloatTensor(2, 2)": (
        "module 'torch.sparse' has no attribute 'FloatTensor': "
        "wb.sparse_coo_tensor(indices, values, size, dtype=wb.float32) makes one"
    ),
    "torch.save(torch.nn.Linear(2, 3), 'model.pt')": (
        "at the top: a workbench.nn.modules.linear.Linear is not saved whole, as reading it would run its code: "
        "save its state_dict()"
    ),
    "torch.hub.load('a/b', 'c')": "hub.load: needs a network",
    "import urllib.request as r; r.urlopen('http://127.0.0.1:9')": "needs a network, and could not reach it",
}


@pytest.mark.parametrize("text", LACKING)
def test_what_is_lacking_is_said_in_a_line(run: Run, text: str) -> None:
    done = run(f"import torch\n{text}\n")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert f"program.py, line 2: {LACKING[text]}" in done.stderr


def test_a_whole_traceback_is_there_for_who_wants_it(run: Run) -> None:
    done = run("import torch\ntorch.lineer\n", before=("--traceback",))
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.splitlines()[-1].endswith(
        "module 'workbench' has no attribute 'lineer': did you mean 'linear'?"
    )


def test_what_python_was_told_by_the_program_is_heard(run: Run) -> None:
    done = run(
        """
        import sys, torch
        sys.excepthook = lambda kind, error, trace: print("hook:", kind.__name__, trace.tb_lineno)
        torch.lineer
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("hook: AbsentWordError 4\n", "", 1)


def test_modules_and_code_run_as_python_runs_them(tmp_path: Path, root: Path) -> None:
    package = tmp_path / "net"
    package.mkdir()
    (package / "__init__.py").write_text("import torch.nn as nn\n", encoding="utf-8")
    (package / "__main__.py").write_text(
        "import sys\nfrom . import nn\nprint(nn.ReLU(), sys.argv[1:], __package__, __spec__.name)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "workbench.torch"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    for given, told in (
        (["-m", "net", "a"], "ReLU() ['a'] net net.__main__\n"),
        (["-c", "import sys, torch.nn as nn; print(nn.ReLU(), sys.argv)", "a"], "ReLU() ['-c', 'a']\n"),
        (["net", "a"], ""),
    ):
        done = subprocess.run(
            [*command, *given],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stdout == told, done.stderr
    assert "attempted relative import" in done.stderr  # a folder is no package, for Python either


def test_a_command_line_that_names_nothing_is_refused(root: Path) -> None:
    for given, words in (
        (["nowhere.py"], "can't open file"),
        (["-m", "nowhere_at_all"], "No module named nowhere_at_all"),
        (["--epochs"], "unknown option --epochs"),
        (["-c"], "argument expected for the -c option"),
        ([], "usage:"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "workbench.torch", *given],
            cwd=root, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode != 0
        assert words in done.stderr
        assert "Traceback" not in done.stderr


SPAWNED = """
import multiprocessing as python
import pickle, copy
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor(float(i)) ** 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)


def work(i, queue):
    import torch.nn.functional as F
    queue.put((i, F.relu(torch.tensor([-1.0, float(i)])).tolist(), torch.__version__))


if __name__ == "__main__":
    for how in ("fork", "spawn", "forkserver"):
        loader = DataLoader(Squares(), batch_size=4, num_workers=2, multiprocessing_context=how)
        print(how, [batch.tolist() for batch in loader])
    queue = python.get_context("spawn").SimpleQueue()
    mp.spawn(work, (queue,), nprocs=1)
    print(queue.get())
    net = pickle.loads(pickle.dumps(copy.deepcopy(Net())))
    print(type(net).__name__, [tuple(p.shape) for p in net.parameters()])
"""


def test_processes_that_the_program_starts_know_the_same_torch(run: Run) -> None:
    done = run(SPAWNED)
    batches = "[[0.0, 1.0, 4.0, 9.0], [16.0, 25.0, 36.0, 49.0]]"
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"fork {batches}",
        f"spawn {batches}",
        f"forkserver {batches}",
        "(0, [0.0, 0.0], '2.13.0+workbench')",
        "Net [(1, 2), (1,)]",
    ]
