"""Ordinary programs on weights: what people do with the parameters of a model outside of its layers."""

from __future__ import annotations

import copy
from typing import Any

from tests.programs.kit import Kit, program


@program
def tied_weights(kit: Kit) -> Any:
    words, head = kit.made(kit.nn.Embedding(7, 4)), kit.nn.Linear(4, 7, bias=False)
    head.weight = words.weight
    kit.F.cross_entropy(head(words(kit.whole(7, 3, 5))).view(-1, 7), kit.whole(7, 15)).backward()
    return words.weight.grad


@program
def gram_matrix(kit: Kit) -> Any:
    weight = kit.linear(5, 3).weight
    return weight @ weight.T, weight.T @ weight, weight.mm(weight.t())


@program
def orthogonality_penalty(kit: Kit) -> Any:
    weight = kit.linear(5, 5).weight
    ((weight @ weight.t() - kit.t.eye(5)) ** 2).sum().backward()
    return weight.grad


@program
def spectral_norm_by_hand(kit: Kit) -> Any:
    weight, u = kit.linear(5, 3).weight, kit.x(3)
    with kit.t.no_grad():
        for _ in range(5):
            v = kit.F.normalize(weight.t() @ u, dim=0)
            u = kit.F.normalize(weight @ v, dim=0)
    return weight / kit.t.dot(u, weight @ v)


@program
def batch_norm_folded_by_hand(kit: Kit) -> Any:
    conv, norm = kit.made(kit.nn.Conv2d(3, 4, 3)), kit.made(kit.nn.BatchNorm2d(4)).eval()
    with kit.t.no_grad():
        norm.running_mean.copy_(kit.x(4))
        norm.running_var.copy_(kit.x(4).abs() + 0.5)
        scale = norm.weight / kit.t.sqrt(norm.running_var + norm.eps)
        weight = conv.weight * scale.view(-1, 1, 1, 1)
        bias = (conv.bias - norm.running_mean) * scale + norm.bias
    x = kit.x(2, 3, 6, 6)
    return kit.F.conv2d(x, weight, bias), norm(conv(x))


@program
def moving_average_of_weights(kit: Kit) -> Any:
    model = kit.linear(3, 3)
    shadow = copy.deepcopy(model)
    with kit.t.no_grad():
        for own, other in zip(shadow.parameters(), kit.linear(3, 3).parameters(), strict=True):
            own.mul_(0.9).add_(other, alpha=0.1)
            own.lerp_(other, 0.5)
    return list(shadow.parameters())


@program
def states_averaged(kit: Kit) -> Any:
    one, two = kit.linear(3, 2).state_dict(), kit.linear(3, 2).state_dict()
    model = kit.nn.Linear(3, 2)
    model.load_state_dict({key: (one[key] + two[key]) / 2 for key in one})
    return model(kit.x(4, 3))


@program
def gradients_in_one_vector(kit: Kit) -> Any:
    net = kit.nn.Sequential(kit.linear(4, 3), kit.nn.ReLU(), kit.linear(3, 2))
    net(kit.x(5, 4)).pow(2).sum().backward()
    flat = kit.t.cat([p.grad.view(-1) for p in net.parameters()])
    weights = kit.t.cat([p.view(-1) for p in net.parameters()])
    return flat, flat.norm(), flat @ weights, kit.t.outer(flat[:3], weights[:2])


@program
def penalties(kit: Kit) -> Any:
    net = kit.nn.Sequential(
        kit.made(kit.nn.Conv2d(1, 2, 3)), kit.made(kit.nn.BatchNorm2d(2)), kit.linear(4, 3)
    )
    l2 = sum(p.pow(2).sum() for p in net.parameters())
    l1 = sum(p.abs().mean() for p in net.parameters())
    (l2 + 0.1 * l1).backward()
    return l2, l1, [p.grad for p in net.parameters()]


@program
def global_norm_clipped_by_hand(kit: Kit) -> Any:
    net = kit.nn.Sequential(kit.linear(4, 3), kit.linear(3, 2))
    net(kit.x(5, 4)).pow(2).sum().backward()
    total = kit.t.norm(kit.t.stack([p.grad.norm() for p in net.parameters()]))
    for p in net.parameters():
        p.grad.mul_(1.0 / total)
    return total, [p.grad for p in net.parameters()]


@program
def pruned_by_a_mask(kit: Kit) -> Any:
    layer = kit.linear(6, 4)
    mask = (layer.weight.abs() > layer.weight.abs().flatten().kthvalue(8)[0]).float()
    with kit.t.no_grad():
        layer.weight.mul_(mask)
        layer.weight[mask == 0] = 0.0
    return layer(kit.x(2, 6)), mask.sum(dim=1), layer.weight.masked_select(mask.bool())


@program
def rows_pruned_by_norm(kit: Kit) -> Any:
    layer = kit.linear(6, 4)
    order = layer.weight.norm(dim=1).argsort(descending=True)[:2]
    small = kit.nn.Linear(6, 2)
    with kit.t.no_grad():
        small.weight.copy_(layer.weight[order])
        small.bias.copy_(layer.bias.index_select(0, order))
    return small(kit.x(3, 6))


@program
def low_rank_adapter(kit: Kit) -> Any:
    layer, a, b = kit.linear(6, 4), kit.nn.Parameter(kit.x(2, 6)), kit.nn.Parameter(kit.x(4, 2))
    x = kit.x(3, 6)
    y = layer(x) + x @ a.T @ b.T
    merged = kit.F.linear(x, layer.weight + b @ a, layer.bias)
    (y - merged).abs().sum().backward()
    return y, merged


