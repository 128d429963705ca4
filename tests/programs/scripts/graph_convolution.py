"""A graph convolution over a sparse matrix of neighbours (Kipf and Welling 2017)."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        self.bias = Parameter(torch.FloatTensor(out_features))
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        self.bias.data.uniform_(-stdv, stdv)

    def forward(self, x, neighbours):
        return torch.spmm(neighbours, torch.mm(x, self.weight)) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConvolution(5, 8), GraphConvolution(8, 3)

    def forward(self, x, neighbours):
        return F.log_softmax(self.second(F.relu(self.first(x, neighbours)), neighbours), dim=1)


edges = np.array([[0, 0, 1, 2, 3, 4, 4, 5, 5], [0, 1, 1, 2, 3, 4, 0, 5, 3]])
neighbours = torch.sparse_coo_tensor(torch.from_numpy(edges), torch.full((9,), 0.5), (6, 6)).coalesce()
features, labels = torch.randn(6, 5), torch.LongTensor([0, 1, 2, 0, 1, 2])
model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(10):
    model.train()
    optimizer.zero_grad()
    loss = F.nll_loss(model(features, neighbours), labels)
    loss.backward()
    optimizer.step()
