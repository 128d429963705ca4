"""A policy that learns by its rewards alone (Williams 1992)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.affine2 = nn.Linear(4, 16), nn.Linear(16, 2)
        self.saved_log_probs = []

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.affine1(x))), dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
state = torch.randn(1, 4)
for episode in range(10):
    rewards = []
    for t in range(8):
        chances = policy(state + 0.1 * t)
        # The likelier action, so that the same is done wherever this runs.
        action = chances.argmax(dim=1)
        policy.saved_log_probs.append(Categorical(chances).log_prob(action))
        rewards.append(1.0 if action.item() == t % 2 else -0.5)
    returns, total = [], 0.0
    for reward in rewards[::-1]:
        total = reward + 0.9 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = torch.cat([-log_prob * gain for log_prob, gain in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del policy.saved_log_probs[:]
