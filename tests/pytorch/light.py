#!/usr/bin/python3
"""usage: light.py STEPC [--cc CC] [--size 224] [NETWORK...]

The nine networks that ONNX tests with ("light": their published files have constants in the place of weights), rebuilt here as
the Caffe2 exports that they are, opset 9, with random weights. Each goes through verify (both engines compute what PyTorch does),
check, prepare and compile, the C is compiled with UndefinedBehaviorSanitizer (any report ends it), and two steps are trained beside
PyTorch, which walks the same graph: losses must agree; how far weights are off is printed. Needs python3-torch and python3-onnx.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

STEPS = 2
LEARNING_RATE = 1e-4
FIRST_TOLERANCE = 1e-4  # of the first loss: sums of float32 in another order, through up to 121 layers
LATER_TOLERANCE = 5e-3  # of the next: normalization over one image's last maps magnifies what ReLUs at their edge make of that


# ---- writing the graphs -------------------------------------------------------------------------------------------------------

class Graph:
    """Nodes in order; a value is its name, with its shape in `shape`."""

    def __init__(self, size, seed=0):
        self.nodes, self.initializers, self.shape = [], [], {'data_0': (1, 3, size, size)}
        self.random = np.random.default_rng(seed)

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, name, *shape):
        fan_in = np.prod(shape[1:])
        return self.constant(name, (self.random.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32))

    def node(self, op, inputs, shape, name=None, **attributes):
        y = name or f'{op}_{len(self.nodes)}'
        self.nodes.append(helper.make_node(op, inputs, [y], name=y, **attributes))
        self.shape[y] = tuple(shape)
        return y

    def conv(self, x, channels, kernel, stride=1, pad=0, group=1, bias=True):
        n, c, h, w = self.shape[x]
        name = f'conv_{len(self.nodes)}'
        inputs = [x, self.weight(name + '_w', channels, c // group, kernel, kernel)]
        if bias:
            inputs.append(self.constant(name + '_b', (0.01 * self.random.standard_normal(channels)).astype(np.float32)))
        size = [(e + 2 * pad - kernel) // stride + 1 for e in (h, w)]
        return self.node('Conv', inputs, (n, channels, *size), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)

    def relu(self, x):
        return self.node('Relu', [x], self.shape[x])

    def pool(self, x, op, kernel, stride, pads=(0, 0, 0, 0), **attributes):
        n, c, h, w = self.shape[x]
        size = ((h + pads[0] + pads[2] - kernel) // stride + 1, (w + pads[1] + pads[3] - kernel) // stride + 1)
        return self.node(op, [x], (n, c, *size), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=list(pads), **attributes)

    def max_pool(self, x, kernel=3, stride=2, pads=(0, 0, 0, 0)):
        return self.pool(x, 'MaxPool', kernel, stride, pads)

    def lrn(self, x):
        return self.node('LRN', [x], self.shape[x], size=5, alpha=1e-4, beta=0.75, bias=1.0)

    def batch_norm(self, x):
        c, name = self.shape[x][1], f'bn_{len(self.nodes)}'
        ones, zeros = np.ones(c, np.float32), np.zeros(c, np.float32)
        inputs = [self.constant(name + '_' + what, value) for what, value in
                  (('s', ones), ('b', zeros), ('rm', zeros), ('riv', ones))]
        return self.node('BatchNormalization', [x, *inputs], self.shape[x], epsilon=1e-5)

    def scale(self, x):
        """Caffe's Scale layer behind a normalization: a Mul and an Add with [C] made [C,1,1]."""
        c, name = self.shape[x][1], f'scale_{len(self.nodes)}'
        for op, what, value in ('Mul', 'w', 1.0), ('Add', 'b', 0.0):
            v = self.constant(f'{name}_{what}', (value + 0.1 * self.random.standard_normal(c)).astype(np.float32))
            v = self.node('Unsqueeze', [v], (c, 1, 1), axes=[1, 2])
            x = self.node(op, [x, v], self.shape[x])
        return x

    def concat(self, *parts):
        n, _, h, w = self.shape[parts[0]]
        return self.node('Concat', list(parts), (n, sum(self.shape[p][1] for p in parts), h, w), axis=1)

    def reshape(self, x, *shape):
        count = int(np.prod(self.shape[x]))
        full = [count // -int(np.prod(shape)) if s == -1 else s for s in shape]
        return self.node('Reshape', [x, self.constant(f'shape_{len(self.nodes)}', np.array(shape, np.int64))], full)

    def gemm(self, x, width):
        if len(self.shape[x]) > 2:
            x = self.reshape(x, 1, -1)
        name = f'fc_{len(self.nodes)}'
        inputs = [x, self.weight(name + '_w', width, self.shape[x][1]),
                  self.constant(name + '_b', (0.01 * self.random.standard_normal(width)).astype(np.float32))]
        return self.node('Gemm', inputs, (1, width), transB=1)

    def dropout(self, x):
        """The published ratios are not 0; then no two programs would drop the same."""
        return self.node('Dropout', [x], self.shape[x], ratio=0.0)

    def softmax(self, x):
        return self.node('Softmax', [x], self.shape[x], axis=1)

    def global_pool(self, x):
        return self.node('GlobalAveragePool', [x], (*self.shape[x][:2], 1, 1))

    def model(self, y):
        inputs = [helper.make_tensor_value_info('data_0', TensorProto.FLOAT, self.shape['data_0'])]
        outputs = [helper.make_tensor_value_info(y, TensorProto.FLOAT, self.shape[y])]
        graph = helper.make_graph(self.nodes, 'light', inputs, outputs, self.initializers)
        return helper.make_model(graph, ir_version=4, opset_imports=[helper.make_opsetid('', 9)])


def head(g, x, widths):
    for width in widths:
        x = g.dropout(g.relu(g.gemm(x, width)))
    return g.softmax(g.gemm(x, 1000))


def alexnet(g):
    x = g.max_pool(g.lrn(g.relu(g.conv('data_0', 96, 11, 4))))
    x = g.max_pool(g.lrn(g.relu(g.conv(x, 256, 5, 1, 2, group=2))))
    x = g.relu(g.conv(x, 384, 3, 1, 1))
    x = g.relu(g.conv(x, 384, 3, 1, 1, group=2))
    return head(g, g.max_pool(g.relu(g.conv(x, 256, 3, 1, 1, group=2))), (4096, 4096))


def zfnet512(g):
    x = g.max_pool(g.lrn(g.relu(g.conv('data_0', 96, 7, 2))))
    x = g.max_pool(g.lrn(g.relu(g.conv(x, 256, 5, 2))))
    for channels in 512, 1024, 512:
        x = g.relu(g.conv(x, channels, 3, 1, 1))
    return head(g, g.max_pool(x), (4096, 4096))


def vgg19(g):
    x = 'data_0'
    for channels, layers in (64, 2), (128, 2), (256, 4), (512, 4), (512, 4):
        for _ in range(layers):
            x = g.relu(g.conv(x, channels, 3, 1, 1))
        x = g.max_pool(x, 2)
    return head(g, x, (4096, 4096))


def squeezenet(g):
    x = g.max_pool(g.relu(g.conv('data_0', 64, 3, 2)))
    for i, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))):
        if i in (2, 4):
            x = g.max_pool(x)
        x = g.relu(g.conv(x, squeeze, 1))
        x = g.concat(g.relu(g.conv(x, expand, 1)), g.relu(g.conv(x, expand, 3, 1, 1)))
    return g.softmax(g.global_pool(g.relu(g.conv(g.dropout(x), 1000, 1))))


