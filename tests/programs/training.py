"""Ordinary trainings: loaders, optimizers, schedules, and the turns of a game."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.kit import Kit, program


class Rows:
    """A data set of arrays and numbers."""

    def __init__(self, kit: Kit) -> None:
        self.x = kit.numbers.normal(size=(12, 4)).astype(np.float32)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Any:
        return self.x[index], int(index) % 3, {"weight": float(index)}


class Words:
    """A data set of lists of different lengths."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        return list(range(1, index + 2)), index % 2


def trained(kit: Kit, loader: Any) -> Any:
    net = kit.nn.Sequential(kit.linear(4, 8), kit.nn.ReLU(), kit.linear(8, 3))
    optimizer = kit.t.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for x, y, *_ in loader:
        optimizer.zero_grad()
        h = net[0](x)
        loss = kit.F.cross_entropy(net(x), y) + (h - kit.t.tanh(h)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, list(net.parameters())


@program
def loader_of_tensors(kit: Kit) -> Any:
    data = kit.data.TensorDataset(kit.x(12, 4), kit.whole(3, 12))
    return trained(kit, kit.data.DataLoader(data, batch_size=4))


@program
def loader_of_arrays_and_numbers(kit: Kit) -> Any:
    return trained(kit, kit.data.DataLoader(Rows(kit), batch_size=5))


@program
def loader_with_workers(kit: Kit) -> Any:
    return trained(kit, kit.data.DataLoader(Rows(kit), batch_size=4, num_workers=1))


@program
def loader_with_padding(kit: Kit) -> Any:
    def padded(samples: Any) -> Any:
        rows = [kit.t.tensor(words) for words, _ in samples]
        return kit.nn.utils.rnn.pad_sequence(rows, batch_first=True), kit.t.tensor([y for _, y in samples])

    table, head = kit.made(kit.nn.Embedding(8, 4, padding_idx=0)), kit.linear(4, 2)
    found = []
    for words, y in kit.data.DataLoader(Words(), batch_size=3, collate_fn=padded):
        seen = (words != 0).float().unsqueeze(-1)
        mean = (table(words) * seen).sum(1) / seen.sum(1)
        found.append(kit.F.cross_entropy(head(mean) + mean @ table.weight[:2].T, y))
    return found


@program
def subset_and_concatenation(kit: Kit) -> Any:
    data = kit.data.TensorDataset(kit.x(6, 2), kit.whole(2, 6))
    both = kit.data.ConcatDataset([kit.data.Subset(data, [4, 2]), data])
    return [x @ x.T + y.float() for x, y in kit.data.DataLoader(both, batch_size=4)]


@program
def momentum_and_schedule(kit: Kit) -> Any:
    net = kit.nn.Sequential(kit.made(kit.nn.Conv1d(2, 3, 3)), kit.nn.Flatten(), kit.linear(12, 1))
    optimizer = kit.t.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    schedule = kit.t.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for _ in range(3):
        optimizer.zero_grad()
        net(kit.x(4, 2, 6)).pow(2).mean().backward()
        kit.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return list(net.parameters())


@program
def adversarial_step(kit: Kit) -> Any:
    make = kit.nn.Sequential(kit.linear(2, 6), kit.nn.ReLU(), kit.linear(6, 4))
    judge = kit.nn.Sequential(kit.linear(4, 6), kit.nn.LeakyReLU(0.2), kit.linear(6, 1))
    ours = kit.t.optim.Adam(make.parameters(), lr=0.01)
    theirs = kit.t.optim.Adam(judge.parameters(), lr=0.01)
    real, noise = kit.x(5, 4), kit.x(5, 2)
    ones, zeros = kit.t.ones(5, 1), kit.t.zeros(5, 1)
    criterion = kit.nn.BCEWithLogitsLoss()
    theirs.zero_grad()
    (criterion(judge(real), ones) + criterion(judge(make(noise).detach()), zeros)).backward()
    theirs.step()
    ours.zero_grad()
    criterion(judge(make(noise)), ones).backward()
    ours.step()
    return list(make.parameters()), list(judge.parameters())


@program
def gradient_penalty(kit: Kit) -> Any:
    judge = kit.linear(4, 1)
    mixed = (0.3 * kit.x(5, 4) + 0.7 * kit.x(5, 4)).requires_grad_()
    scores = (judge(mixed) ** 2).sum()
    (grad,) = kit.t.autograd.grad(scores, mixed, create_graph=True)
    ((grad.norm(2, dim=1) - 1) ** 2).mean().backward()
    return judge.weight.grad


@program
def distillation(kit: Kit) -> Any:
    teacher, student, x = kit.linear(4, 3).eval(), kit.linear(4, 3), kit.x(5, 4)
    with kit.t.no_grad():
        soft = kit.F.softmax(teacher(x) / 2, dim=1)
    loss = kit.F.kl_div(kit.F.log_softmax(student(x) / 2, dim=1), soft, reduction="batchmean")
    loss += 0.1 * kit.F.mse_loss(student.weight, teacher.weight.detach())
    loss.backward()
    return student.weight.grad


@program
def policy_gradient(kit: Kit) -> Any:
    policy, value = kit.linear(4, 2), kit.linear(4, 1)
    states, actions, rewards = kit.x(6, 4), kit.whole(2, 6), kit.x(6)
    returns = kit.t.flip(kit.t.cumsum(kit.t.flip(rewards, [0]), 0), [0])
    logp = kit.F.log_softmax(policy(states), -1).gather(1, actions.unsqueeze(1)).squeeze(1)
    gain = returns - value(states).squeeze(-1)
    (-(logp * gain.detach()).mean() + gain.pow(2).mean()).backward()
    return policy.weight.grad, value.weight.grad


@program
def target_network(kit: Kit) -> Any:
    online, target = kit.linear(4, 2), kit.linear(4, 2)
    states, actions = kit.x(6, 4), kit.whole(2, 6)
    now = online(states).gather(1, actions[:, None])
    with kit.t.no_grad():
        best = kit.x(6) + 0.9 * target(states).max(1)[0]
    kit.F.smooth_l1_loss(now, best.unsqueeze(1)).backward()
    for own, other in zip(target.parameters(), online.parameters(), strict=True):
        own.data.copy_(0.01 * other.data + 0.99 * own.data)
    return online.weight.grad, list(target.parameters())


@program
def images_mixed(kit: Kit) -> Any:
    conv, head = kit.made(kit.nn.Conv2d(3, 4, 3)), kit.linear(4, 3)
    x, y = kit.x(4, 3, 6, 6), kit.whole(3, 4)
    order = kit.t.tensor([2, 0, 3, 1])
    mixed = 0.6 * x + 0.4 * x[order]
    scores = head(conv(mixed).mean(dim=(-2, -1)))
    return 0.6 * kit.F.cross_entropy(scores, y) + 0.4 * kit.F.cross_entropy(scores, y[order])


@program
def features_by_a_hook(kit: Kit) -> Any:
    net, kept = kit.nn.Sequential(kit.linear(4, 3), kit.nn.ReLU(), kit.linear(3, 2)), {}
    net[0].register_forward_hook(lambda module, given, out: kept.update(out=out))
    out = net(kit.x(5, 4))
    return kept["out"] @ net[0].weight, kit.t.cat([kept["out"], out], dim=1)
