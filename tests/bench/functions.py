"""Elementary functions and choices on 1024 x 256 floats: emitted C beside PyTorch, in one process, taking turns (bench.py --functions)."""
import ctypes
import os
import subprocess
import time

import torch

ROWS, COLUMNS = 1024, 256
COUNT = ROWS * COLUMNS
COMPILERS = ['gcc -O3 -march=native', 'gcc -O2 -march=native', 'clang -O3 -march=native', 'gcc -O2']

# name, the model's nodes, what PyTorch computes, from what: 'normal', 'positive' or 'pair' (positive numbers and exponents)
FUNCTIONS = [
    ('sin', 'y = Sin(x)', lambda x: torch.sin(x), 'normal'),
    ('cos', 'y = Cos(x)', lambda x: torch.cos(x), 'normal'),
    ('tan', 'y = Tan(x)', lambda x: torch.tan(x), 'normal'),
    ('atan', 'y = Atan(x)', lambda x: torch.atan(x), 'normal'),
    ('exp', 'y = Exp(x)', lambda x: torch.exp(x), 'normal'),
    ('log', 'y = Log(x)', lambda x: torch.log(x), 'positive'),
    ('pow', 'y = Pow(x, z)', lambda x, z: torch.pow(x, z), 'pair'),
    ('tanh', 'y = Tanh(x)', lambda x: torch.tanh(x), 'normal'),
    ('sigmoid', 'y = Sigmoid(x)', lambda x: torch.sigmoid(x), 'normal'),
    ('softplus', 'y = Softplus(x)', lambda x: torch.nn.functional.softplus(x), 'normal'),
    ('elu', 'y = Elu(x)', lambda x: torch.nn.functional.elu(x), 'normal'),
    ('gelu', 'y = Gelu(x)', lambda x: torch.nn.functional.gelu(x), 'normal'),
    ('erf', 'y = Erf(x)', lambda x: torch.erf(x), 'normal'),
    ('sum of softplus', 's = Softplus(x)\n y = ReduceSum(s, k)', lambda x: torch.nn.functional.softplus(x).sum(1), 'normal'),
    ('top 20 of 256', 'k20 = Constant <value_ints = [20]> ()\n y, i = TopK(x, k20)', lambda x: torch.topk(x, 20), 'normal'),
    ('sort of 256', 'k256 = Constant <value_ints = [256]> ()\n y, i = TopK(x, k256)', lambda x: torch.sort(x, 1, descending=True), 'normal'),
]

DRIVER = '''#include "%s.h"
static f_state state;
static f_arena arena;
static float y[%d];
static int64_t chosen[%d];
int run(const float *x, const float *z)
{
    f_infer_inputs in = {.x = x};
    f_infer_outputs out = {.y = y};
%s    (void)z;
    (void)chosen;
    return f_infer(&state, &arena, &in, &out) != STEPC_OK;
}
'''


def build(stepc, folder, number, nodes, kind, cc):
    """A function of two tensors that runs the emitted program."""
    name = f'function_{number}_{COMPILERS.index(cc)}'
    path = os.path.join(folder, name)
    inputs = f'float[{ROWS},{COLUMNS}] x' + (f', float[{ROWS},{COLUMNS}] z' if kind == 'pair' else '')
    indices = ', int64[R,K] i' if 'TopK' in nodes else ''
    with open(path + '.onnxtxt', 'w') as file:
        file.write(f'<ir_version: 9, opset_import: ["" : 20]>\ng ({inputs}) => (float[R,K] y{indices}) <int64[1] k = {{1}}> {{ {nodes} }}\n')
    subprocess.run([stepc, 'compile', path + '.onnxtxt', '-o', path + '.c', '--name', 'f'], check=True, capture_output=True)
    more = ('    in.z = z;\n' if kind == 'pair' else '') + ('    out.i = chosen;\n' if indices else '')
    with open(path + '_run.c', 'w') as file:
        file.write(DRIVER % (name, COUNT, COUNT, more))
    subprocess.run([*cc.split(), '-shared', '-fPIC', '-Iruntime', path + '_run.c', path + '.c', '-o', path + '.so'], check=True)
    library = ctypes.CDLL(path + '.so')
    library.run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return library.run


def operands(kind):
    normal, uniform = torch.randn(ROWS, COLUMNS), torch.rand(ROWS, COLUMNS)
    return [normal] if kind == 'normal' else [uniform * 3 + 0.01] if kind == 'positive' else [uniform * 3 + 0.01, normal]


def seconds(call):
    start = time.process_time_ns()
    call()
    return (time.process_time_ns() - start) * 1e-9


def rows(stepc, folder, rounds):
    """Yields a function's name, PyTorch's nanoseconds an element, and those of the emitted program with each compiler."""
    torch.set_num_threads(1)
    for number, (name, nodes, peer, kind) in enumerate(FUNCTIONS):
        data = operands(kind)
        places = [t.data_ptr() for t in data] + [None]
        programs = [build(stepc, folder, number, nodes, kind, cc) for cc in COMPILERS]
        calls = [lambda: peer(*data)] + [lambda run=run: run(places[0], places[1]) for run in programs]
        best = [min(seconds(call) for _ in range(3)) for call in calls]
        for _ in range(rounds):
            best = [min(least, seconds(call)) for least, call in zip(best, calls)]
        yield name, [least * 1e9 / COUNT for least in best]