@program
def transposed_weights_copied(kit: Kit) -> Any:
    there, back = kit.linear(4, 3), kit.linear(3, 4)
    with kit.t.no_grad():
        back.weight.copy_(there.weight.t())
        back.bias.copy_(there.weight.mean(0))
    return back(there(kit.x(2, 4)))


@program
def autoencoder_with_a_transposed_decoder(kit: Kit) -> Any:
    encoder, offset = kit.linear(6, 3), kit.nn.Parameter(kit.x(6))
    x = kit.x(4, 6)
    kit.F.mse_loss(kit.F.linear(kit.t.tanh(encoder(x)), encoder.weight.t(), offset), x).backward()
    return encoder.weight.grad, offset.grad


@program
def singular_values(kit: Kit) -> Any:
    weight = kit.linear(5, 3).weight.detach()
    u, s, vh = kit.t.linalg.svd(weight, full_matrices=False)
    return (u[:, :2] * s[:2]) @ vh[:2], s, kit.t.linalg.matrix_norm(weight, 2)


@program
def weights_stacked_and_split(kit: Kit) -> Any:
    q, k, v = (kit.linear(4, 4) for _ in range(3))
    packed = kit.t.cat([q.weight, k.weight, v.weight], dim=0)
    x = kit.x(2, 4)
    parts = kit.F.linear(x, packed).chunk(3, dim=-1)
    stacked = kit.t.stack([one.weight for one in (q, k, v)])
    return parts, kit.t.einsum("oij,bi->boj", stacked, x), kit.t.bmm(stacked, stacked.transpose(1, 2))


@program
def kernels_as_pictures(kit: Kit) -> Any:
    weight = kit.made(kit.nn.Conv2d(3, 8, 5)).weight
    low = weight.amin(dim=(1, 2, 3), keepdim=True)
    high = weight.amax(dim=(1, 2, 3), keepdim=True)
    rows = ((weight - low) / (high - low)).permute(0, 2, 3, 1).reshape(2, 4, 5, 5, 3)
    return rows.transpose(1, 2).reshape(10, 20, 3)


@program
def weights_standardised(kit: Kit) -> Any:
    conv = kit.made(kit.nn.Conv2d(3, 4, 3))
    weight = conv.weight
    mean = weight.mean(dim=[1, 2, 3], keepdim=True)
    flat = (weight - mean).view(4, -1)
    weight = flat / (flat.std(dim=1, keepdim=True) + 1e-5)
    return kit.F.conv2d(kit.x(1, 3, 5, 5), weight.view(4, 3, 3, 3), conv.bias)


@program
def embeddings_compared(kit: Kit) -> Any:
    table = kit.made(kit.nn.Embedding(6, 4)).weight
    near = kit.F.normalize(table, dim=1) @ kit.F.normalize(table, dim=1).t()
    analogy = table[0] - table[1] + table[2]
    return (
        near,
        kit.F.cosine_similarity(analogy[None], table),
        kit.t.cdist(table, table),
        near.topk(2, dim=1)[0],
    )


@program
def quantized_by_hand(kit: Kit) -> Any:
    weight = kit.linear(5, 3).weight.detach()
    scale = weight.abs().max(dim=1, keepdim=True)[0] / 127
    codes = kit.t.clamp(kit.t.round(weight / scale), -128, 127).to(kit.t.int8)
    return codes, codes.float() * scale, ((codes.float() * scale - weight) ** 2).mean()


@program
def fisher_penalty(kit: Kit) -> Any:
    layer = kit.linear(3, 2)
    old = {name: p.clone().detach() for name, p in layer.named_parameters()}
    layer(kit.x(4, 3)).pow(2).sum().backward()
    fisher = {name: p.grad.data.clone().pow(2) for name, p in layer.named_parameters()}
    return sum((fisher[name] * (p - 0.5 * old[name]) ** 2).sum() for name, p in layer.named_parameters())


@program
def descent_by_hand(kit: Kit) -> Any:
    net = kit.nn.Sequential(kit.linear(3, 4), kit.nn.Tanh(), kit.linear(4, 1))
    moments = [kit.t.zeros_like(p) for p in net.parameters()]
    for _ in range(3):
        net.zero_grad()
        net(kit.x(5, 3)).pow(2).mean().backward()
        with kit.t.no_grad():
            for p, m in zip(net.parameters(), moments, strict=True):
                m.mul_(0.9).add_(p.grad)
                p -= 0.1 * m
    return list(net.parameters())


@program
def hessian_times_vector(kit: Kit) -> Any:
    layer = kit.linear(3, 2)
    loss = layer(kit.x(4, 3)).pow(3).sum()
    grads = kit.t.autograd.grad(loss, list(layer.parameters()), create_graph=True)
    inner = sum((g * p).sum() for g, p in zip(grads, layer.parameters(), strict=True))
    return kit.t.autograd.grad(inner, list(layer.parameters()))


@program
def hypernetwork(kit: Kit) -> Any:
    maker, code = kit.linear(2, 12), kit.x(2)
    weight = maker(code).view(3, 4)
    kit.F.linear(kit.x(5, 4), weight + 0.1 * kit.linear(4, 3).weight).sum().backward()
    return maker.weight.grad
