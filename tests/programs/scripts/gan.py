"""A generator and a discriminator of points on a ring (Goodfellow et al. 2014)."""

import math

import torch
import torch.nn as nn

device = "cuda" if torch.cuda.is_available() else "cpu"
angle = torch.arange(64, dtype=torch.float32) / 64 * 2 * math.pi
ring = torch.stack([angle.cos(), angle.sin()], dim=-1).to(device)

generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2)).to(device)
discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid()).to(device)
loss_of = nn.BCELoss()
optimizers = [
    torch.optim.Adam(one.parameters(), lr=2e-3, betas=(0.5, 0.999)) for one in (generator, discriminator)
]

for step in range(10):
    noise = torch.randn(64, 4, device=device)
    valid, fake = torch.ones(64, 1, device=device), torch.zeros(64, 1, device=device)
    made = generator(noise)
    optimizers[0].zero_grad()
    loss = loss_of(discriminator(made), valid)
    loss.backward()
    optimizers[0].step()
    optimizers[1].zero_grad()
    loss = (loss_of(discriminator(ring), valid) + loss_of(discriminator(made.detach()), fake)) / 2
    loss.backward()
    optimizers[1].step()
    print(f"step {step}: {loss.item():.4f}")
