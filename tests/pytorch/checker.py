#!/usr/bin/python3
"""usage: checker.py STEPC

ONNX's own checker accepts what `stepc prepare` writes: the file, and the graphs that it means, which the checker does not build by
itself: main graph and algorithm as one graph for each training_info, and the initialization graph alone. Shape inference over the
combined graph finds no contradiction either. Every loss with every optimizer, and every other option, in several opsets. Needs
python3-onnx 1.12, which knows opsets up to 17.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CLASS_LOSSES = ['softmax-cross-entropy', 'nll']
LOSSES = CLASS_LOSSES + ['mse', 'l1', 'huber', 'bce', 'bce-logits', 'output']
OPTIMIZERS = ['sgd:norm_coefficient=0.01', 'momentum', 'nesterov', 'adagrad:initial_accumulator=0.1', 'adam:norm_coefficient_post=0.1',
              'adamw:decay_min_rank=2', 'rmsprop:momentum=0.9,centered=1']
OPSETS = [7, 9, 11, 12, 13, 14, 15, 17]
# Everything that adds nodes of its own.
OPTIONS = [
    ['--split'], ['--split', '--clip-norm', '1', '--gradients'], ['--accumulate', '2'], ['--accumulate', '2', '--clip-value', '0.5'],
    ['--clip-norm', '1'], ['--clip-value', '1'], ['--clip-norm', '1', '--clip-value', '1', '--gradients', '--evaluate'],
    ['--schedule', 'step:every=10,gamma=0.5'], ['--schedule', 'cosine:steps=100,floor=0.1,warmup=5'],
    ['--schedule', 'linear:steps=100,warmup=5'], ['--learning-rate-input', 'rate'], ['--initialize', 'he'], ['--initialize', 'glorot'],
    ['--batchnorm', 'frozen'], ['--batchnorm-statistics', 'reset'], ['--sample-weight', 'weight'], ['--batch', '2'],
    ['--split', '--sample-weight', 'weight', '--evaluate'], ['--train', '*', '--freeze', 'b*'],
]
CLASS_OPTIONS = [
    ['--ignore-index', '-1'], ['--class-weights', 'weights.npy'], ['--target-type', 'int32'], ['--sample-weight', 'weight'],
    ['--ignore-index', '-1', '--class-weights', 'weights.npy', '--split', '--clip-norm', '1'], ['--accumulate', '2', '--ignore-index', '-1'],
]
SCORE_OPTIONS = [['--label-smoothing', '0.1'], ['--label-smoothing', '0.1', '--accumulate', '2'], ['--label-smoothing', '0.1', '--split']]


def model(opset, loss):
    """Two layers with a normalization and a Dropout, ended by what the loss reads; IR 4, so that prepare has to raise it."""
    rng = np.random.default_rng(1)
    values = {'w1': rng.normal(size=(4, 6)), 'b1': np.zeros(6), 'scale': np.ones(6), 'shift': np.zeros(6), 'mean': np.zeros(6), 'var': np.ones(6),
              'w2': rng.normal(size=(6, 3)), 'b2': np.zeros(3)}
    nodes = [helper.make_node('Gemm', ['x', 'w1', 'b1'], ['h']),
             helper.make_node('BatchNormalization', ['h', 'scale', 'shift', 'mean', 'var'], ['n']),
             helper.make_node('Relu', ['n'], ['r']),
             helper.make_node('Dropout', ['r'], ['d']),
             helper.make_node('Gemm', ['d', 'w2', 'b2'], ['scores'])]
    shape = ['batch', 3]
    if loss == 'nll':
        nodes.append(helper.make_node('LogSoftmax', ['scores'], ['y'], axis=1))
    elif loss == 'bce':
        nodes.append(helper.make_node('Sigmoid', ['scores'], ['y']))
    elif loss == 'output':
        nodes += [helper.make_node('Mul', ['scores', 'scores'], ['squares']), helper.make_node('ReduceMean', ['squares'], ['y'], keepdims=0)]
        shape = []
    else:
        nodes.append(helper.make_node('Identity', ['scores'], ['y']))
    graph = helper.make_graph(nodes, 'net', [helper.make_tensor_value_info('x', TensorProto.FLOAT, ['batch', 4])],
                              [helper.make_tensor_value_info('y', TensorProto.FLOAT, shape)],
                              [numpy_helper.from_array(v.astype(np.float32), k) for k, v in values.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)], ir_version=4)


def combined(m, algorithm):
    """A model whose graph is what a step runs."""
    out = onnx.ModelProto()
    out.CopyFrom(m)
    del out.training_info[:]
    for field in 'input', 'initializer', 'sparse_initializer', 'node', 'value_info', 'output':
        getattr(out.graph, field).extend(getattr(algorithm, field))
    return out


def alone(m, graph):
    out = onnx.ModelProto()
    out.CopyFrom(m)
    del out.training_info[:]
    out.graph.CopyFrom(graph)
    return out


def check(path):
    m = onnx.load(path)
    onnx.checker.check_model(m)
    for t in m.training_info:
        step = combined(m, t.algorithm)
        onnx.checker.check_model(step)
        onnx.shape_inference.infer_shapes(step, check_type=True, strict_mode=False, data_prop=True)
        if t.HasField('initialization'):
            onnx.checker.check_model(alone(m, t.initialization))


def cases():
    """Opset, loss, options: what prepare says that it supports."""
    for loss in LOSSES:
        for optimizer in OPTIMIZERS:
            for opset in OPSETS if optimizer.startswith(('adam', 'rms')) else [17]:
                yield opset, loss, ['--optimizer', optimizer]
    for opset in OPSETS:
        for options in OPTIONS:
            if '--split' in options and opset < 9:
                continue
            yield opset, 'mse', options
            if '--sample-weight' not in options or opset >= 12:
                yield opset, 'softmax-cross-entropy', options
            if not {'--sample-weight', '--accumulate'} & set(options):
                yield opset, 'output', options
        for options in CLASS_OPTIONS if opset >= 12 else []:
            for loss in CLASS_LOSSES:
                yield opset, loss, options
        for options in SCORE_OPTIONS if opset >= 12 else []:
            yield opset, 'softmax-cross-entropy', options


def main():
    stepc = os.path.abspath(sys.argv[1])
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        np.save('weights.npy', np.array([1, 2, 0.5], np.float32))
        for opset in OPSETS:
            for loss in LOSSES:
                onnx.save(model(opset, loss), f'{loss}_{opset}.onnx')
        for opset, loss, options in cases():
            command = [stepc, 'prepare', f'{loss}_{opset}.onnx', '-o', 'train.onnx', '--loss', loss, '--quiet', *options]
            if '--accumulate' in options:
                command += ['--batch', '4']
            r = subprocess.run(command, capture_output=True, text=True)
            why = r.stderr.strip()
            if r.returncode == 0:
                try:
                    why = ''
                    check('train.onnx')
                    subprocess.run([stepc, 'check', '--quiet', 'train.onnx'], check=True, capture_output=True)
                except Exception as e:
                    why = getattr(e, 'stderr', None) or str(e)
            if why:
                print(f'FAIL opset {opset} --loss {loss} {" ".join(options)}: {why}')
            passed, failed = passed + (not why), failed + bool(why)
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


main()
