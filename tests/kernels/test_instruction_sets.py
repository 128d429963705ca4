"""The same kernels on lesser CPUs: loops are compiled more than once, and each version must give the same results."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from workbench import kernels

SCRIPT = """
import sys
import numpy as np
import workbench as wb
from workbench import kernels
from workbench.kernels.loader import native

generator = np.random.default_rng(5)
x = generator.standard_normal((4, 19, 12, 10)).astype(np.float32)
g = generator.standard_normal((4, 19, 6, 5)).astype(np.float32)
channel = generator.standard_normal(19).astype(np.float32)
codes = generator.integers(0, 256, (2, 19, 8, 8)).astype(np.uint8)
weight = generator.integers(-128, 128, (21, 19, 3, 3)).astype(np.int8)
run = {name: kernels.lookup(name).run for name in kernels.names()}
pool = dict(kernel=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1))
values, indices = run["max_pool2d"](x, **pool)
y, mean, rstd = run["batch_norm"](x, channel, channel, eps=1e-5)
half_bytes = generator.integers(0, 16, (40, 24)).astype(np.uint8)
nibbles = kernels.PackedNibbleLinear(half_bytes, np.ones((40, 3), np.float32), np.full((40, 3), 7, np.float32), None)
affine = kernels.PackedQuantizedLinear(weight.reshape(21, -1), np.array([0.01], np.float32), None)
rows = generator.standard_normal((37, 171)).astype(np.float32)
sixty_four = generator.integers(-128, 128, (64, 64, 3, 3)).astype(np.int8)
packed_tiles = kernels.PackedQuantizedConv2d(sixty_four, np.array([0.01], np.float32), None, padding=(1, 1))
many = generator.integers(0, 256, (1, 64, 9, 9)).astype(np.uint8)
packed = kernels.PackedQuantizedConv2d(weight, np.array([0.01], np.float32), None, padding=(1, 1))
groups = {}
for wide in (1, 2, 4, 8):
    some = x[:, :16] if wide > 1 else x
    windows = generator.standard_normal((some.shape[1], wide, 3, 3)).astype(np.float32)
    how = dict(stride=(2, 1), padding=(1, 2), dilation=(1, 1), groups=some.shape[1] // wide)
    image = run["conv2d"](some, windows, channel[: some.shape[1]], **how)
    back = run["conv2d_input_gradient"](image, windows, input_shape=some.shape, **how)
    groups |= {f"image_{wide}": image / 9, f"back_{wide}": back / 81}
    groups[f"windows_{wide}"] = run["conv2d_weight_gradient"](image, some, weight_shape=windows.shape, **how) / 243
table, flat = generator.permutation(256).astype(np.uint8), codes.reshape(-1)
looked_up = [native.look_up_codes(flat[length : 2 * length], table) for length in range(1, 140)]
quantization = dict(x_scale=0.02, x_zero_point=9, scale=0.7, zero_point=100)
statistics = run["statistics"](x)
steps = {}
for kind in ("SGD", "Adam", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta"):
    parameter = wb.from_numpy(x.copy()).requires_grad_()
    parameter.grad = wb.from_numpy(x[::-1].copy())
    optimizer = getattr(wb.optim, kind)([parameter], lr=0.01)
    for _ in range(7):
        optimizer.step()
    steps["step_" + kind] = parameter.detach().numpy()
np.savez(
    sys.argv[1],
    **steps, **groups,
    values=values, indices=indices, y=y, mean=mean, rstd=rstd,
    pool_gradient=run["max_pool2d_gradient"](g, indices, input_shape=x.shape),
    norm_gradient=run["batch_norm_gradient"](y, x, mean, rstd, channel)[0],
    exp=run["exp"](x), tanh=run["tanh"](x), softmax=run["softmax"](x, dim=-1),
    sum=run["sum"](x, dim=(0, 2), keepdim=False),
    across=run["softmax"](x, dim=1), log_softmax=run["log_softmax"](x, dim=0),
    average=run["mean"](x, dim=(1,), keepdim=False), amax=run["amax"](x, dim=(3,), keepdim=False),
    amin=run["amin"](x, dim=(0, 1), keepdim=True), erf=run["erf"](x), gelu=run["gelu"](x), silu=run["silu"](x),
    gelu_tanh=run["gelu_tanh"](x), gelu_gradient=run["gelu_gradient"](x, x), ndtr=run["ndtr"](x),
    layer_norm=run["layer_norm"](x, count=1, eps=1e-5)[0], cumsum=run["cumsum"](x, dim=3),
    order=run["sort"](x, dim=3, descending=True)[1], top=run["topk"](x.reshape(-1), k=5, dim=0, largest=True)[1],
    channels=run["mul"](x, channel[:, None, None]),
    softplus=run["softplus"](x, beta=1.5, threshold=20.0), inverse_root=run["pow"](np.abs(x), -0.5),
    mish=run["mish"](x), hardswish=run["hardswish"](x), mish_gradient=run["mish_gradient"](x, x),
    hardswish_gradient=run["hardswish_gradient"](x, x), bounded=run["hardtanh_gradient"](x, x, low=-1.0, high=1.0),
    elu_gradient=run["elu_gradient"](x, x, alpha=1.0, scale=1.0, input_scale=1.0),
    elu=run["elu"](x, alpha=1.0, scale=1.0, input_scale=1.0), chosen=run["where"](x > 0, x, 0.0),
    group_norm=run["group_norm"](x, channel, channel, groups=1, eps=1e-5)[0],
    rms_norm=run["rms_norm"](x, channel[:10], count=1, eps=1e-5)[0],
    softmax_gradient=run["softmax_gradient"](x, x, dim=-1),
    log_softmax_gradient=run["log_softmax_gradient"](x, -np.abs(x), dim=1),
    short_rows=run["layer_norm"](x[..., :7], count=1, eps=1e-5)[0],
    squares=run["mse_loss"](x, x[::-1], reduction="sum"),
    apart=run["l1_loss_gradient"](x, x, x[::-1], reduction="none"),
    bent=run["huber_loss"](x, x[::-1], reduction="none", bound=0.5, scale=0.5),
    scores=run["binary_cross_entropy_with_logits"](x, x[::-1], reduction="none"),
    shares=run["kl_div"](x, np.abs(x), reduction="none", log_target=False),
    loss=run["cross_entropy"](x[:, :, 0, 0], np.arange(4), reduction="none", ignore_index=-100),
    gates=run["glu"](x, dim=2), slopes=run["prelu"](x, channel[:, None, None]),
    dropped=run["dropout"](x, p=0.3, seed=9, drawn=(0, 4), scale=1.4, high=0.2, low=-0.1),
    drawn=run["rrelu"](x, lower=0.1, upper=0.6, seed=9, drawn=(0, 4)),
    codes=run["quantize_per_tensor"](x, 0.02, 100, 0, 255, np.uint8),
    integers=packed.run(codes, **quantization), pooled=packed.run(codes, **quantization, pool=True),
    dynamic=affine.run_dynamic(rows, by_row=False, highest=255), nibbles=nibbles.run(rows[:5, :24]),
    tiles=packed_tiles.run(many, **quantization),
    whole_tiles=packed_tiles.run(many, **quantization, requantization="whole"),
    whole=packed.run(codes, **quantization, requantization="whole"),
    joined=packed.run(codes, **quantization, requantization="joined"),
    looked_up=np.concatenate(looked_up).astype(np.int64),
    histogram=run["histogram_counts"](x, -2.0, 2.0, 64), moments=np.array([statistics["mean"], statistics["std"]]),
)
print(kernels.info()["loops"], kernels.info()["integer_loops"])
"""


def results(level: str, path: pathlib.Path) -> tuple[str, dict[str, np.ndarray]]:
    environment = {**os.environ, "WORKBENCH_KERNELS_ISA": level}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    with np.load(path) as archive:
        return done.stdout.strip(), dict(archive)


def test_baseline_agrees_with_this_cpu(tmp_path: pathlib.Path) -> None:
    if kernels.info()["loops"] == "baseline":
        pytest.skip("this CPU has no AVX2: there is one version only")
    said, baseline = results("baseline", tmp_path / "baseline.npz")
    assert said == "baseline baseline"
    said, avx2 = results("avx2", tmp_path / "avx2.npz")
    assert said == "avx2 avx2"
    said, vnni = results("vnni", tmp_path / "vnni.npz")
    assert said in ("avx2 vnni", "avx2 avx2")
    _, newest = results("", tmp_path / "newest.npz")
    for name, expected in baseline.items():
        for other in (avx2[name], vnni[name], newest[name]):
            assert other.dtype == expected.dtype
            if expected.dtype == np.uint8:
                assert np.abs(other.astype(int) - expected).max() <= 1, name
                assert (other != expected).mean() < 1e-3, name
            elif expected.dtype == np.int64:
                np.testing.assert_array_equal(other, expected, err_msg=name)
            else:
                np.testing.assert_allclose(other, expected, rtol=2e-5, atol=2e-5, err_msg=name)
