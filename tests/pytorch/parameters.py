#!/usr/bin/python3
"""usage: parameters.py STEPC

Does `stepc prepare` train named_parameters(), no more and no less? Networks whose parameters stand in odd places, beside buffers that
look like parameters, exported in training form and by examples/pytorch/export.py; and in the plain form, where what is left under its
name counts. Needs python3-torch and python3-onnx.
"""
import math
import os
import subprocess
import sys
import tempfile
import warnings

import onnx
import torch
from torch import nn
import torch.nn.functional as F

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../examples/pytorch'))
from export import export  # noqa: E402

failures = []


class Vit(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.patches, self.head = nn.Conv2d(3, width, 4, 4), nn.Linear(width, 3)
        self.cls, self.positions = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.randn(1, 5, width) * 0.02)
        self.gamma = nn.Parameter(0.1 * torch.ones(width))

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head((x + self.gamma * torch.tanh(x))[:, 0])


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.group, self.instance = nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.InstanceNorm2d(8, affine=True)
        self.plain, self.free, self.fc = nn.InstanceNorm2d(8), nn.BatchNorm2d(8, affine=False), nn.Linear(8, 3)
        self.prelu, self.one = nn.PReLU(8), nn.PReLU()

    def forward(self, x):
        x = self.one(self.instance(self.prelu(self.group(self.conv(x)))))
        return self.fc(self.free(self.plain(x * 2) + x).mean((2, 3)))


