"""The workloads of the benchmark: each network once, in PyTorch. From here come the ONNX file that stepc compiles, the network
that PyTorch trains, and the number of floating-point operations.

A workload is a row of WORKLOADS. SHAPES holds further shapes of the same kinds, which must not fall behind their sibling.
"""
import io

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode


class Workload:
    """name; network: a function of the options that returns an nn.Module; inputs: [(name, shape, classes or None for floats)];
    classes of the target; optimizer: sgd, momentum, adam, adamw; rate; class_axis of the loss."""

    def __init__(self, name, title, network, inputs, target, classes, optimizer, rate, class_axis=1, sibling=None):
        self.name, self.title, self.network, self.inputs, self.target, self.classes = name, title, network, inputs, target, classes
        self.optimizer, self.rate, self.class_axis, self.sibling = optimizer, rate, class_axis, sibling

    def module(self):
        torch.manual_seed(0)
        return self.network()

    def random_inputs(self):
        return [torch.rand(shape) if bound is None else torch.randint(bound, shape) for _, shape, bound in self.inputs]

    def random_target(self):
        return torch.randint(self.classes, self.target)

    def loss(self, output, target):
        return F.cross_entropy(output.reshape(-1, self.classes), target.reshape(-1))

    def is_convolutional(self):
        return any(len(shape) == 4 for _, shape, _ in self.inputs)


# ---- networks ---------------------------------------------------------------------------------------------------------


