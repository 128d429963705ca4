"""Affine coupling layers that turn a normal distribution into another (Dinh et al. 2017)."""

import torch
from torch import nn
from torch.distributions import MultivariateNormal


class Coupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        shift, log_scale = self.net(a).chunk(2, dim=1)
        log_scale = torch.tanh(log_scale)
        b = b * log_scale.exp() + shift
        return torch.cat([b, a] if self.flip else [a, b], dim=1), log_scale.sum(dim=1)


layers = nn.ModuleList([Coupling(4, i % 2 == 1) for i in range(4)])
base = MultivariateNormal(torch.zeros(4), torch.eye(4))
optimizer = torch.optim.Adam(layers.parameters(), lr=1e-2)
data = torch.randn(64, 4) * torch.tensor([1.0, 2.0, 0.5, 1.0]) + 1
for _ in range(10):
    z, log_det = data, 0
    for layer in layers:
        z, more = layer(z)
        log_det = log_det + more
    loss = -(base.log_prob(z) + log_det).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
