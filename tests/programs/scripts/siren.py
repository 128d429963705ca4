"""Sines that solve a wave equation: a loss of second derivatives, and so third ones (Sitzmann et al. 2020)."""

import numpy as np
import torch
from torch import nn


class Sine(nn.Module):
    def __init__(self, inside, out, omega=5.0):
        super().__init__()
        self.omega, self.linear = omega, nn.Linear(inside, out)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


model = nn.Sequential(Sine(2, 16), Sine(16, 16), nn.Linear(16, 1))
optimizer = torch.optim.Adam(lr=1e-3, params=model.parameters())
places = torch.from_numpy(np.random.RandomState(0).uniform(-1, 1, (40, 2)).astype(np.float32))
for _ in range(10):
    x = places.clone().detach().requires_grad_(True)
    u = model(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    second = [
        torch.autograd.grad(du[..., i : i + 1], x, torch.ones_like(u), create_graph=True)[0][..., i : i + 1]
        for i in (0, 1)
    ]
    loss = ((second[0] - 0.5 * second[1]) ** 2).mean() + ((u - torch.sin(x[:, :1])) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
