"""A network for phones, by layers: borders, joined layers, calibration; then trained for its codes."""

import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.ao.quantization import (
    DeQuantStub,
    QuantStub,
    convert,
    fuse_modules,
    fuse_modules_qat,
    get_default_qat_qconfig,
    get_default_qconfig,
    prepare,
    prepare_qat,
)

random = np.random.RandomState(7)


class ConvBNReLU(nn.Sequential):
    def __init__(self, inside, out, kernel=3, stride=1, groups=1):
        super().__init__(
            nn.Conv2d(inside, out, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
            nn.BatchNorm2d(out, momentum=0.1),
            nn.ReLU(inplace=False),
        )


class InvertedResidual(nn.Module):
    def __init__(self, inside, out, stride, expand):
        super().__init__()
        self.use_res_connect = stride == 1 and inside == out
        hidden = round(inside * expand)
        layers = [ConvBNReLU(inside, hidden, kernel=1)] if expand != 1 else []
        layers += [
            ConvBNReLU(hidden, hidden, stride=stride, groups=hidden),
            nn.Conv2d(hidden, out, 1, 1, 0, bias=False),
            nn.BatchNorm2d(out, momentum=0.1),
        ]
        self.conv = nn.Sequential(*layers)
        self.skip_add = nn.quantized.FloatFunctional()

    def forward(self, x):
        if self.use_res_connect:
            return self.skip_add.add(x, self.conv(x))
        return self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        settings = [(1, 8, 1, 1), (4, 12, 2, 2), (4, 16, 2, 2)]
        inside = 8
        features = [ConvBNReLU(3, inside, stride=2)]
        for expand, out, count, stride in settings:
            for i in range(count):
                features.append(InvertedResidual(inside, out, stride if i == 0 else 1, expand))
                inside = out
        features.append(ConvBNReLU(inside, 32, kernel=1))
        self.features = nn.Sequential(*features)
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(32, classes))

    def forward(self, x):
        x = self.features(self.quant(x))
        x = x.mean([2, 3])
        return self.dequant(self.classifier(x))

    def fuse_model(self, is_qat=False):
        fuse = fuse_modules_qat if is_qat else fuse_modules
        for m in self.modules():
            if type(m) is ConvBNReLU:
                fuse(m, ["0", "1", "2"], inplace=True)
            if type(m) is InvertedResidual:
                for place in range(len(m.conv)):
                    if type(m.conv[place]) is nn.Conv2d:
                        fuse(m.conv, [str(place), str(place + 1)], inplace=True)


def load(model):
    """Numbers that are the same in any library."""
    numbers = np.random.RandomState(0)
    with torch.no_grad():
        for one in model.parameters():
            fan = max(1, int(np.prod(one.shape[1:])))
            values = numbers.normal(size=tuple(one.shape)) * (2 / fan) ** 0.5 + (one.ndim == 1)
            one.copy_(torch.from_numpy(values.astype(np.float32)))
    return model


def size_of(model):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt")
        torch.save(model.state_dict(), path)
        return os.path.getsize(path)


images = [torch.from_numpy(random.normal(size=(8, 3, 24, 24)).astype(np.float32)) for _ in range(4)]
labels = [torch.from_numpy(random.randint(0, 6, 8)) for _ in range(4)]
model = load(MobileNetV2())
model.train()
with torch.no_grad():
    for batch in images:
        model(batch)

model.eval()
results = {"float": model(images[0])}
model.fuse_model()
model.qconfig = get_default_qconfig("x86")
prepare(model, inplace=True)
with torch.no_grad():
    for batch in images:
        model(batch)
float_size = size_of(model)
convert(model, inplace=True)
results["static"] = model(images[0])
assert size_of(model) < float_size

qat = load(MobileNetV2())
qat.train()
with torch.no_grad():
    for batch in images:
        qat(batch)
qat.fuse_model(is_qat=True)
qat.qconfig = get_default_qat_qconfig("x86")
qat.classifier[0].p = 0.0
prepare_qat(qat, inplace=True)
optimizer = torch.optim.SGD(qat.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
losses = []
for epoch in range(3):
    for batch, target in zip(images, labels):
        loss = criterion(qat(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    if epoch > 0:
        qat.apply(torch.ao.quantization.disable_observer)
    if epoch > 1:
        qat.apply(torch.nn.intrinsic.qat.freeze_bn_stats)
with torch.no_grad():
    qat.eval()
    results["aware float"] = qat(images[0])
    results["aware"] = convert(qat, inplace=False)(images[0])
results["losses"] = torch.stack(losses)
