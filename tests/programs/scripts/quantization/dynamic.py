"""A language model of recurrent layers and an encoder of sentences, with weights in codes and no calibration."""

import math

import numpy as np
import torch
import torch.quantization
from torch import nn

random = np.random.RandomState(3)


def load(model, size=0.1):
    numbers = np.random.RandomState(0)
    with torch.no_grad():
        for name, one in model.named_parameters():
            values = numbers.normal(size=tuple(one.shape)) * size + ("norm" in name and "weight" in name)
            one.copy_(torch.from_numpy(values.astype(np.float32)))
    return model


class LSTMModel(nn.Module):
    """An encoder, recurrent layers, a decoder."""

    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.5):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid, self.nlayers = nhid, nlayers

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        return self.decoder(self.drop(output)), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (
            weight.new_zeros(self.nlayers, bsz, self.nhid),
            weight.new_zeros(self.nlayers, bsz, self.nhid),
        )


model = load(LSTMModel(40, 16, 24, 2))
model.eval()
words = torch.from_numpy(random.randint(0, 40, (12, 4)))
quantized_model = torch.quantization.quantize_dynamic(model, {nn.LSTM, nn.Linear}, dtype=torch.qint8)
results = {}
with torch.no_grad():
    for name, one in (("float", model), ("dynamic", quantized_model)):
        hidden = one.init_hidden(4) if name == "float" else model.init_hidden(4)
        output, hidden = one(words, hidden)
        results[f"language {name}"] = output[-3:]
        results[f"language hidden {name}"] = hidden[1]
assert "Dynamic" in quantized_model.rnn._get_name() or "dynamic" in type(quantized_model.rnn).__module__


class Layer(nn.Module):
    """Attention to oneself, and two linear layers."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (
            nn.Linear(width, width),
            nn.Linear(width, width),
            nn.Linear(width, width),
        )
        self.dense, self.wide, self.narrow = (
            nn.Linear(width, width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1)) + mask
        context = torch.matmul(torch.softmax(scores, dim=-1), value).permute(0, 2, 1, 3).contiguous()
        x = self.norm1(x + self.dense(context.view(x.size(0), x.size(1), -1)))
        return self.norm2(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 32), nn.Embedding(16, 32)
        self.layers = nn.ModuleList([Layer(32, 4) for _ in range(2)])
        self.pooler, self.classifier = nn.Linear(32, 32), nn.Linear(32, 2)

    def forward(self, ids, mask):
        x = self.words(ids) + self.places(torch.arange(ids.size(1)))
        extended = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, extended)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


encoder = load(Classifier(), 0.3).eval()
ids = torch.from_numpy(random.randint(0, 50, (6, 10)))
mask = torch.from_numpy((np.arange(10) < random.randint(4, 11, (6, 1))).astype(np.int64))
small = torch.quantization.quantize_dynamic(encoder, {torch.nn.Linear}, dtype=torch.qint8)
with torch.no_grad():
    results["encoder float"], results["encoder dynamic"] = encoder(ids, mask), small(ids, mask)