class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.utils.weight_norm(nn.Linear(6, 8)), nn.utils.weight_norm(nn.Linear(8, 3), dim=None)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Scalars(nn.Module):
    """Gates and a temperature."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3)
        self.alpha, self.logit_scale = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.tensor(2.6))
        self.log_std, self.mix = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        x = torch.tanh(self.a(x))
        x = x + self.alpha * x * torch.sigmoid(self.mix)
        return F.normalize(self.b(x), dim=-1) * self.logit_scale.exp().clamp(max=100) + self.log_std.exp()


class Causal(nn.Module):
    """A tied language model with sinusoidal or learned positions and a mask."""

    def __init__(self, sines, persistent=True, width=8, length=6, words=11):
        super().__init__()
        self.words, self.qkv, self.norm = nn.Embedding(words, width), nn.Linear(width, 3 * width), nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight
        steps = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        if sines:
            self.register_buffer('positions', torch.cat([steps.sin(), steps.cos()], 1)[None], persistent)
        else:
            self.positions = nn.Parameter(torch.zeros(1, length, width))
        self.register_buffer('bias', torch.tril(torch.ones(length, length))[None], persistent)

    def forward(self, i):
        x = self.words(i) + self.positions[:, :i.shape[1]]
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        a = (q @ k.transpose(1, 2)).masked_fill(self.bias[:, :i.shape[1], :i.shape[1]] == 0, -1e4)
        return self.head(x + a.softmax(-1) @ v)


class Rotary(nn.Module):
    """RMSNorm by hand, tables of angles, slopes of ALiBi, a mask that is added."""

    def __init__(self, width=8, length=6, words=11):
        super().__init__()
        self.words, self.q, self.k, self.fc = nn.Embedding(words, width, padding_idx=0), nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, words)
        self.weight = nn.Parameter(torch.ones(width))
        angles = torch.outer(torch.arange(length).float(), 1 / 100 ** (torch.arange(0, width, 2).float() / width))
        self.register_buffer('cos_cached', torch.cat([angles, angles], -1).cos())
        self.register_buffer('sin_cached', torch.cat([angles, angles], -1).sin())
        self.register_buffer('slopes', torch.tensor([2.0 ** -k for k in range(1, 5)])[:, None, None])
        self.register_buffer('distance', -(torch.arange(length)[:, None] - torch.arange(length)).abs().float())
        self.register_buffer('causal', torch.triu(torch.full((length, length), -math.inf), 1))

    def turn(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos_cached + torch.cat([-b, a], -1) * self.sin_cached

    def forward(self, i):
        x = self.words(i)
        y = self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        a = self.turn(self.q(y)) @ self.turn(self.k(y)).transpose(1, 2) + (self.slopes * self.distance)[0] + self.causal
        return self.fc(x + a.softmax(-1) @ y)


class Window(nn.Module):
    """A table of relative positions, read by a buffer of indices."""

    def __init__(self, width=8, size=3):
        super().__init__()
        self.patches, self.qkv, self.head = nn.Conv2d(3, width, 4, 4), nn.Linear(width, 3 * width), nn.Linear(width, 3)
        self.table = nn.Parameter(torch.randn((2 * size - 1) ** 2, 1) * 0.02)
        at = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')).flatten(1)
        self.register_buffer('index', ((at[:, :, None] - at[:, None]) + size - 1).mul(torch.tensor([2 * size - 1, 1])[:, None, None]).sum(0))

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(x).chunk(3, -1)
        a = q @ k.transpose(1, 2) + self.table[self.index.view(-1)].view(9, 9, 1).permute(2, 0, 1)
        return self.head((a.softmax(-1) @ v).mean(1))


class Constants(nn.Module):
    """Normalization of the input and of the output, a prior, a blur, a mask on weights, steps of a histogram."""

    def __init__(self):
        super().__init__()
        self.register_buffer('pixel_mean', torch.tensor([0.485, 0.456, 0.406])[:, None, None])
        self.register_buffer('pixel_std', torch.tensor([0.229, 0.224, 0.225])[:, None, None])
        blur = torch.tensor([1.0, 2, 1])
        self.register_buffer('blur', (blur[:, None] * blur / 16).repeat(4, 1, 1, 1))
        self.conv, self.fc, self.out = nn.Conv2d(3, 4, 3), nn.Linear(4, 6), nn.Linear(6, 11)
        self.register_buffer('mask', (torch.arange(24) % 3 > 0).float().view(6, 4))
        self.register_buffer('log_prior', torch.log_softmax(torch.arange(11.0) * 0.3, 0))
        self.register_buffer('support', torch.linspace(-2, 2, 11))
        self.register_buffer('y_mean', torch.tensor([0.3]))
        self.register_buffer('y_std', torch.tensor([1.7]))

    def forward(self, x):
        x = F.conv2d(self.conv((x - self.pixel_mean) / self.pixel_std), self.blur, groups=4).mean((2, 3))
        x = torch.relu(F.linear(x, self.fc.weight * self.mask, self.fc.bias))
        return ((self.out(x) + self.log_prior).softmax(-1) * self.support).sum(-1, keepdim=True) * self.y_std + self.y_mean


class Queries(nn.Module):
    """Learned queries and embeddings of rows and columns; a layer that is copied."""

    def __init__(self, width=8):
        super().__init__()
        self.stem, self.attention = nn.Conv2d(3, width, 4, 4), nn.MultiheadAttention(width, 2, batch_first=True)
        self.rows, self.columns = nn.Parameter(torch.rand(3, width // 2)), nn.Parameter(torch.rand(3, width // 2))
        self.latents, self.head = nn.Parameter(torch.randn(2, width)), nn.Linear(2 * width, 3)
        layer = nn.TransformerEncoderLayer(width, 2, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        f = self.stem(x).flatten(2).transpose(1, 2)
        places = torch.cat([self.columns[None].repeat(3, 1, 1), self.rows[:, None].repeat(1, 3, 1)], -1).flatten(0, 1)[None]
        latents = self.latents[None].repeat(x.shape[0], 1, 1)
        return self.head(self.encoder(self.attention(latents, f + places, f, need_weights=False)[0]).flatten(1))


def images(size):
    return lambda: torch.randn(2, 3, size, size)


def numbers():
    return torch.randn(4, 6)


def tokens():
    return torch.randint(1, 11, (2, 6))


NETWORKS = [('vit', Vit, images(8)), ('norms', Norms, images(8)), ('weight_norm', WeightNorm, numbers), ('scalars', Scalars, numbers),
            ('learned', lambda: Causal(False), tokens), ('sines', lambda: Causal(True), tokens),
            ('sines_unsaved', lambda: Causal(True, False), tokens), ('rotary', Rotary, tokens), ('window', Window, images(12)),
            ('constants', Constants, images(9)), ('queries', Queries, images(12))]
COMPUTED = {'weight_norm', 'constants', 'window'}  # a plain export computes new weights out of these networks' parameters


def trained(path):
    r = subprocess.run([STEPC, 'prepare', path, '-o', 'train.onnx', '--loss', 'mse'], capture_output=True, text=True)
    if r.returncode:
        return {r.stderr}
    algorithm = onnx.load('train.onnx').training_info[0].algorithm
    return {name.decode() for node in algorithm.node if node.op_type == 'Gradient' for a in node.attribute if a.name == 'xs' for name in a.strings}


def check(name, form, got, wanted):
    print(f'{"PASS" if got == wanted else "FAIL"} {name}, {form}' + ('' if got == wanted else f': too many {got - wanted}, too few {wanted - got}'))
    if got != wanted:
        failures.append(name)


def main():
    with tempfile.TemporaryDirectory() as work, warnings.catch_warnings():
        os.chdir(work)
        warnings.simplefilter('ignore')
        for name, make, example in NETWORKS:
            torch.manual_seed(0)
            net = make()
            parameters = {n for n, _ in net.named_parameters()}
            export(net, example(), 'export.onnx')
            check(name, 'export.py', trained('export.onnx'), parameters)
            torch.onnx.export(net.train(), example(), 'train_form.onnx', training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
            check(name, 'training form', trained('train_form.onnx'), parameters)
            torch.onnx.export(net.eval(), example(), 'plain.onnx')
            if name in COMPUTED:
                continue
            graph = onnx.load('plain.onnx').graph
            kept = {i.name for i in graph.initializer} | {o for n in graph.node if n.op_type == 'Identity' for o in n.output}
            check(name, 'plain', {n for n in trained('plain.onnx') if '::' not in n}, parameters & kept)
    sys.exit(len(failures) > 0)


STEPC = os.path.abspath(sys.argv[1])
main()
