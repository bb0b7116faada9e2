#!/usr/bin/python3
"""usage: gradients.py STEPC [NAME...]

Where a network stops gradients, and where it has its own: networks exported by examples/pytorch/export.py, the gradient of one
step of stepc beside PyTorch's in double. Needs python3-torch.
"""
import inspect
import os
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

from one_step import exported, expect, failures, try_case
from export import stepc_gradient


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def mse(a, b):
    return ((a - b) ** 2).mean()


# ---- gradients that stop --------------------------------------------------------------------------------------------------------

class SimSiam(nn.Module):
    """SimSiam: each view is compared with the other one, detached"""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
        self.h = mlp(8, 4, 8)

    def forward(self, a, b):
        za, zb = self.f(a), self.f(b)
        return -(F.cosine_similarity(self.h(za), zb.detach()) + F.cosine_similarity(self.h(zb), za.detach())).mean() / 2


class Codebook(nn.Module):
    """VQ-VAE: commitment losses, and a straight-through estimator"""

    def __init__(self):
        super().__init__()
        self.enc, self.dec, self.book = nn.Conv2d(1, 4, 4, 4), nn.ConvTranspose2d(4, 1, 4, 4), nn.Parameter(torch.randn(8, 4))

    def forward(self, x):
        z = self.enc(x)
        flat = z.permute(0, 2, 3, 1).reshape(-1, 4)
        distance = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.book.t() + self.book.pow(2).sum(1)
        q = self.book[distance.argmin(1)].view(x.size(0), 2, 2, 4).permute(0, 3, 1, 2)
        stopped = z.detach()
        commitment = mse(q.reshape(stopped.size(0), -1), stopped.view(stopped.size(0), -1)) + 0.25 * mse(z, q.detach())
        return commitment + mse(self.dec(z + (q - z).detach()), x)


class DoubleQ(nn.Module):
    """double Q-learning: a target network, under `no_grad`"""

    def __init__(self):
        super().__init__()
        self.q, self.target = mlp(4, 16, 2), mlp(4, 16, 2)

    def forward(self, s, later, reward):
        with torch.no_grad():
            best = self.q(later).argmax(1, keepdim=True)
            y = reward + 0.99 * self.target(later).gather(1, best)[:, 0]
        return mse(self.q(s).max(1)[0], y)


class ConvolutionWithoutGradient(nn.Module):
    """a value that a convolution gives under `no_grad` meets others"""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv1d(2, 3, 3, padding=1), nn.Conv1d(2, 3, 3, padding=1)

    def forward(self, x):
        with torch.no_grad():
            t = self.a(x)
        return torch.cat([t, self.b(x), t * self.a(x)], 1).pow(2).mean()


class Data(nn.Module):
    """`x.data`, which a tracer takes for a constant"""

    def __init__(self):
        super().__init__()
        self.a = mlp(4, 3)

    def forward(self, x):
        y = self.a(x)
        return (y * y.data.sum(1, keepdim=True)).sum()


class GumbelHard(nn.Module):
    """a hard choice with the gradient of the soft one"""

    def __init__(self):
        super().__init__()
        self.a, self.b = mlp(4, 5), mlp(5, 1)

    def forward(self, x):
        soft = self.a(x).softmax(1)
        hard = F.one_hot(soft.argmax(1), 5).to(soft.dtype)
        return self.b(hard - soft.detach() + soft).pow(2).mean()


# ---- autograd.Function ----------------------------------------------------------------------------------------------------------

class RoundThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


class Spike(torch.autograd.Function):
    """A spiking neuron: a step forwards, a smooth one backwards, with a steepness."""

    @staticmethod
    def forward(ctx, v, k):
        ctx.save_for_backward(v)
        ctx.k = k
        return (v > 0).to(v.dtype)

    @staticmethod
    def backward(ctx, g):
        v, = ctx.saved_tensors
        return g / (1 + ctx.k * v.abs()) ** 2, None


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -0.5 * g


class Swish(torch.autograd.Function):
    """Its backward is the derivative of its forward: written to save memory."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * (s + x * s * (1 - s))


class Shifted(torch.autograd.Function):
    """A backward that mixes elements: it cannot be exported."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.roll(1, 1)


class Functions(nn.Module):
    """`autograd.Function`: rounding, a spike with a surrogate gradient, a reversed gradient, a Swish of its own"""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = mlp(4, 8), mlp(8, 8), mlp(8, 3)

    def forward(self, x):
        h = RoundThrough.apply(self.a(x) * 4) / 4
        h = Spike.apply(self.b(h), 3.0) + Reverse.apply(h)
        return Swish.apply(self.c(h)).pow(2).mean()


