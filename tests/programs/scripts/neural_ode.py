"""A network as the right side of a differential equation, stepped by Runge and Kutta's rule (Chen et al. 2018)."""

import torch
import torch.nn as nn
import torch.optim as optim


class Right(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
        for module in self.net.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0, std=0.1)
                nn.init.constant_(module.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


def integrate(right, y, times):
    found = [y]
    for t, after in zip(times[:-1], times[1:]):
        h = after - t
        k1 = right(t, y)
        k2 = right(t + h / 2, y + h / 2 * k1)
        k3 = right(t + h / 2, y + h / 2 * k2)
        k4 = right(after, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append(y)
    return torch.stack(found)


matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
times = torch.linspace(0.0, 2.0, 12)
start = torch.tensor([[2.0, 0.0]])
with torch.no_grad():
    true = integrate(lambda t, y: torch.mm(y**3, matrix), start, times)

right = Right()
optimizer = optim.RMSprop(right.parameters(), lr=1e-3)
for itr in range(1, 11):
    optimizer.zero_grad()
    loss = torch.mean(torch.abs(integrate(right, start, times) - true))
    loss.backward()
    optimizer.step()
    if itr % 5 == 0:
        print(f"Iter {itr:04d} | Total Loss {loss.item():.6f}")