def mlp(widths):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def lenet(size, channels, kernel, widths):
    side = (size // 2 - kernel + 1) // 2
    return nn.Sequential(
        nn.Conv2d(1, channels[0], kernel, padding=kernel // 2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(channels[0], channels[1], kernel), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(channels[1] * side * side, widths[0]), nn.ReLU(), nn.Linear(widths[0], widths[1]), nn.ReLU(),
        nn.Linear(widths[1], 10))


def ds_cnn(channels, kernel=3, stride=1, first=(10, 4)):
    """MLPerf Tiny, keyword spotting: a convolution 10x4 of stride 2, then four blocks of depthwise and pointwise convolution."""
    def normalized(*conv):
        return [nn.Conv2d(*conv[:-1], bias=False, **conv[-1]), nn.BatchNorm2d(conv[1]), nn.ReLU()]
    layers = normalized(1, channels, first, dict(stride=2, padding=(first[0] // 2, 1)))
    for block in range(4):
        layers += normalized(channels, channels, kernel, dict(padding=kernel // 2, groups=channels, stride=stride if block == 0 else 1))
        layers += normalized(channels, channels, 1, {})
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 12))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride, groups):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, groups=groups, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, groups=groups, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.skip = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.skip(x))


def resnet8(channels, groups=1):
    """MLPerf Tiny, image classification: three stages of one residual block."""
    return nn.Sequential(
        nn.Conv2d(3, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
        Residual(channels, channels, 1, groups), Residual(channels, 2 * channels, 2, groups),
        Residual(2 * channels, 4 * channels, 2, groups), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * channels, 10))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.m_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer('mask', torch.ones(context, context).tril().bool().view(1, 1, context, context), persistent=False)

    def forward(self, x):
        batch, context, width = x.shape
        q, k, v = (part.reshape(batch, context, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.c_attn(self.ln_1(x)).split(width, 2))
        scores = (q @ k.transpose(2, 3)) * (width // self.heads) ** -0.5
        weights = torch.softmax(scores.masked_fill(~self.mask, float('-inf')), 3)
        x = x + self.c_proj((weights @ v).transpose(1, 2).reshape(batch, context, width))
        return x + self.m_proj(F.gelu(self.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    """GPT-2's form: learned positions, norms first, the embedding is also the output layer."""

    def __init__(self, layers, width, heads, context, vocabulary):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads, context) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.register_buffer('position', torch.arange(context), persistent=False)
        for embedding in self.wte, self.wpe:
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(self.position)
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


# ---- the tables -------------------------------------------------------------------------------------------------------


def mlp_row(name, title, widths, batch, **more):
    return Workload(name, title, lambda: mlp(widths), [('x', (batch, widths[0]), None)], (batch,), widths[-1], 'sgd', 0.01, **more)


def lenet_row(name, title, batch=32, size=28, channels=(6, 16), kernel=5, widths=(120, 84), **more):
    return Workload(name, title, lambda: lenet(size, channels, kernel, widths), [('x', (batch, 1, size, size), None)], (batch,), 10,
                    'adam', 0.001, **more)


def ds_cnn_row(name, title, batch=16, image=(49, 10), channels=64, kernel=3, stride=1, **more):
    return Workload(name, title, lambda: ds_cnn(channels, kernel, stride), [('x', (batch, 1, *image), None)], (batch,), 12, 'momentum', 0.01,
                    **more)


def resnet8_row(name, title, batch=16, size=32, channels=16, groups=1, **more):
    return Workload(name, title, lambda: resnet8(channels, groups), [('x', (batch, 3, size, size), None)], (batch,), 10, 'momentum', 0.01,
                    **more)


def gpt_row(name, title, batch=8, layers=4, width=128, heads=4, context=64, vocabulary=65, **more):
    return Workload(name, title, lambda: GPT(layers, width, heads, context, vocabulary), [('tokens', (batch, context), vocabulary)],
                    (batch, context), vocabulary, 'adamw', 0.001, class_axis=-1, **more)


WORKLOADS = [
    mlp_row('mlp', 'MLP 64-32-10, batch 32, SGD', (64, 32, 10), 32),
    lenet_row('lenet', 'LeNet 28x28, batch 32, Adam'),
    ds_cnn_row('dscnn', 'DS-CNN 49x10, 64 channels, batch 16, momentum'),
    resnet8_row('resnet8', 'ResNet-8 32x32, batch 16, momentum'),
    gpt_row('gpt', 'GPT, 4 layers x 128, context 64, batch 8, AdamW'),
    mlp_row('mlp2048', 'MLP 784-2048-2048-10, batch 128, SGD', (784, 2048, 2048, 10), 128),
]
SHAPES = [
    mlp_row('mlp_odd', 'MLP 63-31-7, batch 29', (63, 31, 7), 29, sibling='mlp'),
    mlp_row('mlp_one', 'MLP 64-32-10, batch 1', (64, 32, 10), 1, sibling='mlp'),
    mlp_row('mlp_deep', 'MLP 100-200-200-200-10, batch 64', (100, 200, 200, 200, 10), 64, sibling='mlp'),
    mlp_row('mlp_narrow', 'MLP 16-8-2, batch 256', (16, 8, 2), 256, sibling='mlp'),
    lenet_row('lenet_one', 'LeNet, batch 1', batch=1, sibling='lenet'),
    lenet_row('lenet_3x3', 'LeNet with 3x3 filters', kernel=3, sibling='lenet'),
    lenet_row('lenet_wide', 'LeNet, 8 and 24 channels, 32x32', size=32, channels=(8, 24), sibling='lenet'),
    lenet_row('lenet_odd', 'LeNet, 5 and 13 channels, batch 7', batch=7, channels=(5, 13), widths=(101, 53), sibling='lenet'),
    ds_cnn_row('dscnn_odd', 'DS-CNN, 51 channels', channels=51, sibling='dscnn'),
    ds_cnn_row('dscnn_5x5', 'DS-CNN, depthwise 5x5', kernel=5, sibling='dscnn'),
    ds_cnn_row('dscnn_stride2', 'DS-CNN, a depthwise stride of 2', stride=2, sibling='dscnn'),
    ds_cnn_row('dscnn_wide', 'DS-CNN, 128 channels, batch 4', channels=128, batch=4, sibling='dscnn'),
    ds_cnn_row('dscnn_one', 'DS-CNN, batch 1', batch=1, sibling='dscnn'),
    resnet8_row('resnet8_groups', 'ResNet-8, 4 groups', groups=4, sibling='resnet8'),
    resnet8_row('resnet8_odd', 'ResNet-8, 12 channels, 31x31', channels=12, size=31, sibling='resnet8'),
    resnet8_row('resnet8_wide', 'ResNet-8, 32 channels, batch 4', channels=32, batch=4, sibling='resnet8'),
    resnet8_row('resnet8_one', 'ResNet-8, batch 1', batch=1, sibling='resnet8'),
    gpt_row('gpt_long', 'GPT, context 256, batch 2', context=256, batch=2, sibling='gpt'),
    gpt_row('gpt_odd', 'GPT, width 96, 3 heads, context 50', width=96, heads=3, context=50, sibling='gpt'),
    gpt_row('gpt_one', 'GPT, batch 1', batch=1, sibling='gpt'),
    gpt_row('gpt_words', 'GPT, vocabulary 1000, 2 layers x 192', vocabulary=1000, layers=2, width=192, heads=6, sibling='gpt'),
    mlp_row('mlp2048_one', 'MLP 784-2048-2048-10, batch 1', (784, 2048, 2048, 10), 1, sibling='mlp2048'),
    mlp_row('mlp2048_odd', 'MLP 777-1001-999-10, batch 127', (777, 1001, 999, 10), 127, sibling='mlp2048'),
    mlp_row('mlp2048_small', 'MLP 784-512-512-10, batch 128', (784, 512, 512, 10), 128, sibling='mlp2048'),
]


# ---- ONNX -------------------------------------------------------------------------------------------------------------


def export(workload, path):
    """Unfolded, so that every weight keeps its name; batch normalization in its training form."""
    stream = io.BytesIO()
    torch.onnx.export(workload.module(), tuple(workload.random_inputs()), stream, input_names=[name for name, _, _ in workload.inputs],
                      output_names=['output'], opset_version=17, do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING,
                      verbose=False)
    with open(path, 'wb') as file:
        file.write(stream.getvalue())


def tensors_in(x):
    return [x] if isinstance(x, torch.Tensor) else [t for y in x for t in tensors_in(y)] if isinstance(x, (tuple, list)) else []


class CountProducts(TorchDispatchMode):
    """Counts the floating-point operations of the matrix products and convolutions that PyTorch calls, backwards too, and the longest
    chain of multiply-adds of which each needs the one before: the terms of sums, from one product to those that read its result."""

    BLOCK = 80  # terms of a matrix product added in one go (docs/numerics.md); the sums of blocks are added in their order

    def __init__(self):
        super().__init__()
        self.flops, self.chain, self.ends, self.kept = 0, 0, {}, []

    def follow(self, arguments, results, terms):
        """Each result comes `terms` (one number for each) after the last argument."""
        begin = max([self.ends.get(t.storage().data_ptr(), 0) for t in tensors_in(arguments)], default=0)
        for t, count in zip(results, terms):
            if t is not None:
                key = t.storage().data_ptr()
                self.ends[key] = max(self.ends.get(key, 0), begin + count)
                self.chain = max(self.chain, self.ends[key])
                self.kept.append(t)  # so that no other tensor gets its address

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        results = result if isinstance(result, (tuple, list)) else [result]
        terms = [0] * len(results)
        name = function.overloadpacket.__name__
        if name in ('mm', 'bmm', 'addmm'):
            depth = arguments[1 if name == 'addmm' else 0].shape[-1]
            self.flops += 2 * result.numel() * depth
            terms = [min(depth, self.BLOCK) + (depth - 1) // self.BLOCK]
        elif name == 'convolution':  # for each element of the result, the filter of its group
            self.flops += 2 * result.numel() * arguments[1][0].numel()
            terms = [arguments[1][0].numel()]
        elif name == 'convolution_backward':  # gradients of input, filters, bias: those that are wanted
            d_output, filters, wanted, groups = arguments[0], arguments[2], arguments[10], arguments[9]
            self.flops += 2 * d_output.numel() * filters[0].numel() * (wanted[0] + wanted[1])
            terms = [filters[:, 0].numel() // groups, d_output[0, 0].numel() + len(d_output) - 1, 0]
        elif 'mm' in name or 'conv' in name or name in ('dot', 'mv', 'linear'):
            raise ValueError(f'a product that is not counted: {name}')
        self.follow(arguments, [t if isinstance(t, torch.Tensor) else None for t in results], terms)
        return result


def step_work(workload):
    """(operations, chain) of a training step, counted from the model. Operations: two floating-point ones for each multiply-add of its
    convolutions and matrix products, forwards and for each gradient that a weight needs. Chain: how many of these multiply-adds must
    wait for each other. All else (activations, norms, softmax, the optimizer) is not counted: limits are what cannot be avoided."""
    network = workload.module().train()
    inputs, target = workload.random_inputs(), workload.random_target()
    with CountProducts() as count:
        workload.loss(network(*inputs), target).backward()
    return count.flops, count.chain


def weight_bytes(workload):
    """Bytes of the weights, all of which a forward pass reads (each embedding is added or multiplied as a whole, too)."""
    return 4 * sum(weight.numel() for weight in workload.module().parameters())


def input_bytes(workload):
    """Bytes of one batch: the inputs and the target."""
    total = 0
    for _, shape, bound in workload.inputs + [('target', workload.target, workload.classes)]:
        total += torch.Size(shape).numel() * (4 if bound is None else 8)
    return total


def find(name):
    return next(w for w in WORKLOADS + SHAPES if w.name == name)
