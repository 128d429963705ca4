"""A residual network as a graph: calibrated, trained for its codes, compared; and a language model in graph mode."""

import copy

import numpy as np
import torch
import torch.ao.ns._numeric_suite as ns
from torch import nn
from torch.ao.quantization import (
    QConfigMapping,
    default_dynamic_qconfig,
    get_default_qat_qconfig_mapping,
    get_default_qconfig_mapping,
)
from torch.ao.quantization.quantize_fx import convert_fx, fuse_fx, prepare_fx, prepare_qat_fx

random = np.random.RandomState(11)


def load(model):
    numbers = np.random.RandomState(0)
    with torch.no_grad():
        for one in model.parameters():
            fan = max(1, int(np.prod(one.shape[1:])))
            values = numbers.normal(size=tuple(one.shape)) * (1 / fan) ** 0.5 + (one.ndim == 1)
            one.copy_(torch.from_numpy(values.astype(np.float32)))
    return model


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False), nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.conv1, self.bn1, self.relu = (
            nn.Conv2d(3, 8, 7, 2, 3, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
        )
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(BasicBlock(8, 8))
        down = nn.Sequential(nn.Conv2d(8, 16, 1, 2, bias=False), nn.BatchNorm2d(16))
        self.layer2 = nn.Sequential(BasicBlock(8, 16, 2, down), BasicBlock(16, 16))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layer2(self.layer1(x)))
        return self.fc(torch.flatten(x, 1))


images = [torch.from_numpy(random.normal(size=(6, 3, 32, 32)).astype(np.float32)) for _ in range(4)]
labels = [torch.from_numpy(random.randint(0, 5, 6)) for _ in range(4)]
model = load(ResNet()).train()
with torch.no_grad():
    for batch in images:
        model(batch)
trained = copy.deepcopy(model)
model.eval()
results = {"float": model(images[0]), "fused": fuse_fx(copy.deepcopy(model))(images[0])}

example_inputs = (images[0],)
prepared = prepare_fx(copy.deepcopy(model), get_default_qconfig_mapping("x86"), example_inputs)
with torch.no_grad():
    for batch in images:
        prepared(batch)
quantized = convert_fx(prepared)
results["static"] = quantized(images[0])

only_fc = QConfigMapping().set_global(None).set_object_type(nn.Linear, torch.ao.quantization.default_qconfig)
some = prepare_fx(copy.deepcopy(model), only_fc, example_inputs)
with torch.no_grad():
    some(images[0])
results["partly"] = convert_fx(some)(images[0])

aware = prepare_qat_fx(trained.train(), get_default_qat_qconfig_mapping("x86"), example_inputs)
optimizer = torch.optim.SGD(aware.parameters(), lr=1e-3)
losses = []
for _ in range(2):
    for batch, target in zip(images, labels):
        loss = nn.functional.cross_entropy(aware(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
results["losses"] = torch.stack(losses)
aware.eval()
with torch.no_grad():
    results["aware float"] = aware(images[0])
    results["aware"] = convert_fx(aware)(images[0])


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.rnn, self.decoder = nn.Embedding(30, 12), nn.LSTM(12, 20, 1), nn.Linear(20, 30)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden)
        return self.decoder(output), hidden


words = load(Words()).eval()
ids = torch.from_numpy(random.randint(0, 30, (7, 3)))
hidden = (torch.zeros(1, 3, 20), torch.zeros(1, 3, 20))
mapping = (
    QConfigMapping()
    .set_object_type(nn.LSTM, default_dynamic_qconfig)
    .set_object_type(nn.Linear, default_dynamic_qconfig)
)
dynamic = convert_fx(prepare_fx(copy.deepcopy(words), mapping, (ids, hidden)))
with torch.no_grad():
    results["words float"], results["words dynamic"] = words(ids, hidden)[0], dynamic(ids, hidden)[0]

layers = nn.Sequential(nn.Linear(8, 6), nn.Linear(6, 4))
load(layers).eval()
codes = torch.ao.quantization.quantize_dynamic(layers, {nn.Linear})
rows = torch.from_numpy(random.normal(size=(5, 8)).astype(np.float32))
compared = ns.compare_model_outputs(copy.deepcopy(layers), copy.deepcopy(codes), rows)
assert sorted(compared) == ["0.stats", "1.stats"]
results["suite float"], results["suite dynamic"] = (
    compared["1.stats"][one][0] for one in ("float", "quantized")
)
