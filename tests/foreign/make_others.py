#!/usr/bin/env python3
"""usage: make_others.py STATE.safetensors FOLDER

Checkpoints as TensorFlow, Keras and flax would have written them of a state that `stepc run --save` wrote, of adam.pt:
neither is needed. Written from the descriptions of the formats, without a look at how stepc reads them:
leveldb/doc/table_format.md, tensor_bundle.proto, trackable_object_graph.proto, flax/serialization.py.

    keras/            tf.train.Checkpoint(model, optimizer) of Keras to 2.10: slots below their variables, two data files
    saved_model/      of Keras from 2.11: the optimizer has lists
    saver/            tf.train.Saver: names of variables
    flax.msgpack      to_bytes(TrainState), optax.adam
    seed/, seed.msgpack   what the fuzzers begin with: weights of tests/fuzz/small_net.h
"""
import json
import struct
import sys
from pathlib import Path

LAYERS = {'0': 'dense', '2': 'dense_1', '4': 'dense_2'}
STEPS = 10
RATE = 0.02


def read_safetensors(path):
    """{name: (shape, floats)}"""
    data = Path(path).read_bytes()
    n, = struct.unpack('<Q', data[:8])
    tensors = {}
    for name, t in json.loads(data[8:8 + n]).items():
        if name != '__metadata__' and t['dtype'] == 'F32':
            begin, end = (8 + n + x for x in t['data_offsets'])
            tensors[name] = t['shape'], struct.unpack(f'<{(end - begin) // 4}f', data[begin:end])
    return tensors


def turned(tensor):
    """A matrix the other way round: kernels are [inputs, outputs] there."""
    shape, x = tensor
    if len(shape) != 2:
        return tensor
    rows, columns = shape
    return [columns, rows], tuple(x[i * columns + k] for k in range(columns) for i in range(rows))


def variables(state):
    """[(name, value, mean, mean of squares)] in the order of the network"""
    found = []
    for theirs, ours in LAYERS.items():
        for part, kind in ('weight', 'kernel'), ('bias', 'bias'):
            name = f'{theirs}.{part}'
            found.append((f'{ours}/{kind}', *(turned(state[x]) for x in (name, f'optimizer.state.{name}.exp_avg',
                                                                         f'optimizer.state.{name}.exp_avg_sq'))))
    return found


# ---- protocol buffers -----------------------------------------------------------------------------------------------

def varint(x):
    out = b''
    while x > 127:
        out += bytes([x & 127 | 128])
        x >>= 7
    return out + bytes([x])


def number(field, x):
    return varint(field << 3) + varint(x) if x else b''


def message(field, x):
    x = x.encode() if isinstance(x, str) else x
    return varint(field << 3 | 2) + varint(len(x)) + x


# ---- tables ---------------------------------------------------------------------------------------------------------

def crc32c(data, crc=0):
    crc ^= 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def block(entries, interval):
    out, restarts, last = b'', [], b''
    for i, (key, value) in enumerate(entries):
        shared = 0
        if i % interval == 0:
            restarts.append(len(out))
        else:
            while shared < min(len(key), len(last)) and key[shared] == last[shared]:
                shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    restarts = restarts or [0]
    return out + struct.pack(f'<{len(restarts) + 1}I', *restarts, len(restarts))


def table(entries, per_block):
    """Blocks of so many entries, an empty block of what is about the table, the index of the blocks, the footer."""
    out, index = b'', []

    def put(content):
        nonlocal out
        handle = varint(len(out)) + varint(len(content))
        out += content + b'\0' + struct.pack('<I', masked(crc32c(content + b'\0')))
        return handle

    for i in range(0, len(entries), per_block):
        part = entries[i:i + per_block]
        index.append((part[-1][0], put(block(part, 16))))
    footer = put(block([], 16)) + put(block(index, 1))
    return out + footer.ljust(40, b'\0') + struct.pack('<Q', 0xdb4775248b80fb57)


# ---- bundles --------------------------------------------------------------------------------------------------------

FLOAT, STRING, INT64 = 1, 7, 9


def floats(tensor):
    shape, x = tensor
    return FLOAT, shape, struct.pack(f'<{len(x)}f', *x)


