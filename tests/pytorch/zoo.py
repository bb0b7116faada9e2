"""The networks of docs/networks.md, for networks.py: torchvision's, ONNX's light ones, and small ones in plain torch.

Each is a Network: how it is made, what a batch looks like and how it is trained. Dropout and stochastic depth are off everywhere,
since no two programs drop the same.
"""
import dataclasses
import math

import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from torch import nn

import light

try:
    import torchvision
except ImportError:
    torchvision = None

CLASSES = 10


@dataclasses.dataclass
class Network:
    kind: str            # heading in the table
    name: str
    make: object         # () -> nn.Module
    batch: object        # (generator) -> inputs and target, a tuple
    setting: str         # of the batch, for the table
    loss: str = 'softmax-cross-entropy'
    rate: float = 0.01
    class_axis: int = 1
    inputs: tuple = ('x',)
    fixed: tuple = ()    # inputs that have no batch in axis 0
    light: bool = False  # exported by light.py, not by torch.onnx
    needs_torchvision: bool = False


def images(count, channels, *size, classes=CLASSES, per_pixel=False):
    target = (count, *size) if per_pixel else (count,)
    return lambda g: (torch.randn(count, channels, *size, generator=g), torch.randint(classes, target, generator=g))


def words(count, length, vocabulary, classes):
    return lambda g: (torch.randint(vocabulary, (count, length), generator=g), torch.randint(classes, (count,), generator=g))


# ---- torchvision ----------------------------------------------------------------------------------------------------------------

