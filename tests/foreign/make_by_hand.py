#!/usr/bin/env python3
"""Writes checkpoints as torch.save would, without PyTorch: what make.py's do not have.

usage: make_by_hand.py FOLDER

lightning.pt   lists of one optimizer and one schedule (MultiStepLR, whose milestones are a Counter), names of parameters,
               groups with numbers of their own, a set, a torch.Size, an attribute of the network
big.pt         written where the high byte comes first, by the pickle's protocol 4: one dict of tensors of many types, one
               transposed, one a parameter, two of one storage
"""
import collections
import io
import pickle
import struct
import sys
import types
import zipfile

CODES = {'FloatStorage': 'f', 'DoubleStorage': 'd', 'LongStorage': 'q', 'IntStorage': 'i', 'ShortStorage': 'h', 'BoolStorage': '?'}


def module(name, **members):
    made = sys.modules[name] = types.ModuleType(name)
    for key, value in members.items():
        setattr(made, key, value)
        value.__module__, value.__qualname__ = name, key
    return made


def function(name):
    def call(*_):
        raise NotImplementedError
    call.__name__ = name
    return call


class Size(tuple):
    def __reduce__(self):
        return Size, (tuple(self),)


UTILS = module('torch._utils', _rebuild_tensor_v2=function('_rebuild_tensor_v2'), _rebuild_parameter=function('_rebuild_parameter'))
TORCH = module('torch', Size=Size, **{name: type(name, (), {}) for name in CODES})
TORCH._utils = UTILS


class Storage:
    def __init__(self, kind, numbers):
        self.kind, self.numbers = kind, numbers


class Tensor:
    def __init__(self, storage, sizes, strides, offset=0, parameter=False):
        self.arguments, self.parameter = (storage, offset, sizes, strides, False, collections.OrderedDict()), parameter

    def __reduce__(self):
        if self.parameter:
            return UTILS._rebuild_parameter, (Tensor(*self.again()), True, collections.OrderedDict())
        return UTILS._rebuild_tensor_v2, self.arguments

    def again(self):
        storage, offset, sizes, strides = self.arguments[:4]
        return storage, sizes, strides, offset


def dense(kind, sizes, numbers, **more):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    return Tensor(Storage(kind, numbers), sizes, tuple(strides), **more)


def save(path, root, protocol, big):
    storages = []

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            if not isinstance(obj, Storage):
                return None
            if obj not in storages:
                storages.append(obj)
            return 'storage', getattr(TORCH, obj.kind), str(storages.index(obj)), 'cpu', len(obj.numbers)

    text = io.BytesIO()
    Pickler(text, protocol).dump(root)
    with zipfile.ZipFile(path, 'w') as file:
        def put(name, content):
            file.writestr(zipfile.ZipInfo('by_hand/' + name, (1980, 1, 1, 0, 0, 0)), content)
        put('data.pkl', text.getvalue())
        put('byteorder', 'big' if big else 'little')
        for number, storage in enumerate(storages):
            put(f'data/{number}', struct.pack(f'{"><"[not big]}{len(storage.numbers)}{CODES[storage.kind]}', *storage.numbers))


def weights():
    sizes = {'0.weight': (4, 3), '0.bias': (4,), '2.weight': (4, 4), '2.bias': (4,), '4.weight': (2, 4), '4.bias': (2,)}
    return collections.OrderedDict((name, dense('FloatStorage', s, [i / 8 - 0.5 for i in range(s[0] * (s[1] if len(s) > 1 else 1))]))
                                   for name, s in sizes.items())


def lightning():
    names = list(weights())
    state = {name: {'step': 6, 'exp_avg': t, 'exp_avg_sq': t} for name, t in weights().items()}
    groups = [{'lr': 0.25, 'betas': (0.9, 0.99), 'eps': 1e-8, 'weight_decay': 0.5, 'params': names[::2], 'param_names': names[::2]},
              {'lr': 0.5, 'betas': [0.9, 0.99], 'eps': 1e-8, 'weight_decay': 0, 'amsgrad': False, 'params': names[1::2]}]
    schedule = {'milestones': collections.Counter([3, 5, 5]), 'gamma': 0.5, 'base_lrs': [1.0, 2.0], 'last_epoch': 6, '_step_count': 7,
                '_last_lr': [0.25, 0.5]}
    return {'epoch': 2, 'global_step': 6, 'state_dict': weights(), 'optimizer_states': [{'state': state, 'param_groups': groups}],
            'lr_schedulers': [schedule], 'size': Size((2, 3)), 'chosen': {1, 2}, 'frozen': frozenset([3]), 'empty': set()}


def big():
    net = weights()
    shared = Storage('FloatStorage', [i / 16 for i in range(12)])
    net['0.weight'] = Tensor(shared, (4, 3), (1, 4))
    net['again'] = Tensor(shared, (2, 2), (4, 1), 3)
    net['2.weight'] = dense('FloatStorage', (4, 4), [i / 4 for i in range(16)], parameter=True)
    net['4.bias'] = dense('DoubleStorage', (2,), [0.125, -3])
    net['counts'] = dense('LongStorage', (2,), [1 << 40, -1])
    net['ints'] = dense('IntStorage', (2,), [7, -7])
    net['shorts'] = dense('ShortStorage', (2, 1), [300, -1])
    net['truths'] = dense('BoolStorage', (3,), [True, False, True])
    return {'net': net, 'note': 'high byte first'}


save(sys.argv[1] + '/lightning.pt', lightning(), 2, False)
save(sys.argv[1] + '/big.pt', big(), 4, True)
