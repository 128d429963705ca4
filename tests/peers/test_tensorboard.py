"""Logs against TensorBoard's own reader, and logs that PyTorch's writer made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

import workbench as wb
from workbench.models import LeNet

torch = pytest.importorskip("torch")
accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
pr_curves = pytest.importorskip("tensorboard.plugins.pr_curve.metadata")
hparams = pytest.importorskip("tensorboard.plugins.hparams.metadata")


def told(folder: Path) -> Any:
    """What TensorBoard finds in a folder."""
    found = accumulators.EventAccumulator(
        str(folder), size_guidance={"scalars": 0, "tensors": 0, "images": 0}
    )
    return found.Reload()


def written(writer: Any, tensor: Any) -> None:
    """Write the same with a writer of either library."""
    generator = np.random.default_rng(0)
    for step in range(20):
        writer.add_scalar("loss", tensor(np.float32(1 / (step + 1))), step)
    writer.add_scalar("fine", 0.1, 1, new_style=True)
    writer.add_scalar("finer", 0.1, 1, new_style=True, double_precision=True)
    writer.add_histogram("weights", tensor(generator.standard_normal(500).astype(np.float32)), 2)
    writer.add_image("picture", tensor(generator.random((3, 6, 8)).astype(np.float32)), 3)
    writer.add_images("pictures", tensor(generator.random((4, 1, 5, 5)).astype(np.float32)), 3)
    writer.add_text("note", "**bold**", 4)
    truth, sure = generator.integers(0, 2, 50), generator.random(50).astype(np.float32)
    writer.add_pr_curve("curve", tensor(truth), tensor(sure), 5)
    writer.add_hparams({"rate": 0.1, "kind": "a", "big": True}, {"score": 0.5}, run_name="trial")
    figure, axes = pyplot.subplots(figsize=(2, 1), dpi=40)
    axes.plot([1, 2])
    writer.add_figure("figure", figure, 6)


def test_tensorboard_reads_what_we_write(tmp_path: Path) -> None:
    with wb.tensorboard.SummaryWriter(tmp_path) as writer:
        written(writer, wb.tensor)
        writer.add_graph(LeNet().eval(), wb.zeros(N=1, C=1, H=28, W=28))
    found = told(tmp_path)
    tags = found.Tags()
    assert tags["scalars"] == ["loss"] and tags["histograms"] == ["weights"] and tags["graph"]
    assert sorted(tags["images"]) == ["figure", "picture", "pictures"]
    assert [one.step for one in found.Scalars("loss")] == list(range(20))
    assert found.Histograms("weights")[0].histogram_value.num == 500
    assert (found.Images("picture")[0].height, found.Images("picture")[0].width) == (6, 8)
    assert {"fine", "finer", "note/text_summary", "curve"} <= set(tags["tensors"])
    assert found.SummaryMetadata("curve").plugin_data.plugin_name == pr_curves.PLUGIN_NAME
    assert any(node.op == "conv2d" for node in found.Graph().node)
    trial = told(tmp_path / "trial")
    content = trial.SummaryMetadata(hparams.SESSION_START_INFO_TAG).plugin_data.content
    session = hparams.parse_session_start_info_plugin_data(content)
    assert session.hparams["rate"].number_value == 0.1 and session.hparams["big"].bool_value is True


def test_both_writers_say_the_same_and_are_read_alike(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with wb.tensorboard.SummaryWriter(tmp_path / "ours") as ours:
        written(ours, wb.tensor)
    with SummaryWriter(str(tmp_path / "theirs")) as theirs:
        written(theirs, torch.tensor)
    log = wb.tensorboard.open(tmp_path)
    assert log.problems == [] and sorted(log.runs) == ["ours", "ours/trial", "theirs", "theirs/trial"]
    mine, other = log.runs["ours"], log.runs["theirs"]
    for kind in ("scalars", "histograms", "images", "texts", "pr_curves"):
        assert getattr(mine, kind).keys() == getattr(other, kind).keys(), kind
    for tag, series in mine.scalars.items():
        np.testing.assert_array_equal(series.steps, other.scalars[tag].steps)
        np.testing.assert_array_equal(series.values, other.scalars[tag].values)
    for one, two in zip(mine.histograms["weights"].values, other.histograms["weights"].values, strict=True):
        np.testing.assert_allclose(one.counts, two.counts)
        np.testing.assert_allclose(one.edges, two.edges)
    for tag, pictures in mine.images.items():
        for one, two in zip(pictures, other.images[tag], strict=True):
            assert np.abs(one[..., :3].astype(int) - two[..., :3]).max() <= 1, tag
    np.testing.assert_allclose(mine.pr_curves["curve"].values, other.pr_curves["curve"].values, atol=1e-6)
    rows = log.hyperparameters()
    assert {**rows[0], "run": ""} == {**rows[1], "run": ""}


def test_a_damaged_log_gives_what_tensorboard_finds_in_it(tmp_path: Path) -> None:
    with wb.tensorboard.SummaryWriter(tmp_path) as writer:
        for step in range(300):
            writer.add_scalar("loss", step, step)
    path = next(tmp_path.glob("*tfevents*"))
    path.write_bytes(path.read_bytes()[:-7])
    log = wb.tensorboard.open(tmp_path)
    assert log.scalars()[".", "loss"].steps.tolist() == [one.step for one in told(tmp_path).Scalars("loss")]
    assert len(log.problems) == 1


def test_tensorboard_reads_our_meshes_and_points(tmp_path: Path) -> None:
    plugin = pytest.importorskip("tensorboard.plugins.projector.projector_plugin")
    meshes = pytest.importorskip("tensorboard.plugins.mesh.metadata")
    points = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    words = wb.embedding.word_vectors([f"word {i}" for i in range(9)], points)
    with wb.tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_mesh("alone", wb.zeros(1, 4, 3))
        writer.add_mesh("whole", wb.zeros(1, 4, 3), wb.zeros(1, 4, 3), wb.zeros(1, 2, 3))
        writer.add_embedding(words, tag="layer/1")
    wb.tensorboard.projector.write(words, tmp_path, "raw", raw=True)
    found = told(tmp_path)
    for tag, parts in (("alone_1", [1]), ("whole_2", [1, 2, 3])):
        about = meshes.parse_plugin_metadata(found.SummaryMetadata(tag).plugin_data.content)
        assert about.components == meshes.get_components_bitmask(parts) and about.json_config == "{}"
    config = plugin.ProjectorConfig()
    plugin.text_format.Parse((tmp_path / "projector_config.pbtxt").read_text(), config)
    layer, raw = config.embeddings
    assert (layer.tensor_name, raw.tensor_name) == ("layer/1", "raw")
    files = [plugin._rel_to_abs_asset_path(one.tensor_path, str(tmp_path / "x")) for one in (layer, raw)]
    np.testing.assert_array_equal(plugin._read_tensor_tsv_file(files[0]), points)
    with pytest.raises(UnicodeDecodeError):  # by which TensorBoard knows raw values
        plugin._read_tensor_tsv_file(files[1])
    np.testing.assert_array_equal(plugin._read_tensor_binary_file(files[1], raw.tensor_shape), points)
    assert (tmp_path / layer.metadata_path).read_text().splitlines() == list(words.names)


def test_points_of_both_writers_are_read_alike_whatever_the_tag(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    points = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    labels = ["a", "b", "c", "d"]
    with wb.tensorboard.SummaryWriter(tmp_path / "ours") as ours:
        ours.add_embedding(wb.tensor(points), labels, tag="layer/1 %")
    with SummaryWriter(str(tmp_path / "theirs")) as theirs:
        theirs.add_embedding(torch.tensor(points), labels, tag="layer/1 %")
    found = wb.tensorboard.open(tmp_path).embeddings()
    assert list(found) == ["ours/layer/1 %", "theirs/layer/1 %:00000"]
    for one in found.values():
        np.testing.assert_array_equal(one.vectors, points)
        assert one.labels == tuple(labels)