def inception_v1(g):
    def inception(x, a, b1, b2, c1, c2, d):
        return g.concat(g.relu(g.conv(x, a, 1)), g.relu(g.conv(g.relu(g.conv(x, b1, 1)), b2, 3, 1, 1)),
                        g.relu(g.conv(g.relu(g.conv(x, c1, 1)), c2, 5, 1, 2)), g.relu(g.conv(g.max_pool(x, 3, 1, (1, 1, 1, 1)), d, 1)))

    x = g.lrn(g.max_pool(g.relu(g.conv('data_0', 64, 7, 2, 3)), 3, 2, (0, 0, 1, 1)))
    x = g.lrn(g.relu(g.conv(g.relu(g.conv(x, 64, 1)), 192, 3, 1, 1)))
    x = g.max_pool(x, 3, 2, (0, 0, 1, 1))
    x = inception(inception(x, 64, 96, 128, 16, 32, 32), 128, 128, 192, 32, 96, 64)
    x = g.max_pool(x, 3, 2, (0, 0, 1, 1))
    for widths in ((192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
                   (256, 160, 320, 32, 128, 128)):
        x = inception(x, *widths)
    x = g.max_pool(x, 3, 2, (0, 0, 1, 1))
    x = inception(inception(x, 256, 160, 320, 32, 128, 128), 384, 192, 384, 48, 128, 128)
    x = g.pool(x, 'AveragePool', g.shape[x][2], 1)
    return head(g, g.dropout(x), ())


def inception_v2(g):
    def layer(x, channels, kernel, stride=1, pad=0):
        return g.relu(g.scale(g.batch_norm(g.conv(x, channels, kernel, stride, pad))))

    def inception(x, a, b1, b2, c1, c2, d, stride=1):
        parts = [] if stride == 2 else [layer(x, a, 1)]
        parts.append(layer(layer(x, b1, 1), b2, 3, stride, 1))
        parts.append(layer(layer(layer(x, c1, 1), c2, 3, 1, 1), c2, 3, stride, 1))
        if stride == 2:
            parts.append(g.max_pool(x, 3, 2, (0, 0, 1, 1)))
        else:
            parts.append(layer(g.pool(x, 'AveragePool', 3, 1, (1, 1, 1, 1)), d, 1))
        return g.concat(*parts)

    x = g.max_pool(layer('data_0', 64, 7, 2, 3), 3, 2, (0, 0, 1, 1))
    x = g.max_pool(layer(layer(x, 64, 1), 192, 3, 1, 1), 3, 2, (0, 0, 1, 1))
    x = inception(inception(x, 64, 64, 64, 64, 96, 32), 64, 64, 96, 64, 96, 64)
    x = inception(x, 0, 128, 160, 64, 96, 0, stride=2)
    for widths in ((224, 64, 96, 96, 128, 128), (192, 96, 128, 96, 128, 128), (160, 128, 160, 128, 160, 96), (96, 128, 192, 160, 192, 96)):
        x = inception(x, *widths)
    x = inception(x, 0, 128, 192, 192, 256, 0, stride=2)
    x = inception(inception(x, 352, 192, 320, 160, 224, 128), 352, 192, 320, 192, 224, 128)
    return head(g, g.pool(x, 'AveragePool', g.shape[x][2], 1), ())


def resnet50(g):
    def layer(x, channels, kernel, stride=1, pad=0):
        return g.batch_norm(g.conv(x, channels, kernel, stride, pad, bias=False))

    x = g.max_pool(g.relu(layer('data_0', 64, 7, 2, 3)), 3, 2, (1, 1, 1, 1))
    for i, (channels, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for k in range(blocks):
            stride = 2 if i > 0 and k == 0 else 1
            y = g.relu(layer(x, channels, 1))
            y = layer(g.relu(layer(y, channels, 3, stride, 1)), 4 * channels, 1)
            x = g.relu(g.node('Sum', [y, layer(x, 4 * channels, 1, stride) if k == 0 else x], g.shape[y]))
    return head(g, g.pool(x, 'AveragePool', g.shape[x][2], 1), ())


def densenet121(g):
    def norm(x):
        return g.relu(g.scale(g.batch_norm(x)))

    x = g.max_pool(norm(g.conv('data_0', 64, 7, 2, 3, bias=False)), 3, 2, (1, 1, 1, 1))
    for i, layers in enumerate((6, 12, 24, 16)):
        for _ in range(layers):
            y = g.conv(norm(x), 128, 1, bias=False)
            x = g.concat(x, g.conv(norm(y), 32, 3, 1, 1, bias=False))
        x = norm(x)
        if i < 3:
            x = g.pool(g.conv(x, g.shape[x][1] // 2, 1, bias=False), 'AveragePool', 2, 2)
    return g.conv(g.global_pool(x), 1000, 1)


def shufflenet(g, group=3):
    def layer(x, channels, kernel, stride=1, pad=0, groups=1):
        return g.batch_norm(g.conv(x, channels, kernel, stride, pad, groups, bias=False))

    def shuffle(x):
        n, c, h, w = g.shape[x]
        y = g.reshape(x, n, group, c // group, h, w)
        y = g.node('Transpose', [y], (n, c // group, group, h, w), perm=[0, 2, 1, 3, 4])
        return g.reshape(y, n, c, h, w)

    x = g.max_pool(g.relu(layer('data_0', 24, 3, 2, 1)), 3, 2, (0, 0, 1, 1))
    for channels, blocks in (240, 4), (480, 8), (960, 4):
        for k in range(blocks):
            stride, before = (2, g.shape[x][1]) if k == 0 else (1, 0)
            y = shuffle(g.relu(layer(x, channels // 4, 1, groups=group if before != 24 else 1)))
            y = layer(y, channels // 4, 3, stride, 1, groups=channels // 4)
            y = layer(y, channels - before, 1, groups=group)
            if k == 0:
                x = g.relu(g.concat(g.pool(x, 'AveragePool', 3, 2, (1, 1, 1, 1), count_include_pad=1), y))
            else:
                x = g.relu(g.node('Sum', [x, y], g.shape[x]))
    return head(g, g.pool(x, 'AveragePool', g.shape[x][2], 1), ())


NETWORKS = {f.__name__: f for f in (alexnet, densenet121, inception_v1, inception_v2, resnet50, shufflenet, squeezenet, vgg19, zfnet512)}


# ---- the same graph in PyTorch --------------------------------------------------------------------------------------------------

def pool_in_pytorch(op, x, a):
    top, left, bottom, right = a['pads']
    if op == 'MaxPool':
        return F.max_pool2d(F.pad(x, (left, right, top, bottom), value=-torch.inf), a['kernel_shape'], a['strides'])
    if (top, left) == (bottom, right):
        return F.avg_pool2d(x, a['kernel_shape'], a['strides'], (top, left), count_include_pad=bool(a.get('count_include_pad', 0)))
    raise NotImplementedError('AveragePool of uneven padding')


def infer_node(op, x, a):
    """One node in inference form: the statistics of the file, and Softmax, whose opset flattens to [N,D]."""
    if op == 'BatchNormalization':
        return F.batch_norm(x[0], x[3], x[4], x[1], x[2], training=False, eps=a['epsilon'])
    return F.softmax(x[0].flatten(1), 1).reshape(x[0].shape) if op == 'Softmax' else run_node(op, x, a)


def run_node(op, x, a):
    """One node in training form: batch statistics, no Dropout since its ratio is 0."""
    if op == 'Conv':
        return F.conv2d(*x, stride=a['strides'], padding=a['pads'][:2], groups=a['group'])
    if op in ('MaxPool', 'AveragePool'):
        return pool_in_pytorch(op, x[0], a)
    if op == 'Gemm':
        return F.linear(*x)
    if op == 'BatchNormalization':
        return F.batch_norm(x[0], None, None, x[1], x[2], training=True, eps=a['epsilon'])
    if op == 'LRN':
        return F.local_response_norm(x[0], a['size'], a['alpha'], a['beta'], a['bias'])
    plain = {'Relu': lambda: F.relu(x[0]), 'Dropout': lambda: x[0], 'Concat': lambda: torch.cat(x, 1), 'Sum': lambda: x[0] + x[1],
             'Mul': lambda: x[0] * x[1], 'Add': lambda: x[0] + x[1], 'Unsqueeze': lambda: x[0][:, None, None],
             'Reshape': lambda: x[0].reshape(tuple(int(d) for d in x[1])), 'Transpose': lambda: x[0].permute(a['perm']),
             'GlobalAveragePool': lambda: x[0].mean((2, 3), keepdim=True), 'Softmax': lambda: x[0]}  # the loss takes its operand
    return plain[op]()


def run_graph(model, parameters, data, run=run_node):
    values = dict(parameters, data_0=data)
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = run(node.op_type, [values[i] for i in node.input], attributes)
    return values[model.graph.output[0].name]


def train_in_pytorch(model, data, labels):
    parameters = {}
    for tensor in model.graph.initializer:
        value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
        trained = value.is_floating_point() and not re.search(r'_ri?[mv]v?$', tensor.name)
        parameters[tensor.name] = value.requires_grad_() if trained else value
    optimizer = torch.optim.SGD([p for p in parameters.values() if p.requires_grad], lr=LEARNING_RATE)
    losses = []
    for x, label in zip(data, labels):
        optimizer.zero_grad()
        scores = run_graph(model, parameters, torch.from_numpy(x)).flatten(1)
        loss = F.cross_entropy(scores, torch.from_numpy(label))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses), {name: p.detach().numpy() for name, p in parameters.items() if p.requires_grad}


# ---- stepc ---------------------------------------------------------------------------------------------------------------------

DRIVER = r'''
#include "net.h"
#include <stdio.h>
#include <stdlib.h>

static void *take(const char *path, size_t bytes)
{
    FILE *f = fopen(path, "rb");
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (f == NULL || p == NULL || fread(p, 1, bytes, f) != bytes)
        exit(3);
    fclose(f);
    return p;
}

int main(int argc, char **argv)
{
    net_state *const state = aligned_alloc(64, (sizeof *state + 63) / 64 * 64);
    net_arena *const arena = aligned_alloc(64, (sizeof *arena + 63) / 64 * 64);
    const int steps = atoi(argv[1]);
    const size_t image = (size_t)atol(argv[2]);
    const float *const data = take("data.bin", sizeof(float) * image * (size_t)steps);
    const int64_t *const target = take("target.bin", sizeof(int64_t) * (size_t)steps);
    (void)argc;
    stepc_status status = net_init(state, arena, 1);
    for (int i = 0; i < steps && status == STEPC_OK; i++) {
        float loss = 0;
        const net_step_inputs in = {.data_0 = data + (size_t)i * image, .target = target + i};
        const net_step_outputs out = {.loss = &loss};
        status = net_step(state, arena, &in, &out);
        printf("%.9g\n", (double)loss);
    }
    if (status == STEPC_OK) {
        FILE *const f = fopen("state.bin", "wb");
        if (f == NULL || fwrite(state, sizeof *state, 1, f) != 1 || fclose(f) != 0)
            return 4;
    }
    fprintf(stderr, "%s", status == STEPC_OK ? "" : stepc_status_text(status));
    return status != STEPC_OK;
}
'''


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f'{" ".join(map(str, words[:3]))} ...: {(done.stderr or done.stdout).strip()[:2000]}')
    return done.stdout


def write_tensor(path, name, array):
    with open(path, 'wb') as f:
        f.write(numpy_helper.from_array(array, name).SerializeToString())


def verify_with_stepc(stepc, model, x):
    """Both engines, the model as it is, against PyTorch."""
    parameters = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in model.graph.initializer}
    with torch.no_grad():
        y = run_graph(model, parameters, torch.from_numpy(x), infer_node).numpy()
    os.makedirs('case/test_data_set_0')
    os.symlink('../model.onnx', 'case/model.onnx')
    write_tensor('case/test_data_set_0/input_0.pb', 'data_0', x)
    write_tensor('case/test_data_set_0/output_0.pb', model.graph.output[0].name, y)
    call(stepc, 'verify', 'case', '--atol', float(1e-5 * np.abs(y).max()), '--timeout', 600)


def train_with_stepc(stepc, cc, image):
    call(stepc, 'check', 'model.onnx')
    call(stepc, 'prepare', 'model.onnx', '-o', 'train.onnx', '--loss', 'softmax-cross-entropy', '--optimizer', 'sgd',
         '--learning-rate', LEARNING_RATE)
    call(stepc, 'compile', 'train.onnx', '-o', 'net.c', '--standalone', '--weights', 'incbin')
    with open('driver.c', 'w') as f:
        f.write(DRIVER)
    call(cc, '-O1', '-march=native', '-fsanitize=undefined', '-fsanitize-undefined-trap-on-error', '-std=gnu99', '-w', 'driver.c', 'net.c', '-o', 'net')
    return np.array([float(line) for line in call('./net', STEPS, image).split()])


def members(header):
    """Name, elements and offset of the float members of the state, in order, as the header declares them."""
    text = re.search(r'typedef struct net_state \{(.*?)\} net_state;', open(header).read(), re.S).group(1)
    offset = 0
    for kind, name, sizes, comment in re.findall(r'^\s+(float|double|u?int\d+_t) (\w+)((?:\[\d+\])*);(.*)$', text, re.M):
        count = int(np.prod([int(n) for n in re.findall(r'\d+', sizes)])) if sizes else 1
        width = {'float': 4, 'double': 8}.get(kind) or int(re.search(r'\d+', kind).group()) // 8
        offset = (offset + width - 1) // width * width
        if kind == 'float':
            yield name, count, offset, comment
        offset += count * width


def check_weights(final, start):
    """The largest difference, as a part of how far PyTorch's parameter has moved, over all that lie row-major."""
    state = np.fromfile('state.bin', np.uint8)
    worst = ('', 0.0)
    for name, count, offset, comment in members('net.h'):
        if name not in final or 'columns' in comment or count != final[name].size:
            continue
        ours = state[offset:offset + 4 * count].view(np.float32).astype(float)
        theirs, before = final[name].reshape(-1).astype(float), start[name].reshape(-1).astype(float)
        moved = np.linalg.norm(theirs - before)
        if moved > 1e-6 * np.linalg.norm(before):  # else rounding
            worst = max(worst, (name, float(np.linalg.norm(ours - theirs) / moved)), key=lambda w: w[1])
    return worst


def try_network(name, stepc, cc, size):
    began = time.monotonic()
    g = Graph(size)
    model = g.model(NETWORKS[name](g))
    onnx.save(model, 'model.onnx')
    random = np.random.default_rng(1)
    data = random.standard_normal((STEPS, 1, 3, size, size)).astype(np.float32)
    labels = random.integers(1000, size=(STEPS, 1))
    data.tofile('data.bin')
    labels.astype(np.int64).tofile('target.bin')
    start = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    verify_with_stepc(stepc, model, data[0])
    theirs, final = train_in_pytorch(model, data, labels)
    ours = train_with_stepc(stepc, cc, data[0].size)
    off = np.abs(ours - theirs) / np.abs(theirs)
    weight, weight_off = check_weights(final, start)
    ok = len(ours) == STEPS and off[0] <= FIRST_TOLERANCE and off[1:].max() <= LATER_TOLERANCE
    print(f'{"PASS" if ok else "FAIL"} {name:<14} {time.monotonic() - began:6.1f} s  loss {theirs[0]:.6f} {theirs[-1]:.6f}, off by {off[0]:.1e} {off[-1]:.1e}; '
          f'weights off by {weight_off:.1e} of their change ({weight})', flush=True)
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('stepc')
    parser.add_argument('networks', nargs='*', metavar='NETWORK', help=f'of {", ".join(NETWORKS)} (default: all)')
    parser.add_argument('--cc', default='gcc')
    parser.add_argument('--size', type=int, default=224, help='of images; halves must be whole five times')
    options = parser.parse_intermixed_args()
    stepc, failed = os.path.abspath(options.stepc), 0
    torch.manual_seed(0)
    for name in options.networks or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                failed += not try_network(name, stepc, options.cc, options.size)
            except RuntimeError as e:
                print(f'FAIL {name:<14} {e}', flush=True)
                failed += 1
            os.chdir('/')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
