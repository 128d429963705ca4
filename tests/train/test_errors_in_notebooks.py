"""What a notebook shows of errors whose words say all: the user's own lines, not this package's."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.train import Trainer, TrainingError


def test_only_the_lines_of_the_user_are_shown() -> None:
    model = wb.nn.Linear(2, 2)
    loader = wb.data.DataLoader(wb.data.TensorDataset(wb.ones(4, 2), wb.zeros(4, dtype=wb.int64)), 2)
    trainer = Trainer(
        model,
        lambda scores, labels: scores.sum() * wb.inf,
        wb.optim.SGD(model.parameters(), lr=0.1),
        progress=False,
    )
    with pytest.raises(TrainingError) as caught:
        trainer.fit(loader, epochs=1)
    shown = "".join(caught.value._render_traceback_())
    assert "test_errors_in_notebooks.py" in shown
    assert "loop.py" not in shown
    assert "this step changed no parameter" in shown
