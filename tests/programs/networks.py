"""Ordinary networks, written by hand as they stand in tutorials and papers' code: nothing in them names a dim."""

from __future__ import annotations

import math
from typing import Any

from tests.programs.kit import Kit, program


def heads_of(x: Any, heads: int) -> Any:
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


@program
def residual_around_an_embedding(kit: Kit) -> Any:
    words, layer = kit.made(kit.nn.Embedding(9, 4)), kit.linear(4, 4)
    h = words(kit.whole(9, 2, 5))
    return h + layer(h)


@program
def attention_by_hand(kit: Kit) -> Any:
    words, places = kit.made(kit.nn.Embedding(9, 8)), kit.made(kit.nn.Embedding(6, 8))
    q, k, v, out = (kit.linear(8, 8) for _ in range(4))
    h = words(kit.whole(9, 2, 6)) + places(kit.t.arange(6))
    scores = heads_of(q(h), 2) @ heads_of(k(h), 2).transpose(-2, -1) / math.sqrt(4)
    mask = kit.t.tril(kit.t.ones(6, 6)).view(1, 1, 6, 6)
    mixed = scores.masked_fill(mask == 0, float("-inf")).softmax(dim=-1) @ heads_of(v(h), 2)
    return h + out(mixed.transpose(1, 2).contiguous().view(2, 6, 8))


@program
def small_gpt(kit: Kit) -> Any:
    words, places = kit.made(kit.nn.Embedding(9, 8)), kit.nn.Parameter(kit.x(1, 6, 8))
    norm, after = kit.made(kit.nn.LayerNorm(8)), kit.made(kit.nn.LayerNorm(8))
    qkv, project, up, down = kit.linear(8, 24), kit.linear(8, 8), kit.linear(8, 32), kit.linear(32, 8)
    numbers = kit.whole(9, 2, 6)
    x = words(numbers) + places[:, :6]
    q, k, v = (heads_of(one, 2) for one in qkv(norm(x)).split(8, dim=2))
    y = kit.F.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + project(y.transpose(1, 2).reshape(2, 6, 8))
    x = x + down(kit.F.gelu(up(after(x))))
    logits = x @ words.weight.T
    loss = kit.F.cross_entropy(logits[:, :-1].reshape(-1, 9), numbers[:, 1:].reshape(-1))
    loss.backward()
    return loss, words.weight.grad, places.grad


@program
def sinusoidal_positions(kit: Kit) -> Any:
    place = kit.t.arange(6).unsqueeze(1)
    rate = kit.t.exp(kit.t.arange(0, 8, 2) * (-math.log(10000.0) / 8))
    table = kit.t.zeros(6, 8)
    table[:, 0::2] = kit.t.sin(place * rate)
    table[:, 1::2] = kit.t.cos(place * rate)
    return kit.made(kit.nn.Embedding(5, 8))(kit.whole(5, 2, 6)) * math.sqrt(8) + table[None]


@program
def rotary_positions(kit: Kit) -> Any:
    x = heads_of(kit.linear(8, 8)(kit.x(2, 5, 8)), 2)
    angles = kit.t.outer(kit.t.arange(5).float(), 1.0 / 100 ** (kit.t.arange(0, 4, 2).float() / 4))
    both = kit.t.cat((angles, angles), dim=-1)
    left, right = x.chunk(2, dim=-1)
    return x * both.cos() + kit.t.cat((-right, left), dim=-1) * both.sin()


@program
def encoder_layer(kit: Kit) -> Any:
    layer = kit.made(kit.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)).eval()
    words = kit.made(kit.nn.Embedding(5, 8))
    h = words(kit.whole(5, 2, 4))
    return h + layer(h)


@program
def cross_attention(kit: Kit) -> Any:
    attention = kit.made(kit.nn.MultiheadAttention(8, 2, batch_first=True)).eval()
    x, memory = kit.x(2, 3, 8), kit.x(2, 5, 8)
    out, weights = attention(x, memory, memory)
    return x + out, weights, weights.sum(-1)


