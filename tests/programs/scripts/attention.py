"""A decoder of characters, from its parts: embeddings, causal attention, checkpointed blocks (Vaswani et al. 2017)."""

import math
import os
import tempfile
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    block: int = 8
    words: int = 12
    heads: int = 2
    width: int = 16


class Lines(Dataset):
    def __init__(self, text, config):
        self.text, self.config = text, config

    def __len__(self):
        return len(self.text) - self.config.block

    def __getitem__(self, i):
        part = torch.tensor(self.text[i : i + self.config.block + 1], dtype=torch.long)
        return part[:-1], part[1:]


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.qkv, self.out = nn.Linear(config.width, 3 * config.width), nn.Linear(config.width, config.width)
        self.register_buffer("mask", torch.tril(torch.ones(config.block, config.block))[None, None])

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (
            one.view(B, T, self.heads, C // self.heads).transpose(1, 2) for one in self.qkv(x).split(C, dim=2)
        )
        score = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        score = score.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = (F.softmax(score, dim=-1) @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.out(y)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln1, self.ln2, self.attention = (
            nn.LayerNorm(config.width),
            nn.LayerNorm(config.width),
            Attention(config),
        )
        self.mlp = nn.ModuleDict(
            dict(
                fc=nn.Linear(config.width, 32),
                act=nn.GELU(approximate="tanh"),
                proj=nn.Linear(32, config.width),
            )
        )

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp.proj(self.mlp.act(self.mlp.fc(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte, self.wpe = (
            nn.Embedding(config.words, config.width),
            nn.Embedding(config.block, config.width),
        )
        self.blocks = nn.ModuleList(Block(config) for _ in range(2))
        self.head = nn.Linear(config.width, config.words, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        logits = self.head(x)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


config = Config()
data = Lines([(i * i + 3 * i) % config.words for i in range(48)], config)
loader = DataLoader(data, batch_size=4, shuffle=False, num_workers=0, pin_memory=False)
model = GPT(config)
decay = [one for one in model.parameters() if one.dim() >= 2]
others = [one for one in model.parameters() if one.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
    lr=1e-3,
    betas=(0.9, 0.95),
)
for i, (x, y) in enumerate(loader):
    loss = model(x, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if i == 4:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ckpt.pt")
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": i}, path)
            saved = torch.load(path, map_location="cpu")
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