class OutOf(nn.Module):
    """The scores alone, of networks that return a dictionary."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)['out']


def of_torchvision():
    def make(function, **options):
        return lambda: getattr(torchvision.models, function)(weights=None, num_classes=CLASSES, **options)

    def segmentation(function):
        def build():
            return OutOf(getattr(torchvision.models.segmentation, function)(weights=None, weights_backbone=None, num_classes=CLASSES))
        return build

    def video(function):
        return lambda: getattr(torchvision.models.video, function)(weights=None, num_classes=CLASSES)

    def image_network(name, size=64, count=4, rate=0.01, **options):
        return Network('Images (torchvision)', name, make(name, **options), images(count, 3, size, size),
                       f'{count} x 3 x {size} x {size}', rate=rate, needs_torchvision=True)

    result = [image_network(name) for name in (
        'squeezenet1_1', 'resnet18', 'resnet50', 'resnext50_32x4d', 'wide_resnet50_2', 'densenet121', 'mobilenet_v2',
        'mobilenet_v3_small', 'mobilenet_v3_large', 'shufflenet_v2_x1_0', 'mnasnet1_0', 'efficientnet_b0', 'efficientnet_v2_s',
        'regnet_x_400mf', 'regnet_y_400mf', 'convnext_tiny', 'swin_t')]
    result.append(image_network('googlenet', aux_logits=False, init_weights=False))
    result.append(image_network('inception_v3', 96, aux_logits=False, init_weights=False))
    result.append(image_network('vit_b_16', image_size=64))
    # Their classifiers take 6 x 6 and 7 x 7 pixels.
    result.append(image_network('alexnet', 224))
    result.append(image_network('vgg11_bn', 224))
    for name in 'fcn_resnet50', 'deeplabv3_mobilenet_v3_large', 'lraspp_mobilenet_v3_large':
        result.append(Network('Segmentation (torchvision)', name, segmentation(name), images(4, 3, 64, 64, per_pixel=True),
                              '4 x 3 x 64 x 64', needs_torchvision=True))
    for name in 'r3d_18', 'mc3_18', 'r2plus1d_18':
        result.append(Network('Video (torchvision)', name, video(name), images(2, 3, 8, 56, 56), '2 x 3 x 8 x 56 x 56',
                              needs_torchvision=True))
    return result


# ---- ONNX's light networks ------------------------------------------------------------------------------------------------------

class Light(nn.Module):
    """A graph of light.py, its initializers as parameters."""

    def __init__(self, make):
        super().__init__()
        graph = light.Graph(224)
        self.model = graph.model(make(graph))
        self.names = {}  # a parameter may have no dot in its name
        for tensor in self.model.graph.initializer:
            value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
            self.names[tensor.name] = tensor.name.replace('.', '_')
            if value.is_floating_point() and not tensor.name.endswith(('_rm', '_riv')):
                self.register_parameter(self.names[tensor.name], nn.Parameter(value))
            else:
                self.register_buffer(self.names[tensor.name], value)
        self.name_in_model = {own: name for name, own in self.names.items()}

    def forward(self, x):
        values = {name: getattr(self, own) for name, own in self.names.items()}
        values['data_0'] = x
        for node in self.model.graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            values[node.output[0]] = light.run_node(node.op_type, [values[i] for i in node.input], attributes)
        return values[self.model.graph.output[0].name].flatten(1)


def of_onnx():
    return [Network("ONNX's light networks (opset 9)", f'light_{name}', lambda make=make: Light(make),
                    images(1, 3, 224, 224, classes=1000), '1 x 3 x 224 x 224', rate=light.LEARNING_RATE, inputs=('data_0',),
                    light=True) for name, make in light.NETWORKS.items()]


# ---- our own --------------------------------------------------------------------------------------------------------------------

def mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, CLASSES))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
                         nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, CLASSES))


class Attention(nn.Module):
    """Of several heads; `mask` says which keys a query may see."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.all, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask):
        n, t, width = x.shape
        q, k, v = (part.reshape(n, t, self.heads, width // self.heads).transpose(1, 2) for part in self.all(x).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)).masked_fill(~mask, float('-inf'))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class CharacterGPT(nn.Module):
    """Predicts each next character; the output layer shares its weights with the embedding."""

    def __init__(self, vocabulary=96, length=64, width=128, layers=4):
        super().__init__()
        self.word, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.word.weight
        nn.init.normal_(self.word.weight, std=0.05)

    def forward(self, x):
        t = x.shape[1]
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        y = self.word(x) + self.position(torch.arange(t))
        for block in self.blocks:
            y = block(y, mask)
        return self.head(self.norm(y))


class BertEncoder(nn.Module):
    """nn.TransformerEncoder over sentences that are filled up; `padding` is true where."""

    def __init__(self, vocabulary=500, length=32, width=128):
        super().__init__()
        self.word, self.position = nn.Embedding(vocabulary, width, padding_idx=0), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, activation='gelu', batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, CLASSES)

    def forward(self, x, padding):
        y = self.norm(self.word(x) + self.position(torch.arange(x.shape[1])))
        y = self.encoder(y, src_key_padding_mask=padding)
        return self.head(torch.tanh(self.pool(y[:, 0])))


def sentences(g):
    x, lengths = torch.randint(1, 500, (4, 32), generator=g), torch.randint(8, 33, (4, 1), generator=g)
    padding = torch.arange(32) >= lengths
    return x.masked_fill(padding, 0), padding, torch.randint(CLASSES, (4,), generator=g)


def twice(inner, outer):
    return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(),
                         nn.Conv2d(outer, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down = nn.ModuleList([twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.join = nn.ModuleList([twice(4 * width, 2 * width), twice(2 * width, width)])
        self.head = nn.Conv2d(width, CLASSES, 1)

    def forward(self, x):
        first = self.down[0](x)
        second = self.down[1](F.max_pool2d(first, 2))
        y = self.down[2](F.max_pool2d(second, 2))
        for up, join, skip in zip(self.up, self.join, (second, first)):
            y = join(torch.cat([up(y), skip], 1))
        return self.head(y)


def dcgan_generator(width=32):
    def layer(inner, outer, stride, padding):
        return [nn.ConvTranspose2d(inner, outer, 4, stride, padding, bias=False), nn.BatchNorm2d(outer), nn.ReLU()]

    return nn.Sequential(*layer(64, 4 * width, 1, 0), *layer(4 * width, 2 * width, 2, 1), *layer(2 * width, width, 2, 1),
                         nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())


def noise_and_images(g):
    return torch.randn(4, 64, 1, 1, generator=g), torch.rand(4, 3, 32, 32, generator=g)


class TextCNN(nn.Module):
    def __init__(self, vocabulary=1000, width=64):
        super().__init__()
        self.word = nn.Embedding(vocabulary, width)
        self.convs = nn.ModuleList(nn.Conv1d(width, 50, size) for size in (3, 4, 5))
        self.head = nn.Linear(150, CLASSES)

    def forward(self, x):
        y = self.word(x).transpose(1, 2)
        return self.head(torch.cat([F.relu(conv(y)).amax(2) for conv in self.convs], 1))


class TemporalBlock(nn.Module):
    def __init__(self, inner, outer, dilation):
        super().__init__()
        self.padding = 2 * dilation
        self.conv1 = nn.utils.weight_norm(nn.Conv1d(inner, outer, 3, padding=self.padding, dilation=dilation))
        self.conv2 = nn.utils.weight_norm(nn.Conv1d(outer, outer, 3, padding=self.padding, dilation=dilation))
        self.skip = nn.Conv1d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x):
        y = x
        for conv in self.conv1, self.conv2:
            y = F.relu(conv(y)[:, :, :-self.padding])
        return F.relu(y + self.skip(x))


class TCN(nn.Module):
    """Causal, dilated convolutions with weight_norm."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(TemporalBlock(4, 32, 1), TemporalBlock(32, 32, 2), TemporalBlock(32, 32, 4))
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x):
        return self.head(self.blocks(x)[:, :, -1])


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ELU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ELU(), nn.Flatten(),
                                     nn.Linear(1568, 32), nn.Linear(32, 1568))
        self.decoder = nn.Sequential(nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ELU(), nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x).view(-1, 32, 7, 7))


def pictures_twice(g):
    x = torch.rand(4, 1, 28, 28, generator=g)
    return x, x.clone()


class GraphNetwork(nn.Module):
    """Graph convolution: each node takes the mean of its neighbours, summed along the edges by scatter_add."""

    def __init__(self, features=32, width=64):
        super().__init__()
        sizes = (features, width, width, CLASSES)
        self.own = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.neighbour = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        degree = torch.zeros(x.shape[0], dtype=x.dtype).scatter_add(0, target, torch.ones(edges.shape[1], dtype=x.dtype)) + 1
        for i, (own, neighbour) in enumerate(zip(self.own, self.neighbour)):
            message = neighbour(x)[source]
            index = target[:, None].expand(-1, message.shape[1])
            mean = torch.zeros(x.shape[0], message.shape[1], dtype=x.dtype).scatter_add(0, index, message) / degree[:, None]
            x = own(x) + mean
            if i < 2:
                x = F.relu(x)
        return x


def graphs(g):
    return torch.randn(64, 32, generator=g), torch.randint(64, (2, 256), generator=g), torch.randint(CLASSES, (64,), generator=g)


class DLRM(nn.Module):
    """Recommendation: bags of categories, products of all pairs of features."""

    def __init__(self, rows=1000, width=16, tables=3):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode='sum') for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + 6, 64), nn.ReLU(), nn.Linear(64, 1))
        first, second = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer('first', first)
        self.register_buffer('second', second)

    def forward(self, x, categories):
        dense = self.bottom(x)
        parts = torch.stack([dense, *(table(categories[:, i]) for i, table in enumerate(self.tables))], 1)
        pairs = (parts @ parts.transpose(1, 2))[:, self.first, self.second]
        return self.top(torch.cat([dense, pairs], 1))


def clicks(g):
    return (torch.randn(16, 13, generator=g), torch.randint(1000, (16, 3, 4), generator=g),
            torch.randint(2, (16, 1), generator=g).float())


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.word, self.rnn, self.head = nn.Embedding(100, 32), cell(32, 64, batch_first=True), nn.Linear(64, CLASSES)

    def forward(self, x):
        return self.head(self.rnn(self.word(x))[0][:, -1])


class Siren(nn.Module):
    """A picture as a function of its coordinates: layers of sines."""

    def __init__(self, width=128):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, width)])
        self.head = nn.Linear(width, 3)
        nn.init.uniform_(self.layers[0].weight, -1 / 2, 1 / 2)
        for layer in [*self.layers[1:], self.head]:
            bound = math.sqrt(6 / width) / 30
            nn.init.uniform_(layer.weight, -bound, bound)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sin(30 * layer(x))
        return self.head(x)


class NeRF(nn.Module):
    """A scene as a function of place, along rays: sines of many frequencies, and how much light comes through."""

    def __init__(self, points=32, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3 + 3 * 2 * 6, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))
        self.register_buffer('t', torch.linspace(2, 6, points))

    def forward(self, x, direction):
        t = self.t
        place = x[:, None] + direction[:, None] * t[None, :, None]
        y = self.net(torch.cat([place] + [f(place * 2.0 ** k) for k in range(6) for f in (torch.sin, torch.cos)], -1))
        alpha = 1 - torch.exp(-F.softplus(y[..., 3]) * (t[1] - t[0]))
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        return ((alpha * through)[..., None] * torch.sigmoid(y[..., :3])).sum(1)


def rays(g):
    return torch.randn(64, 3, generator=g), torch.randn(64, 3, generator=g), torch.rand(64, 3, generator=g)


class Mamba(nn.Module):
    """A selective state space; its loop over time is unrolled by the export."""

    def __init__(self, features=3, width=32, inner=64, states=16):
        super().__init__()
        self.inner, self.states = inner, states
        self.first, self.project = nn.Linear(features, width), nn.Linear(width, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.select, self.time = nn.Linear(inner, 4 + 2 * states, bias=False), nn.Linear(4, inner)
        self.log_a = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(inner, 1))
        self.skip, self.out, self.head = nn.Parameter(torch.ones(inner)), nn.Linear(inner, width, bias=False), nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.first(x)
        y, gate = self.project(x).chunk(2, -1)
        y = F.silu(self.conv(y.transpose(1, 2))[:, :, :x.shape[1]].transpose(1, 2))
        step, b, c = self.select(y).split([4, self.states, self.states], -1)
        step = F.softplus(self.time(step))
        decay = torch.exp(step[..., None] * -torch.exp(self.log_a))
        enters = (step * y)[..., None] * b[:, :, None]
        state, outputs = torch.zeros_like(enters[:, 0]), []
        for t in range(x.shape[1]):
            state = decay[:, t] * state + enters[:, t]
            outputs.append((state * c[:, t, None]).sum(-1))
        y = (torch.stack(outputs, 1) + y * self.skip) * F.silu(gate)
        return self.head((x + self.out(y)).mean(1))


class EdgeConvolution(nn.Module):
    """DGCNN: each point of a cloud takes the largest of what its nearest neighbours say."""

    def __init__(self, width=32, neighbours=20):
        super().__init__()
        self.neighbours = neighbours
        self.conv = nn.Sequential(nn.Conv2d(6, width, 1, bias=False), nn.BatchNorm2d(width), nn.LeakyReLU(0.2))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        n, channels, points = x.shape
        square = (x * x).sum(1, keepdim=True)
        near = (2 * x.transpose(1, 2) @ x - square - square.transpose(1, 2)).topk(self.neighbours, -1).indices
        others = x[:, :, None].expand(-1, -1, points, -1).gather(3, near[:, None].expand(-1, channels, -1, -1))
        own = x[..., None].expand_as(others)
        return self.head(self.conv(torch.cat([others - own, own], 1)).amax(3).amax(2))


def of_our_own():
    text = words(4, 32, 100, CLASSES)
    return [
        Network('Small networks', 'mlp', mlp, lambda g: (torch.randn(32, 64, generator=g), torch.randint(CLASSES, (32,), generator=g)),
                '32 x 64', rate=0.1),
        Network('Small networks', 'lenet', lenet, images(4, 1, 28, 28), '4 x 1 x 28 x 28', rate=0.1),
        Network('Small networks', 'autoencoder', Autoencoder, pictures_twice, '4 x 1 x 28 x 28', 'mse', rate=0.5),
        Network('Small networks', 'unet', UNet, images(4, 3, 32, 32, per_pixel=True), '4 x 3 x 32 x 32'),
        Network('Small networks', 'dcgan_generator', dcgan_generator, noise_and_images, '4 x 64', 'mse', rate=0.1),
        Network('Small networks', 'siren', Siren, lambda g: (torch.rand(1024, 2, generator=g) * 2 - 1, torch.rand(1024, 3, generator=g)),
                '1024 x 2', 'mse', rate=0.01),
        Network('Small networks', 'nerf', NeRF, rays, '64 rays, 32 points', 'mse', rate=0.1, inputs=('x', 'direction')),
        Network('Sequences and text', 'character_gpt', CharacterGPT,
                lambda g: (torch.randint(96, (4, 64), generator=g), torch.randint(96, (4, 64), generator=g)), '4 x 64 characters',
                rate=0.05, class_axis=-1),
        Network('Sequences and text', 'bert_encoder', BertEncoder, sentences, '4 x 32 words', rate=0.05, inputs=('x', 'padding')),
        Network('Sequences and text', 'text_cnn', TextCNN, words(4, 40, 1000, CLASSES), '4 x 40 words', rate=0.1),
        Network('Sequences and text', 'tcn', TCN, images(4, 4, 64), '4 x 4 x 64', rate=0.1),
        Network('Sequences and text', 'lstm_classifier', lambda: Recurrent(nn.LSTM), text, '4 x 32 words', rate=0.1),
        Network('Sequences and text', 'gru_classifier', lambda: Recurrent(nn.GRU), text, '4 x 32 words', rate=0.1),
        Network('Sequences and text', 'mamba',
                Mamba, lambda g: (torch.randn(8, 64, 3, generator=g), torch.randint(CLASSES, (8,), generator=g)), '8 x 64 x 3', rate=0.1),
        Network('Graphs and recommendation', 'dgcnn', EdgeConvolution,
                lambda g: (torch.randn(8, 3, 256, generator=g), torch.randint(CLASSES, (8,), generator=g)), '8 x 256 points', rate=0.1),
        Network('Graphs and recommendation', 'graph_convolution', GraphNetwork, graphs, '64 nodes, 256 edges', rate=0.1,
                inputs=('x', 'edges'), fixed=('edges',)),
        Network('Graphs and recommendation', 'dlrm', DLRM, clicks, '16 x (13 numbers, 3 x 4 categories)', 'bce-logits', rate=0.1,
                inputs=('x', 'categories')),
    ]


NETWORKS = of_our_own() + of_torchvision() + of_onnx()