def write_bundle(prefix, tensors, shards=1, per_block=1000):
    """tensors: {key: (type, shape, bytes)}, of STRING the bytes of the only one"""
    files = [b''] * shards
    entries = [(b'', number(1, shards) + message(3, number(1, 1)))]
    for i, key in enumerate(sorted(tensors)):
        kind, shape, data = tensors[key]
        crc = crc32c(data)
        if kind == STRING:
            length = struct.pack('<I', len(data))
            check = struct.pack('<I', masked(crc32c(length)))
            crc = crc32c(length + check + data)
            data = varint(len(data)) + check + data
        shard = i % shards
        entries.append((key.encode(), number(1, kind) + message(2, b''.join(message(2, number(1, x)) for x in shape)) +
                        number(3, shard) + number(4, len(files[shard])) + number(5, len(data)) +
                        varint(6 << 3 | 5) + struct.pack('<I', masked(crc))))
        files[shard] += data
    Path(f'{prefix}.index').write_bytes(table(entries, per_block))
    for i, data in enumerate(files):
        Path(f'{prefix}.data-{i:05}-of-{shards:05}').write_bytes(data)


# ---- objects --------------------------------------------------------------------------------------------------------

VALUE = '/.ATTRIBUTES/VARIABLE_VALUE'


class Objects:
    """A graph of objects: nodes with children by name, and values."""

    def __init__(self):
        self.nodes = []

    def add(self, children=(), key=None, full=''):
        self.nodes.append((dict(children), key, full))
        return len(self.nodes) - 1

    def bytes(self):
        out = b''
        for children, key, full in self.nodes:
            node = b''.join(message(1, number(1, i) + message(2, name)) for name, i in children.items())
            if key:
                node += message(2, message(1, 'VARIABLE_VALUE') + message(2, full) + message(3, key + VALUE))
            out += message(1, node)
        return out


def layer_path(name):
    layer, kind = name.split('/')
    return f'layer_with_weights-{list(LAYERS.values()).index(layer)}/{kind}'


def int64(x):
    return INT64, [], struct.pack('<q', x)


def scalar(x):
    return floats(([], (x,)))


def write_keras(folder, variables_):
    tensors, graph = {}, Objects()
    root = graph.add()
    for name, value, mean, square in variables_:
        path = f'model/{layer_path(name)}'
        graph.add(key=path, full=f'sequential/{name}')
        tensors[path + VALUE] = floats(value)
        for slot, x in ('m', mean), ('v', square):
            tensors[f'{path}/.OPTIMIZER_SLOT/optimizer/{slot}{VALUE}'] = floats(x)
    numbers = {'iter': int64(STEPS), 'beta_1': scalar(0.9), 'beta_2': scalar(0.999), 'decay': scalar(0),
               'learning_rate': scalar(RATE)}
    graph.nodes[root] = ({'optimizer': graph.add({x: graph.add(key=f'optimizer/{x}', full=f'Adam/{x}') for x in numbers})},
                         None, '')
    tensors |= {f'optimizer/{x}{VALUE}': t for x, t in numbers.items()}
    tensors['save_counter' + VALUE] = int64(1)
    tensors['_CHECKPOINTABLE_OBJECT_GRAPH'] = STRING, [], graph.bytes()
    folder.mkdir(exist_ok=True)
    write_bundle(folder / 'ckpt-10', tensors, shards=2, per_block=7)
    (folder / 'checkpoint').write_text('model_checkpoint_path: "ckpt-10"\nall_model_checkpoint_paths: "ckpt-10"\n')


