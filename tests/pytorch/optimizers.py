#!/usr/bin/python3
"""usage: optimizers.py STEPC

Proves the table of docs/optimizers.md: each optimizer of PyTorch for STEPS steps in double, against what `stepc prepare` makes
of the options that the table gives, interpreted in double. The model is a small regression in double; hyper-parameters are
binary32 in ONNX, so PyTorch gets them rounded as well. Schedules are compared too. Needs python3-torch and python3-onnx.
"""
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

STEPS, BATCH, INPUTS, HIDDEN = 20, 8, 5, 4
TOLERANCE = 1e-12


def f32(x):
    return float(np.float32(x))


WD, EPS8, EPS10 = f32(0.05), f32(1e-8), f32(1e-10)
B1, B2 = f32(0.9), f32(0.999)
OPTIMIZERS = [  # name, stepc's options, PyTorch's optimizer, its scheduler
    ('SGD', 'sgd', lambda p: torch.optim.SGD(p, 0.1), None),
    ('SGD weight_decay', f'sgd:norm_coefficient={WD}', lambda p: torch.optim.SGD(p, 0.1, weight_decay=WD), None),
    ('SGD momentum', f'momentum:alpha={B1},beta=1', lambda p: torch.optim.SGD(p, 0.1, B1), None),
    ('SGD momentum dampening weight_decay', f'momentum:alpha={B1},beta=0.75,norm_coefficient={WD}',
     lambda p: torch.optim.SGD(p, 0.1, B1, 0.25, WD), None),
    ('SGD nesterov', f'nesterov:alpha={B1},beta=1,norm_coefficient={WD}',
     lambda p: torch.optim.SGD(p, 0.1, B1, 0, WD, nesterov=True), None),
    ('Adam', f'adamw:weight_decay=0,epsilon={EPS8}', lambda p: torch.optim.Adam(p, 0.1, (B1, B2), EPS8), None),
    ('Adam weight_decay', f'adamw:weight_decay=0,epsilon={EPS8},norm_coefficient={WD}',
     lambda p: torch.optim.Adam(p, 0.1, (B1, B2), EPS8, WD), None),
    ('AdamW', f'adamw:epsilon={EPS8},weight_decay={WD}', lambda p: torch.optim.AdamW(p, 0.1, (B1, B2), EPS8, WD), None),
    ('Adagrad', f'adagrad:epsilon={EPS10}', lambda p: torch.optim.Adagrad(p, 0.1, eps=EPS10), None),
    ('Adagrad lr_decay weight_decay initial',
     f'adagrad:epsilon={EPS10},decay_factor=0.125,norm_coefficient={WD},initial_accumulator=0.5',
     lambda p: torch.optim.Adagrad(p, 0.1, 0.125, WD, 0.5, EPS10), None),
    ('RMSprop', f'rmsprop:alpha={B1},epsilon={EPS8}', lambda p: torch.optim.RMSprop(p, 0.1, B1, EPS8), None),
    ('RMSprop momentum weight_decay', f'rmsprop:alpha={B1},epsilon={EPS8},momentum=0.5,norm_coefficient={WD}',
     lambda p: torch.optim.RMSprop(p, 0.1, B1, EPS8, WD, 0.5), None),
    ('RMSprop centered', f'rmsprop:alpha={B1},epsilon={EPS8},centered=1',
     lambda p: torch.optim.RMSprop(p, 0.1, B1, EPS8, centered=True), None),
    ('StepLR', ['--optimizer', 'sgd', '--schedule', 'step:every=3,gamma=0.5'], lambda p: torch.optim.SGD(p, 0.1),
     lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5)),
    ('CosineAnnealingLR', ['--optimizer', f'momentum:alpha={B1}', '--schedule', 'cosine:steps=25,floor=0.25'],
     lambda p: torch.optim.SGD(p, 0.1, B1), lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 25, 0.025)),
    ('cosine with warm-up', ['--optimizer', 'sgd', '--schedule', 'cosine:steps=15,floor=0.25,warmup=4'],
     lambda p: torch.optim.SGD(p, 0.1),
     lambda o: torch.optim.lr_scheduler.LambdaLR(
         o, lambda s: min((s + 1) / 4, 0.25 + 0.75 * (1 + math.cos(math.pi * min(max((s - 4) / 11, 0), 1))) / 2))),
    ('LinearLR', ['--optimizer', 'sgd', '--schedule', 'linear:steps=12'], lambda p: torch.optim.SGD(p, 0.1),
     lambda o: torch.optim.lr_scheduler.LinearLR(o, 1, 0, 12)),
    ('linear with warm-up', ['--optimizer', f'adamw:weight_decay=0,epsilon={EPS8}', '--schedule', 'linear:warmup=5,steps=15'],
     lambda p: torch.optim.Adam(p, 0.1, (B1, B2), EPS8),
     lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda s: max(0, min((s + 1) / 5, 1 - max(0, s - 5) / 10)))),
]
# What ONNX's own Adam is instead, written out: epsilon is added before the correction of the bias.
ONNX_ADAM = f'adam:alpha={B1},beta={B2},epsilon={f32(1e-3)}'


