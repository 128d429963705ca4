"""A notebook with a view of every kind, each in its cell and, as the newest of its kind, at the side."""

from __future__ import annotations

__all__ = ["CELLS"]

CELLS = {
    "start": """
import numpy as np
import workbench as wb
wb.manual_seed(0)
model = wb.nn.Sequential(
    wb.nn.Conv2d(1, 4, 3), wb.nn.ReLU(), wb.nn.Flatten(), wb.nn.Linear(4 * 6 * 6, 3)).eval()
batch = wb.rand(N=6, C=1, H=8, W=8)
""",
    "tensor": "batch",
    "training": """
loader = wb.data.DataLoader(wb.data.TensorDataset(batch, wb.tensor([0, 1, 2, 0, 1, 2], names=("N",))), batch_size=3)
trainer = wb.train.Trainer(
    model, wb.nn.CrossEntropyLoss(), wb.optim.SGD(model.parameters(), lr=0.1), callbacks=[wb.train.LiveCurves()])
trainer.fit(loader, epochs=4)
model.eval()
wb.widgets.training(trainer)
""",
    "runs": """
import tempfile
folder = tempfile.mkdtemp()
with wb.tensorboard.SummaryWriter(folder) as writer:
    for step in range(5):
        writer.add_scalar("loss", 1 / (1 + step), step)
wb.widgets.runs(folder)
""",
    "histogram": """
prepared = wb.quantization.prepare(model)
calibration = wb.quantization.Calibration(prepared)
prepared(batch)
wb.widgets.observers(calibration)
""",
    "graph": "wb.widgets.graph(model, batch)",
    "diff": "wb.widgets.graph_diff(model, model[:3], batch)",
    "flow": "wb.widgets.shapes(model, batch)",
    "heatmap": "wb.attribution.explain(model, batch)",
    "scatter": """
embedding = wb.embedding.Embedding(batch.reshape(6, 64).numpy(), labels=[0, 1, 2, 0, 1, 2], title="cloud")
embedding.project()
wb.widgets.projector(embedding)
""",
    "clash": "batch.rename(N='M') + batch",
}
"""Source of each cell by its name, in order; the last one raises."""
