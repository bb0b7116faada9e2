#!/usr/bin/python3
"""usage: gradients.py STEPC [NAME...]

Where a network stops gradients, and where it has its own: networks exported by examples/pytorch/export.py, the gradient of one
step of stepc beside PyTorch's in double. Needs python3-torch.
"""
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '../../examples/pytorch'))
from export import export, stepc_gradient  # noqa: E402

TOLERANCE = 2e-5  # of the whole gradient; a wrong or missing one is off by about 1
STEPC = os.path.abspath(sys.argv[1])
failures = []


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def mse(a, b):
    return ((a - b) ** 2).mean()


# ---- gradients that stop --------------------------------------------------------------------------------------------------------

class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
        self.h = mlp(8, 4, 8)

    def forward(self, a, b):
        za, zb = self.f(a), self.f(b)
        return -(F.cosine_similarity(self.h(za), zb.detach()) + F.cosine_similarity(self.h(zb), za.detach())).mean() / 2


class Codebook(nn.Module):
    """VQ-VAE with convolutions; the size of the batch is asked for behind a detach."""

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
    def __init__(self):
        super().__init__()
        self.q, self.target = mlp(4, 16, 2), mlp(4, 16, 2)

    def forward(self, s, later, reward):
        with torch.no_grad():
            best = self.q(later).argmax(1, keepdim=True)
            y = reward + 0.99 * self.target(later).gather(1, best)[:, 0]
        return mse(self.q(s).max(1)[0], y)


class ConvolutionWithoutGradient(nn.Module):
    """The last operator under no_grad is a convolution; its value meets others in a list."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv1d(2, 3, 3, padding=1), nn.Conv1d(2, 3, 3, padding=1)

    def forward(self, x):
        with torch.no_grad():
            t = self.a(x)
        return torch.cat([t, self.b(x), t * self.a(x)], 1).pow(2).mean()


class Data(nn.Module):
    """A tracer takes tensor.data for a constant."""

    def __init__(self):
        super().__init__()
        self.a = mlp(4, 3)

    def forward(self, x):
        y = self.a(x)
        return (y * y.data.sum(1, keepdim=True)).sum()


class GumbelHard(nn.Module):
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


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = mlp(4, 8), mlp(8, 1)

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint
        return self.b(checkpoint(torch.tanh, self.a(x), use_reentrant=True)).pow(2).mean()


# ---- gradients inside the network -----------------------------------------------------------------------------------------------

class Burgers(nn.Module):
    """u_t + u u_x = 0.1 u_xx"""

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
    """The critic of WGAN-GP."""

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


def stepc(*words):
    r = subprocess.run([STEPC, *map(str, words)], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f'{" ".join(map(str, words))}: {r.stderr}')
    return r.stdout + r.stderr


def expect(ok, what):
    print(('PASS ' if ok else 'FAIL ') + what)
    if not ok:
        failures.append(what)


def metadata(path, key):
    """The value of a key of the file's metadata, found as bytes: both are plain text."""
    with open(path, 'rb') as f:
        data = f.read()
    at = data.rindex(key.encode()) + len(key)
    size, shift, at = 0, 0, at + 1
    while True:
        size |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return data[at:at + size].decode()


def exported(net, inputs):
    """Exported with a batch of another size than it is trained with. Returns what export() warned of."""
    names = [f'in{i}' for i in range(len(inputs))]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter('always')
        export(net, tuple(x[:3] for x in inputs), 'net.onnx', input_names=names, output_names=['loss'], opset_version=17,
               dynamic_axes={name: {0: 'batch'} for name in names})
    return [str(w.message) for w in found if w.filename.endswith('export_gradients.py')]


def gradients_of(net, inputs):
    net.double().zero_grad()
    net(*(x.double() for x in inputs)).backward()
    return {name: p.grad.numpy().copy() for name, p in net.named_parameters() if p.grad is not None}


def try_case(name, make, inputs, detached):
    torch.manual_seed(1)
    net = make().train()
    inputs = inputs()
    warned = exported(net, inputs)
    found = metadata('net.onnx', 'stepc.detached').split()
    expect(not warned and (detached is None or len(found) == detached), f'{name}: {len(found)} tensors are detached {warned}')
    said = stepc('prepare', 'net.onnx', '-o', 'train.onnx', '--loss', 'output', '--gradients')
    expect('warning' not in said, f'{name}: prepare warns of nothing')
    want = gradients_of(net, inputs)
    feeds, fetches = [], []
    for i, x in enumerate(inputs):
        np.save(f'in{i}.npy', x.numpy()[None])
        feeds += ['--feed', f'in{i}=in{i}.npy']
    for i, parameter in enumerate(want):
        fetches += ['--fetch', f'{parameter}.gradient=grad{i}.npy']
    for engine in 'interpreted', 'generated':
        said = stepc('run', 'train.onnx', '--engine', engine, '--steps', 1, *feeds, *fetches)
        off = sum(((np.load(f'grad{i}.npy').reshape(g.shape) - g) ** 2).sum() for i, g in enumerate(want.values()))
        off = (off / sum((g ** 2).sum() for g in want.values())) ** 0.5
        expect(off < TOLERANCE, f'{name}: the gradient is off by {off:.1e}, {engine}')
    with open('trained.txt', 'w') as f:
        f.write(stepc('prepare', 'net.onnx', '-o', 'again.onnx', '--loss', 'output'))
    trained = sum(line.startswith('  ') and not line.startswith('  not') for line in open('trained.txt'))
    expect(trained == len(want), f'{name}: {trained} of {len(want)} parameters are trained')


def test_what_cannot_be_exported():
    warned = exported(Mixing(), (normal(4, 4),))
    expect(any('Shifted' in w and 'its backward cannot be exported' in w for w in warned), 'a backward that is lost is told')


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
    sys.exit(len(failures) > 0)


main()
