"""Learning a start from which one step of gradient descent goes far (Finn et al. 2017)."""

import torch
import torch.nn.functional as F
from torch.func import functional_call

model = torch.nn.Sequential(torch.nn.Linear(1, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1))
meta = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.linspace(-3, 3, 20).unsqueeze(1)
for step in range(10):
    meta.zero_grad()
    total = 0.0
    for phase in (0.0, 0.7, 1.4):
        y = torch.sin(x + phase)
        weights = dict(model.named_parameters())
        inner = F.mse_loss(functional_call(model, weights, (x[::2],)), y[::2])
        grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
        stepped = {name: weight - 0.05 * grad for (name, weight), grad in zip(weights.items(), grads)}
        total = total + F.mse_loss(functional_call(model, stepped, (x[1::2],)), y[1::2])
    total.backward()
    meta.step()
