"""One step of stepc beside PyTorch's: the gradient of all parameters of a network whose output is its loss.

For the tests that compare many small networks. Needs only torch and numpy.
"""
import os
import subprocess
import sys
import warnings

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '../../examples/pytorch'))
from export import export  # noqa: E402

TOLERANCE = 2e-5  # of the whole gradient; a wrong or missing one is off by about 1
STEPC = os.path.abspath(sys.argv[1])
failures = []


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


def exported(net, inputs, opset_version=17, dynamic=True, dynamo=False):
    """Exported with a batch of another size than it is trained with. Returns what export() warned of."""
    dynamic = dynamic and not dynamo
    names = [f'in{i}' for i in range(len(inputs))]
    examples = tuple(x[:3] if dynamic else x for x in inputs)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter('always')
        options = {'dynamo': True, 'verbose': False} if dynamo else {'opset_version': opset_version}
        if dynamic:
            options['dynamic_axes'] = {name: {0: 'batch'} for name in names}
        export(net, examples, 'net.onnx', input_names=names, output_names=['loss'], **options)
    return [str(w.message) for w in found if w.filename.endswith('export_gradients.py')]


def pytorch_step(net, inputs, dtype):
    """The loss, and the gradients of all parameters that have one."""
    net.to(dtype).zero_grad()
    torch.set_default_dtype(dtype)  # a forward() may make tensors of its own
    try:
        loss = net(*(x.to(dtype) if x.is_floating_point() else x for x in inputs))
        loss.backward()
    finally:
        torch.set_default_dtype(torch.float32)
    return loss.item(), {name: p.grad.double().numpy().copy() for name, p in net.named_parameters() if p.grad is not None}


def off_by(got, want):
    """(loss, gradient): how far they are off, in parts of the right ones."""
    wrong = sum(((got[1][name].reshape(g.shape) - g) ** 2).sum() for name, g in want[1].items())
    return abs(got[0] - want[0]) / abs(want[0]), (wrong / sum((g ** 2).sum() for g in want[1].values())) ** 0.5


def stepc_step(names, inputs, engine):
    """The same of train.onnx. What is fetched has a first axis of one step."""
    feeds, fetches = [], ['--fetch', 'loss=loss.npy']
    for i, x in enumerate(inputs):
        np.save(f'in{i}.npy', x.numpy()[None])
        feeds += ['--feed', f'in{i}=in{i}.npy']
    for i, name in enumerate(names):
        fetches += ['--fetch', f'{name}.gradient=grad{i}.npy']
    stepc('run', 'train.onnx', '--engine', engine, '--steps', 1, *feeds, *fetches)
    return np.load('loss.npy').item(), {name: np.load(f'grad{i}.npy') for i, name in enumerate(names)}


def try_case(name, make, inputs, detached=None, engines=('interpreted', 'generated'), **options):
    """make: () -> a network; inputs: () -> its inputs. detached: how many tensors the file shall call so; None: any.
    Returns {engine: (loss, gradient) off by, 'pytorch': those of PyTorch's own float32}."""
    torch.manual_seed(1)
    net = make().train()
    inputs = inputs()
    warned = exported(net, inputs, **options)
    expect(not warned, f'{name}: export() warns of nothing {warned}')
    if detached is not None:
        found = metadata('net.onnx', 'stepc.detached').split()
        expect(len(found) == detached, f'{name}: {len(found)} tensors are detached')
    said = stepc('prepare', 'net.onnx', '-o', 'train.onnx', '--loss', 'output', '--gradients')
    expect('warning' not in said, f'{name}: prepare warns of nothing')
    in_float = pytorch_step(net, inputs, torch.float32)
    want = pytorch_step(net, inputs, torch.float64)
    results = {'pytorch': off_by(in_float, want)}
    for engine in engines:
        results[engine] = loss, gradient = off_by(stepc_step(want[1], inputs, engine), want)
        expect(max(loss, gradient) < TOLERANCE, f'{name}: the loss is off by {loss:.1e}, the gradient by {gradient:.1e}, {engine}')
    trained = sum(line.startswith('  ') and not line.startswith('  not') for line in said.splitlines())
    expect(trained == len(want[1]), f'{name}: {trained} of {len(want[1])} parameters are trained')
    return results