def write_saved_model(folder, variables_):
    tensors, graph, kept = {}, Objects(), {'_momentums': [], '_velocities': []}
    root = graph.add()
    counters = {'_iterations': int64(STEPS), '_learning_rate': scalar(RATE)}
    children = {x: graph.add(key=f'optimizer/{x}', full=x.strip('_')) for x in counters}
    everything = [children['_iterations']]
    for name, value, mean, square in variables_:
        graph.add(key=layer_path(name), full=name)
        tensors[layer_path(name) + VALUE] = floats(value)
        for slot, place, x in ('m', '_momentums', mean), ('v', '_velocities', square):
            key = f'optimizer/_variables/{len(everything)}'
            everything.append(graph.add(key=key, full=f'Adam/{slot}/{name}'))
            kept[place].append(everything[-1])
            tensors[key + VALUE] = floats(x)
    for name, items in [('_variables', everything), *kept.items()]:
        children[name] = graph.add({str(i): x for i, x in enumerate(items)})
    graph.nodes[root] = {'optimizer': graph.add(children)}, None, ''
    tensors |= {f'optimizer/{x}{VALUE}': t for x, t in counters.items()}
    tensors['keras_api/metrics/0/total' + VALUE] = scalar(0.5)
    tensors['_CHECKPOINTABLE_OBJECT_GRAPH'] = STRING, [], graph.bytes()
    (folder / 'variables').mkdir(parents=True, exist_ok=True)
    write_bundle(folder / 'variables/variables', tensors)


def write_saver(folder, variables_):
    tensors = {'global_step': int64(STEPS), 'beta1_power': scalar(0.9 ** 11), 'beta2_power': scalar(0.999 ** 11)}
    for name, value, mean, square in variables_:
        tensors |= {name: floats(value), f'{name}/Adam': floats(mean), f'{name}/Adam_1': floats(square)}
    folder.mkdir(exist_ok=True)
    write_bundle(folder / 'model.ckpt-10', tensors)


# ---- flax -----------------------------------------------------------------------------------------------------------

def packed(x):
    """MessagePack: maps of texts, lists, integers, bytes, and arrays as flax has them, (shape, floats)."""
    def sized(small, limit, wide, n):
        if n < limit:
            return bytes([small + n])
        return bytes([wide]) + struct.pack('>B' if wide in (0xc4, 0xc7, 0xd9) else '>H', n)

    if isinstance(x, dict):
        return sized(0x80, 16, 0xde, len(x)) + b''.join(packed(k) + packed(v) for k, v in x.items())
    if isinstance(x, list):
        return sized(0x90, 16, 0xdc, len(x)) + b''.join(map(packed, x))
    if isinstance(x, str):
        return sized(0xa0, 32, 0xd9, len(x)) + x.encode()
    if isinstance(x, bytes):
        return sized(0, 0, 0xc4 if len(x) < 256 else 0xc5, len(x)) + x
    if isinstance(x, int):
        return bytes([x]) if x < 128 else b'\xcd' + struct.pack('>H', x)
    shape, values = x
    kind, code = ('int32', 'i') if isinstance(values[0], int) else ('float32', 'f')
    content = packed([list(shape), kind, struct.pack(f'<{len(values)}{code}', *values)])
    return sized(0, 0, 0xc7 if len(content) < 256 else 0xc8, len(content)) + b'\1' + content


def tree(pairs):
    out = {}
    for name, x in pairs:
        layer, kind = name.split('/')
        out.setdefault(layer.replace('dense_', 'Dense_').replace('dense', 'Dense_0'), {})[kind] = x
    return out


def write_flax(path, variables_):
    mean, square = (tree((v[0], v[i]) for v in variables_) for i in (2, 3))
    state = {'step': STEPS, 'params': tree((v[0], v[1]) for v in variables_),
             'opt_state': {'0': {'count': ([], (STEPS,)), 'mu': mean, 'nu': square}, '1': {}}}
    path.write_bytes(packed(state))


def write_seeds(folder):
    values = [('b', ([3], (1.0, 2.0, 3.0))), ('w', ([2, 3], (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)))]
    write_saver(folder / 'seed', [(name, x, x, x) for name, x in values])
    state = {'params': dict(values), 'opt_state': {'0': {'count': ([], (3,)), 'mu': dict(values), 'nu': dict(values)}}, 'step': 3}
    (folder / 'seed.msgpack').write_bytes(packed(state))


def main():
    state, folder = variables(read_safetensors(sys.argv[1])), Path(sys.argv[2])
    write_keras(folder / 'keras', state)
    write_saved_model(folder / 'saved_model', state)
    write_saver(folder / 'saver', state)
    write_flax(folder / 'flax.msgpack', state)
    write_seeds(folder)


main()