@program
def vision_transformer(kit: Kit) -> Any:
    patches, token = kit.made(kit.nn.Conv2d(3, 8, 4, stride=4)), kit.nn.Parameter(kit.x(1, 1, 8))
    places, head = kit.nn.Parameter(kit.x(1, 5, 8)), kit.linear(8, 3)
    x = patches(kit.x(2, 3, 8, 8)).flatten(2).transpose(1, 2)
    x = kit.t.cat([token.expand(2, -1, -1), x], dim=1) + places
    return head(kit.F.layer_norm(x, (8,))[:, 0])


@program
def mixer_block(kit: Kit) -> Any:
    across, along = kit.linear(4, 4), kit.linear(8, 8)
    x = kit.linear(3, 8)(kit.x(2, 4, 3))
    x = x + across(x.transpose(1, 2)).transpose(1, 2)
    return x + along(x)


@program
def residual_block(kit: Kit) -> Any:
    first, second = (kit.made(kit.nn.Conv2d(4, 4, 3, padding=1, bias=False)) for _ in range(2))
    norms = [kit.made(kit.nn.BatchNorm2d(4)) for _ in range(2)]
    x = kit.x(2, 4, 6, 6)
    out = norms[1](second(kit.F.relu(norms[0](first(x)))))
    return kit.F.relu(out + x), norms[0].running_mean


@program
def bottleneck_with_a_shortcut(kit: Kit) -> Any:
    down = kit.nn.Sequential(kit.made(kit.nn.Conv2d(4, 8, 1, stride=2)), kit.made(kit.nn.BatchNorm2d(8)))
    main = kit.made(kit.nn.Conv2d(4, 8, 3, stride=2, padding=1))
    x = kit.x(2, 4, 6, 6)
    pooled = kit.F.adaptive_avg_pool2d(main(x) + down(x), 1)
    return kit.t.flatten(pooled, 1), pooled.squeeze(-1).squeeze(-1)


@program
def squeeze_and_excitation(kit: Kit) -> Any:
    x, fewer, more = kit.made(kit.nn.Conv2d(3, 8, 3))(kit.x(2, 3, 6, 6)), kit.linear(8, 2), kit.linear(2, 8)
    gate = kit.t.sigmoid(more(kit.F.relu(fewer(x.mean((2, 3))))))
    return x * gate[:, :, None, None]


@program
def u_net(kit: Kit) -> Any:
    down, middle = kit.made(kit.nn.Conv2d(1, 4, 3, padding=1)), kit.made(kit.nn.Conv2d(4, 8, 3, padding=1))
    up, out = kit.made(kit.nn.ConvTranspose2d(8, 4, 2, stride=2)), kit.made(kit.nn.Conv2d(8, 1, 1))
    skip = kit.F.relu(down(kit.x(2, 1, 8, 8)))
    deep = kit.F.relu(middle(kit.F.max_pool2d(skip, 2)))
    return out(kit.t.cat([up(deep), skip], dim=1))


@program
def dense_block(kit: Kit) -> Any:
    features = [kit.x(2, 3, 5, 5)]
    for i in range(3):
        layer = kit.made(kit.nn.Conv2d(3 + 2 * i, 2, 3, padding=1))
        features.append(kit.F.relu(layer(kit.t.cat(features, 1))))
    return kit.t.cat(features, 1)


@program
def channel_shuffle(kit: Kit) -> Any:
    x = kit.made(kit.nn.Conv2d(4, 8, 1, groups=2))(kit.x(2, 4, 3, 3))
    n, c, h, w = x.size()
    return x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)


