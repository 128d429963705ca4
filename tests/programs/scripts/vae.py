"""A variational autoencoder with Normal and Bernoulli distributions (Kingma and Welling 2014)."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Bernoulli, Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self, inside=20, hidden=12, latent=3):
        super().__init__()
        self.body = nn.Linear(inside, hidden)
        self.mean, self.scale = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.GELU(), nn.Linear(hidden, inside))

    def forward(self, x):
        hidden = torch.tanh(self.body(x))
        posterior = Normal(self.mean(hidden), F.softplus(self.scale(hidden)) + 1e-3)
        noise = torch.randn(x.size(0), 3)
        return Bernoulli(logits=self.decoder(posterior.mean + posterior.stddev * noise)), posterior


model = VAE()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
data = (torch.rand(32, 20) > 0.5).float()
for step in range(10):
    likelihood, posterior = model(data)
    prior = Normal(torch.zeros_like(posterior.loc), torch.ones_like(posterior.scale))
    loss = -(likelihood.log_prob(data).sum(-1) - kl_divergence(posterior, prior).sum(-1)).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
