"""Words from their neighbours, with sparse gradients of an embedding (Mikolov et al. 2013)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable


class SkipGram(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.inner = nn.Embedding(words, width, sparse=True)
        self.outer = nn.Embedding(words, width, sparse=True)

    def forward(self, centre, context, others):
        v, u = self.inner(centre), self.outer(context)
        near = F.logsigmoid(torch.mul(u, v).sum(dim=1))
        far = F.logsigmoid(-torch.bmm(self.outer(others), v.unsqueeze(2)).squeeze(2)).sum(1)
        return -(near + far).mean()


text = [1, 4, 2, 5, 3, 1, 0, 4, 2, 6, 5, 7, 1, 3]
pairs = [(text[i], text[j]) for i in range(len(text)) for j in (i - 1, i + 1) if 0 <= j < len(text)]
centre = Variable(torch.LongTensor([one for one, _ in pairs]))
context = Variable(torch.LongTensor([other for _, other in pairs]))
model = SkipGram(8, 6)
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=1e-2)
for epoch in range(10):
    loss = model(centre, context, torch.randint(0, 8, (len(pairs), 3)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
