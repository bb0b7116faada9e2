#!/usr/bin/python3
"""usage: entries.py STEPC

A GAN with two optimizers, exported twice from one module (with the discriminator's loss and with the generator's), prepared apart and
merged by `stepc merge`: after STEPS steps all weights are those of PyTorch, in double. Needs python3-torch and python3-onnx.
"""
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../examples/pytorch'))
from export import export  # noqa: E402

warnings.simplefilter('ignore')
STEPS, BATCH, NOISE, VALUES, WIDTH = 12, 6, 3, 2, 7
TOLERANCE = 1e-12
B1, B2, EPS = float(np.float32(0.5)), float(np.float32(0.999)), float(np.float32(1e-8))


class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(NOISE, WIDTH), nn.Tanh(), nn.Linear(WIDTH, VALUES))
        self.critic = nn.Sequential(nn.Linear(VALUES, WIDTH), nn.LeakyReLU(0.25), nn.Linear(WIDTH, 1))
        self.train_critic = True

    def forward(self, z, real=None):
        fake = self.generator(z)
        if self.train_critic:
            return F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(fake)).mean(), fake
        return F.softplus(-self.critic(fake)).mean(), fake


def train_torch(net, z, real):
    optimizers = [torch.optim.Adam(net.critic.parameters(), 0.01, (B1, B2), EPS),
                  torch.optim.NAdam(net.generator.parameters(), 0.005, (B1, B2), EPS, 0, float(np.float32(4e-3)), foreach=True)]
    for zs, reals in zip(z, real):
        for net.train_critic, optimizer in zip((True, False), optimizers):
            optimizer.zero_grad()
            net(zs, reals)[0].backward()
            optimizer.step()
    return {name: p.detach().numpy() for name, p in net.named_parameters()}


def train_stepc(stepc, net, z, real, work):
    def call(*command):
        subprocess.run([stepc, *map(str, command)], check=True, stdout=subprocess.DEVNULL, cwd=work)
    for train_critic, name, inputs, optimizer, rate in (
            (True, 'critic', (z[0], real[0]), f'adamw:weight_decay=0,beta1={B1}', 0.01),
            (False, 'generator', (z[0],), f'nadam:beta1={B1}', 0.005)):
        net.train_critic = train_critic
        export(net, inputs, f'{work}/{name}_net.onnx', opset_version=17, input_names=['z', 'real'][:len(inputs)],
               output_names=[f'{name}_loss', 'fake'])
        call('prepare', f'{name}_net.onnx', '-o', f'{name}.onnx', '--loss', 'output', '--output', f'{name}_loss', '--train', f'{name}.*',
             '--optimizer', optimizer, '--learning-rate', rate)
    call('merge', 'critic.onnx', 'generator.onnx', '-o', 'gan.onnx')
    call('compare', 'gan.onnx', '--quiet')
    np.save(f'{work}/z.npy', z.numpy())
    np.save(f'{work}/real.npy', real.numpy())
    names = [name for name, _ in net.named_parameters()]
    call('run', 'gan.onnx', '--feed', 'z=z.npy', '--feed', 'real=real.npy',
         *[word for name in names for word in ('--fetch', f'{name}={work}/{name}.npy')])
    return {name: np.load(f'{work}/{name}.npy') for name in names}


def main():
    torch.manual_seed(1)
    torch.set_default_dtype(torch.double)
    net, z, real = Gan(), torch.randn(STEPS, BATCH, NOISE), torch.randn(STEPS, BATCH, VALUES) + 1
    first = {name: p.detach().numpy().copy() for name, p in net.named_parameters()}
    with tempfile.TemporaryDirectory() as work:
        got = train_stepc(os.path.abspath(sys.argv[1]), net, z, real, work)
    want = train_torch(net, z, real)
    worst = max(np.linalg.norm(got[n] - want[n]) / np.linalg.norm(want[n]) for n in want)
    moved = min(np.linalg.norm(want[n] - first[n]) for n in want)
    ok = worst <= TOLERANCE and moved > 1e-3
    print(f'{"PASS" if ok else "FAIL"} GAN of two merged models: largest difference {worst:.2g}')
    sys.exit(not ok)


main()
