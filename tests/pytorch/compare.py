#!/usr/bin/python3
"""usage: compare.py STEPC FOLDER_OF_THE_DIGITS_EXAMPLE

Trains the digits network for 30 steps with stepc (both engines) and with PyTorch in double, from the same weights on the same
batches, and compares loss curves and final weights. Needs python3-torch and python3-onnx.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import numpy_helper

STEPS, BATCH = 30, 32
PARAMETERS = ['fc1.weight', 'fc1.bias', 'fc2.weight', 'fc2.bias']
# PyTorch's optimizers that mean the same as ONNX's: name, stepc's arguments, constructor. Adam's differs in where epsilon is
# added, which an epsilon of 1e-12 makes invisible.
OPTIMIZERS = [
    ('sgd', ['--optimizer', 'sgd', '--learning-rate', '0.1'], lambda p: torch.optim.SGD(p, 0.1)),
    ('momentum', ['--optimizer', 'momentum:alpha=0.9,beta=1', '--learning-rate', '0.03'], lambda p: torch.optim.SGD(p, 0.03, 0.9)),
    ('adam', ['--optimizer', 'adam:epsilon=1e-12', '--learning-rate', '0.002'], lambda p: torch.optim.Adam(p, 0.002, eps=1e-12)),
]
# 30 steps in float against 30 in double: rounding errors of 1e-7 grow by about this much.
TOLERANCE = 1e-4


def call(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def batches(example):
    data = np.loadtxt(os.path.join(example, 'digits.csv'), delimiter=',')[:STEPS * BATCH]
    return (data[:, :64] / 16).astype(np.float32).reshape(STEPS, BATCH, 64), data[:, 64].astype(np.int64).reshape(STEPS, BATCH)


def train_torch(make_optimizer, start, x, target):
    w1, b1, w2, b2 = parameters = [torch.tensor(start[p].astype(np.float64), requires_grad=True) for p in PARAMETERS]
    optimizer, losses = make_optimizer(parameters), []
    for images, classes in zip(torch.tensor(x).double(), torch.tensor(target)):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(torch.relu(images @ w1.T + b1) @ w2.T + b2, classes)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, dict(zip(PARAMETERS, (p.detach().numpy() for p in parameters)))


def train_stepc(stepc, model, engine, steps, work):
    fetches = ['loss'] + PARAMETERS
    call(stepc, 'run', model, '--dim', f'batch={BATCH}', '--engine', engine, '--steps', steps, '--feed', f'x={work}/x.npy', '--feed', f'target={work}/target.npy',
         *[word for name in fetches for word in ('--fetch', f'{name}={work}/{name}.npy')])
    values = {name: np.load(f'{work}/{name}.npy') for name in fetches}
    return values.pop('loss').ravel(), values


def initial_weights(example):
    """The initializers of model.onnx."""
    model = onnx.load(os.path.join(example, 'model.onnx'))
    return {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}


def main():
    stepc, example = sys.argv[1:]
    x, target = batches(example)
    start, failed = initial_weights(example), False
    with tempfile.TemporaryDirectory() as work:
        np.save(f'{work}/x.npy', x)
        np.save(f'{work}/target.npy', target)
        for name, arguments, make_optimizer in OPTIMIZERS:
            model = f'{work}/{name}.onnx'
            call(stepc, 'prepare', os.path.join(example, 'model.onnx'), '-o', model, '--loss', 'softmax-cross-entropy',
                 *arguments)
            want_loss, want = train_torch(make_optimizer, start, x, target)
            for engine in 'interpreted', 'generated':
                loss, got = train_stepc(stepc, model, engine, STEPS, work)
                worst = max([np.max(np.abs(loss - want_loss) / want_loss)] +
                            [np.linalg.norm(got[p] - want[p]) / np.linalg.norm(want[p]) for p in PARAMETERS])
                ok = worst <= TOLERANCE
                failed |= not ok
                print(f'{"PASS" if ok else "FAIL"} {name} {engine}: loss {want_loss[0]:.3f} -> {want_loss[-1]:.3f}, largest difference {worst:.2g}')
    sys.exit(failed)


main()
