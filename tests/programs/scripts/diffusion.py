"""A small U-Net that takes noise out of pictures (Ho et al. 2020)."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, inside, out):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(inside, out, 3, padding=1), nn.GroupNorm(2, out)
        self.time = nn.Linear(8, out * 2)

    def forward(self, x, t):
        scale, shift = self.time(F.silu(t))[:, :, None, None].chunk(2, dim=1)
        return F.silu(self.norm(self.conv(x)) * (scale + 1) + shift)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.middle, self.up = Block(1, 8), Block(8, 8), Block(16, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x, t):
        t = torch.cat(
            [torch.sin(t[:, None] * 2.0 ** torch.arange(4)), torch.cos(t[:, None] * 2.0 ** torch.arange(4))],
            -1,
        )
        high = self.down(x, t)
        low = self.middle(F.avg_pool2d(high, 2), t)
        low = F.interpolate(low, scale_factor=2, mode="nearest")
        return self.out(self.up(torch.cat((low, high), dim=1), t))


model = UNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
betas = torch.linspace(1e-3, 0.1, 20)
kept = torch.cumprod(1 - betas, dim=0)
pictures = torch.randn(4, 1, 8, 8).tanh()
for step in range(10):
    t = torch.randint(0, 20, (4,))
    noise = torch.randn_like(pictures)
    mixed = kept[t].sqrt().view(-1, 1, 1, 1) * pictures + (1 - kept[t]).sqrt().view(-1, 1, 1, 1) * noise
    loss = F.mse_loss(model(mixed, t.float() / 20), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