class Mixing(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = mlp(4, 3)

    def forward(self, x):
        return Shifted.apply(self.a(x)).pow(2).mean()


round_through = RoundThrough.apply  # before export()


class Early(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = mlp(4, 3)

    def forward(self, x):
        return round_through(self.a(x)).pow(2).mean()


class Checkpointed(nn.Module):
    """a part is computed again in the backward pass"""

    def __init__(self):
        super().__init__()
        self.a, self.b = mlp(4, 8), mlp(8, 1)

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint
        return self.b(checkpoint(torch.tanh, self.a(x), use_reentrant=True)).pow(2).mean()


# ---- gradients inside the network -----------------------------------------------------------------------------------------------

class Burgers(nn.Module):
    """physics-informed: u_t + u u_x = 0.1 u_xx"""

    def __init__(self):
        super().__init__()
        self.u = mlp(2, 16, 1)

    def forward(self, at):
        at = at.detach().requires_grad_()
        u = self.u(at)
        first = stepc_gradient(u, at)
        second = stepc_gradient(first[:, 0], at)
        return (first[:, 1] + u[:, 0] * first[:, 0] - 0.1 * second[:, 0]).pow(2).mean()


class Penalty(nn.Module):
    """WGAN-GP: the critic, with a penalty for its gradient"""

    def __init__(self):
        super().__init__()
        self.d = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, real, fake, share):
        between = (share * real + (1 - share) * fake).requires_grad_()
        norm = stepc_gradient(self.d(between), between).norm(dim=1)
        return self.d(fake).mean() - self.d(real).mean() + 10 * ((norm - 1) ** 2).mean()


# ---- the comparison -------------------------------------------------------------------------------------------------------------

def normal(*shape):
    return torch.randn(*shape)


# name: (network, inputs, how many tensors are detached)
CASES = {
    'simsiam': (SimSiam, lambda: (normal(8, 6), normal(8, 6)), 2),
    'codebook': (Codebook, lambda: (normal(4, 1, 8, 8),), 3),
    'double_q': (DoubleQ, lambda: (normal(8, 4), normal(8, 4), normal(8)), 1),
    'convolution': (ConvolutionWithoutGradient, lambda: (normal(4, 2, 6),), 1),
    'data': (Data, lambda: (normal(4, 4),), 1),
    'gumbel_hard': (GumbelHard, lambda: (normal(6, 4),), 1),
    'functions': (Functions, lambda: (normal(6, 4),), None),
    'checkpointed': (Checkpointed, lambda: (normal(6, 4),), 0),
    'burgers': (Burgers, lambda: (normal(8, 2),), None),
    'penalty': (Penalty, lambda: (normal(8, 3) + 1, normal(8, 3), torch.rand(8, 1)), 0),
}


def test_what_cannot_be_exported():
    warned = exported(Mixing(), (normal(4, 4),))
    expect(any('Shifted' in w and 'its backward cannot be exported' in w for w in warned), 'a backward that is lost is told')
    warned = exported(Early(), (normal(4, 4),))
    expect(any('RoundThrough' in w and 'apply was taken' in w for w in warned), 'a function that export() cannot see is told')


def has_newer_exporter():
    """PyTorch 2.6 and onnxscript: Debian 12 has neither."""
    try:
        import onnxscript  # noqa: F401
    except ImportError:
        return False
    return 'optimize' in inspect.signature(torch.onnx.export).parameters


def test_newer_exporter():
    if not has_newer_exporter():
        print('SKIP dynamo=True: needs PyTorch 2.6 or newer and onnxscript')
        return
    for name in 'simsiam', 'codebook', 'double_q', 'convolution', 'gumbel_hard', 'checkpointed':
        make, inputs, _ = CASES[name]
        try_case(f'{name}, dynamo', make, inputs, dynamo=True)
    warned = exported(Functions(), (normal(6, 4),), dynamo=True)
    expect(any('RoundThrough' in w for w in warned), 'dynamo=True: a backward that is lost is told')


def main():
    chosen = sys.argv[2:] or list(CASES)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name in chosen:
            try:
                try_case(name, *CASES[name])
            except RuntimeError as e:
                expect(False, f'{name}: {e}')
        if not sys.argv[2:]:
            test_what_cannot_be_exported()
            test_newer_exporter()
    sys.exit(len(failures) > 0)


if __name__ == '__main__':
    main()