@program
def lstm_by_hand(kit: Kit) -> Any:
    ih, hh = kit.linear(3, 16), kit.linear(4, 16)
    h = c = kit.t.zeros(2, 4)
    outputs = []
    for step in kit.x(5, 2, 3):
        i, f, g, o = (ih(step) + hh(h)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        outputs.append(h)
    return kit.t.stack(outputs), c


@program
def recurrent_classifier(kit: Kit) -> Any:
    words, head = kit.made(kit.nn.Embedding(7, 3)), kit.linear(8, 2)
    read = kit.made(kit.nn.LSTM(3, 4, batch_first=True, bidirectional=True))
    out, (h, _) = read(words(kit.whole(7, 2, 5)))
    return head(kit.t.cat((h[-2], h[-1]), dim=1)), head(out.mean(1)) + head(out[:, -1])


@program
def sequence_to_sequence(kit: Kit) -> Any:
    words, encode, decode = kit.made(kit.nn.Embedding(7, 4)), kit.nn.GRU(4, 6), kit.nn.GRU(10, 6)
    kit.made(encode), kit.made(decode)
    memory, state = encode(words(kit.whole(7, 5, 2)))
    word, outputs = words(kit.whole(7, 1, 2)), []
    for _ in range(3):
        scores = (memory * state).sum(-1).softmax(0).unsqueeze(-1)
        context = (scores * memory).sum(0, keepdim=True)
        out, state = decode(kit.t.cat([word, context], -1), state)
        outputs.append(out[0])
    return kit.t.stack(outputs)


@program
def variational_autoencoder(kit: Kit) -> Any:
    encode, mean, spread, decode = kit.linear(6, 5), kit.linear(5, 2), kit.linear(5, 2), kit.linear(2, 6)
    x, noise = kit.x(4, 6).sigmoid(), kit.x(4, 2)
    h = kit.F.relu(encode(x))
    mu, logvar = mean(h), spread(h)
    z = mu + noise * kit.t.exp(0.5 * logvar)
    kl = -0.5 * kit.t.sum(1 + logvar - mu.pow(2) - logvar.exp())
    (kit.F.binary_cross_entropy(kit.t.sigmoid(decode(z)), x, reduction="sum") + kl).backward()
    return mean.weight.grad, spread.weight.grad


@program
def vector_quantization(kit: Kit) -> Any:
    table, z = kit.made(kit.nn.Embedding(5, 3)), kit.linear(4, 3)(kit.x(6, 4))
    far = z.pow(2).sum(1, keepdim=True) + table.weight.pow(2).sum(1) - 2 * z @ table.weight.t()
    chosen = far.argmin(dim=1)
    q = table(chosen)
    return (
        z + (q - z).detach(),
        kit.F.mse_loss(q, z.detach()),
        kit.F.one_hot(chosen, 5).float() @ table.weight,
    )


@program
def contrastive_pairs(kit: Kit) -> Any:
    layer = kit.linear(6, 4)
    a, b = (kit.F.normalize(layer(kit.x(5, 6)), dim=-1) for _ in range(2))
    logits = a @ b.T / 0.1
    labels = kit.t.arange(5)
    loss = (kit.F.cross_entropy(logits, labels) + kit.F.cross_entropy(logits.T, labels)) / 2
    loss.backward()
    return loss, layer.weight.grad


@program
def mixture_of_experts(kit: Kit) -> Any:
    x, gate, experts = kit.x(4, 3), kit.linear(3, 2), [kit.linear(3, 5) for _ in range(2)]
    weights, chosen = gate(x).softmax(-1).topk(1, dim=-1)
    together = kit.t.stack([expert(x) for expert in experts], dim=1)
    picked = together.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 5)).squeeze(1)
    return picked * weights


@program
def graph_convolution(kit: Kit) -> Any:
    edges, layer = kit.t.tensor([[0, 1, 2, 2], [1, 2, 0, 1]]), kit.linear(3, 4)
    h = layer(kit.x(3, 3))
    out = kit.t.zeros(3, 4).index_add(0, edges[1], h[edges[0]])
    spread = kit.t.zeros(3, 4).scatter_add(0, edges[1][:, None].expand(-1, 4), h[edges[0]])
    return out + h, spread / kit.t.bincount(edges[1], minlength=3).clamp(min=1)[:, None]


@program
def recommender(kit: Kit) -> Any:
    people, things = kit.made(kit.nn.Embedding(4, 3)), kit.made(kit.nn.Embedding(5, 3))
    offset = kit.made(kit.nn.Embedding(5, 1))
    p, i = kit.whole(4, 6), kit.whole(5, 6)
    score = (people(p) * things(i)).sum(1) + offset(i).squeeze()
    return score, people.weight @ things.weight.t() + offset.weight.t()


@program
def physics_informed(kit: Kit) -> Any:
    net = kit.nn.Sequential(kit.linear(1, 8), kit.nn.Tanh(), kit.linear(8, 1))
    x = kit.x(5, 1).requires_grad_()
    u = net(x)
    (slope,) = kit.t.autograd.grad(u, x, kit.t.ones_like(u), create_graph=True)
    (bend,) = kit.t.autograd.grad(slope, x, kit.t.ones_like(slope), create_graph=True)
    (bend + u).pow(2).mean().backward()
    return net[0].weight.grad
