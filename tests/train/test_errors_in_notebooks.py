"""What a notebook shows of errors whose words say all: the user's own lines, not this package's."""

from __future__ import annotations

import signal
from typing import Any

import pytest

import workbench as wb
from workbench.train import Trainer, TrainingError


def shown_of(error: Any) -> str:
    """What IPython would show of an error, in one line."""
    return " ".join("".join(error._render_traceback_()).split())


def test_only_the_lines_of_the_user_are_shown() -> None:
    model = wb.nn.Linear(2, 2)
    loader: Any = wb.data.DataLoader(wb.data.TensorDataset(wb.ones(4, 2), wb.zeros(4, dtype=wb.int64)), 2)
    trainer = Trainer(
        model,
        lambda scores, labels: scores.sum() * wb.inf,
        wb.optim.SGD(model.parameters(), lr=0.1),
        progress=False,
    )
    with pytest.raises(TrainingError) as caught:
        trainer.fit(loader, epochs=1)
    shown = shown_of(caught.value)
    assert "test_errors_in_notebooks.py" in shown
    assert "loop.py" not in shown
    assert "this step changed no parameter" in shown


def test_an_interrupt_says_where_the_training_stands() -> None:
    def interrupt(scores: wb.Tensor, labels: wb.Tensor) -> wb.Tensor:
        if len(trainer.history) == 2:
            signal.raise_signal(signal.SIGINT)
        return scores.sum()

    model = wb.nn.Linear(2, 2)
    loader: Any = wb.data.DataLoader(wb.data.TensorDataset(wb.ones(8, 2), wb.zeros(8, dtype=wb.int64)), 2)
    trainer = Trainer(model, interrupt, wb.optim.SGD(model.parameters(), lr=0.1), progress=False)
    with pytest.raises(KeyboardInterrupt) as caught:
        trainer.fit(loader, epochs=1)
    shown = shown_of(caught.value)
    assert "trainer.fit(loader, epochs=1)" in shown
    assert not [name for name in ("loop.py", "shield.py", "contextlib.py") if name in shown]
    assert shown.endswith(
        "Interrupted: stopped after 3 steps, all of them whole; fit(…, resume=True) goes on"
    )


def test_weights_that_do_not_fit_show_the_lines_of_the_user() -> None:
    with pytest.raises(RuntimeError, match="Error\\(s\\) in loading state_dict for Linear") as caught:
        wb.nn.Linear(2, 2).load_state_dict(wb.nn.Linear(3, 2).state_dict())
    shown = shown_of(caught.value)
    assert "state.py" not in shown and "module.py" not in shown
    assert "size mismatch for weight" in shown