def call(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def make_model(path, weights):
    def value(name, dims):
        return helper.make_tensor_value_info(name, TensorProto.DOUBLE, dims)
    nodes = [helper.make_node('MatMul', ['x', 'w1'], ['h']), helper.make_node('Add', ['h', 'b1'], ['hb']),
             helper.make_node('Tanh', ['hb'], ['a']), helper.make_node('MatMul', ['a', 'w2'], ['y'])]
    graph = helper.make_graph(nodes, 'net', [value('x', [BATCH, INPUTS])], [value('y', [BATCH, 1])],
                              [numpy_helper.from_array(t, name) for name, t in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8), path)


def train_torch(make_optimizer, make_scheduler, weights, x, target):
    parameters = {name: torch.tensor(t, requires_grad=True) for name, t in weights.items()}
    optimizer = make_optimizer(list(parameters.values()))
    scheduler = make_scheduler(optimizer) if make_scheduler else None
    for xs, ts in zip(torch.tensor(x), torch.tensor(target)):
        optimizer.zero_grad()
        y = torch.tanh(xs @ parameters['w1'] + parameters['b1']) @ parameters['w2']
        torch.nn.functional.mse_loss(y, ts).backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
    return {name: p.detach().numpy() for name, p in parameters.items()}


def train_stepc(stepc, options, weights, work):
    call(stepc, 'prepare', f'{work}/model.onnx', '-o', f'{work}/train.onnx', '--loss', 'mse', '--learning-rate', 0.1, *options)
    call(stepc, 'run', f'{work}/train.onnx', '--feed', f'x={work}/x.npy', '--feed', f'target={work}/target.npy',
         *[word for name in weights for word in ('--fetch', f'{name}={work}/{name}.npy')])
    return {name: np.load(f'{work}/{name}.npy') for name in weights}


class OnnxAdam(torch.optim.Optimizer):
    """X - lr sqrt(1 - b2^t) / (1 - b1^t) * V / (sqrt(H) + eps)"""

    def __init__(self, parameters):
        super().__init__(parameters, {})
        self.t = 0

    def step(self):
        self.t += 1
        for p in self.param_groups[0]['params']:
            s = self.state[p]
            s['v'] = B1 * s.get('v', 0) + (1 - B1) * p.grad
            s['h'] = B2 * s.get('h', 0) + (1 - B2) * p.grad ** 2
            rate = 0.1 * math.sqrt(1 - B2 ** self.t) / (1 - B1 ** self.t)
            p.data -= rate * s['v'] / (s['h'].sqrt() + f32(1e-3))


def main():
    stepc = os.path.abspath(sys.argv[1])
    random, failed = np.random.default_rng(1), False
    weights = {'w1': random.normal(size=(INPUTS, HIDDEN)), 'b1': random.normal(size=HIDDEN), 'w2': random.normal(size=(HIDDEN, 1))}
    x = random.normal(size=(STEPS, BATCH, INPUTS))
    target = random.normal(size=(STEPS, BATCH, 1))
    with tempfile.TemporaryDirectory() as work:
        np.save(f'{work}/x.npy', x)
        np.save(f'{work}/target.npy', target)
        make_model(f'{work}/model.onnx', weights)
        for name, options, make_optimizer, make_scheduler in OPTIMIZERS + [("ONNX's Adam", ONNX_ADAM, OnnxAdam, None)]:
            want = train_torch(make_optimizer, make_scheduler, weights, x, target)
            got = train_stepc(stepc, options if isinstance(options, list) else ['--optimizer', options], weights, work)
            worst = max(np.linalg.norm(got[n] - want[n]) / np.linalg.norm(want[n]) for n in weights)
            moved = min(np.linalg.norm(want[n] - weights[n]) for n in weights)
            ok = worst <= TOLERANCE and moved > 1e-3
            failed |= not ok
            print(f'{"PASS" if ok else "FAIL"} {name}: largest difference {worst:.2g}')
    sys.exit(failed)


main()
