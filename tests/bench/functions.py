"""Elementary functions, sums, norms and choices on 1024 x 256 floats, most with their gradients: emitted C beside PyTorch, in one process,
taking turns (bench.py --functions)."""
import ctypes
import dataclasses
import os
import subprocess
import time

import torch
import torch.nn.functional as F

ROWS, COLUMNS = 1024, 256
COUNT = ROWS * COLUMNS
COMPILERS = ['gcc -O3 -march=native', 'gcc -O2 -march=native', 'clang -O3 -march=native', 'gcc -O2']

OPERANDS = {  # what a letter stands for: its type in the model, and how PyTorch makes one
    'x': ('float[1024,256]', lambda: torch.randn(ROWS, COLUMNS)),
    'p': ('float[1024,256]', lambda: torch.rand(ROWS, COLUMNS) * 3 + 0.01),
    'u': ('float[1024,256]', lambda: torch.rand(ROWS, COLUMNS) * 1.9 - 0.95),
    'z': ('float[1024,256]', lambda: torch.randn(ROWS, COLUMNS)),
    'w': ('float[256]', lambda: torch.rand(COLUMNS)),
    'b': ('float[256]', lambda: torch.rand(COLUMNS)),
    'c': ('int64[1024]', lambda: torch.randint(COLUMNS, (ROWS,))),
    'i': ('int64[1024,256]', lambda: torch.randint(COLUMNS, (ROWS, COLUMNS))),
}


@dataclasses.dataclass
class Function:
    name: str
    nodes: str              # of the model
    peer: object            # what PyTorch computes
    operands: str = 'x'     # letters; the gradient is that of the floats among them
    result: str = 'float[1024,256]'
    constants: str = ''
    gradient: bool = True   # in a second row


LAST = 'int64[1] last = {1}'
FUNCTIONS = [
    Function('sin', 'y = Sin(x)', torch.sin),
    Function('cos', 'y = Cos(x)', torch.cos),
    Function('tan', 'y = Tan(x)', torch.tan),
    Function('asin', 'y = Asin(u)', torch.asin, 'u'),
    Function('atan', 'y = Atan(x)', torch.atan),
    Function('sinh', 'y = Sinh(x)', torch.sinh),
    Function('asinh', 'y = Asinh(x)', torch.asinh),
    Function('atanh', 'y = Atanh(u)', torch.atanh, 'u'),
    Function('exp', 'y = Exp(x)', torch.exp),
    Function('log', 'y = Log(p)', torch.log, 'p'),
    Function('pow', 'y = Pow(p, z)', torch.pow, 'pz'),
    Function('sqrt', 'y = Sqrt(p)', torch.sqrt, 'p'),
    Function('reciprocal', 'y = Reciprocal(p)', torch.reciprocal, 'p'),
    Function('tanh', 'y = Tanh(x)', torch.tanh),
    Function('sigmoid', 'y = Sigmoid(x)', torch.sigmoid),
    Function('softplus', 'y = Softplus(x)', F.softplus),
    Function('elu', 'y = Elu(x)', F.elu),
    Function('selu', 'y = Selu(x)', F.selu),
    Function('gelu', 'y = Gelu(x)', F.gelu),
    Function('gelu, tanh', 'y = Gelu <approximate = "tanh"> (x)', lambda x: F.gelu(x, approximate='tanh')),
    Function('erf', 'y = Erf(x)', torch.erf),
    Function('mish', 'y = Mish(x)', F.mish),
    Function('silu', 's = Sigmoid(x)\n y = Mul(x, s)', F.silu),
    Function('hardswish', 'y = HardSwish(x)', F.hardswish),
    Function('leaky relu', 'y = LeakyRelu <alpha = 0.01> (x)', F.leaky_relu),
    Function('prelu', 'y = PRelu(x, w)', F.prelu, 'xw'),
    Function('sum of softplus', 's = Softplus(x)\n y = ReduceSum(s, last)', lambda x: F.softplus(x).sum(1, True), 'x',
             'float[1024,1]', LAST),
    Function('norm', 'y = ReduceL2(x, last)', lambda x: torch.norm(x, dim=1, keepdim=True), 'x', 'float[1024,1]', LAST),
    Function('logsumexp', 'y = ReduceLogSumExp(x, last)', lambda x: torch.logsumexp(x, 1, True), 'x', 'float[1024,1]', LAST),
    Function('softmax', 'y = Softmax(x)', lambda x: F.softmax(x, 1)),
    Function('log softmax', 'y = LogSoftmax(x)', lambda x: F.log_softmax(x, 1)),
    Function('cross entropy', 'y = SoftmaxCrossEntropyLoss(x, c)', F.cross_entropy, 'xc', 'float'),
    Function('layer norm', 'y = LayerNormalization(x, w, b)', lambda x, w, b: F.layer_norm(x, (COLUMNS,), w, b), 'xwb'),
    Function('cumulative sum', 'y = CumSum(x, one)', lambda x: torch.cumsum(x, 1), constants='int64 one = {1}'),
    Function('gather', 'y = GatherElements <axis = 1> (x, i)', lambda x, i: torch.gather(x, 1, i), 'xi'),
    Function('scatter add', 'y = ScatterElements <axis = 1, reduction = "add"> (x, i, z)',
             lambda x, i, z: torch.scatter_add(x, 1, i, z), 'xiz'),
    Function('top 20 of 256', 'y, at = TopK(x, k)', lambda x: torch.topk(x, 20)[0], 'x', 'float[1024,20]', 'int64[1] k = {20}'),
    Function('sort of 256', 'y, at = TopK(x, k)', lambda x: torch.sort(x, 1, descending=True)[0], constants='int64[1] k = {256}'),
    Function('largest of 256', 'y = ArgMax <axis = 1> (x)', lambda x: x.argmax(1, True), 'x', 'int64[1024,1]', gradient=False),
]

DRIVER = '''#include "%s.h"
static f_state state;
static f_arena arena;
int run(%s)
{
    const f_infer_inputs in = {%s};
    const f_infer_outputs out = {%s};
    return f_infer(&state, &arena, &in, &out) != STEPC_OK;
}
'''


def trained(f):
    """The operands that get a gradient."""
    return [name for name in f.operands if OPERANDS[name][0].startswith('float')]


def write_model(path, f, with_gradient):
    """Returns the names of inputs and outputs, as run() takes them."""
    inputs, outputs, nodes = {name: OPERANDS[name][0] for name in f.operands}, {'y': f.result}, f.nodes
    if 'TopK' in nodes:
        outputs['at'] = f.result.replace('float', 'int64')
    if with_gradient:
        names = trained(f)
        inputs['dy'] = f.result
        outputs |= {'d_' + name: OPERANDS[name][0] for name in names}
        listed = ', '.join(f'"{name}"' for name in names)
        nodes += (f'\n weighted = Mul(y, dy)\n total = ReduceSum <keepdims = 0> (weighted)\n {", ".join("d_" + name for name in names)} = '
                  f'ai.onnx.preview.training.Gradient <xs = [{listed}], y = "total"> ({", ".join(names)})')
    with open(path + '.onnxtxt', 'w') as file:
        arguments, results = (', '.join(f'{kind} {name}' for name, kind in some.items()) for some in (inputs, outputs))
        file.write('<ir_version: 10, opset_import: ["" : 24, "ai.onnx.preview.training" : 1]>\n'
                   f'g ({arguments}) => ({results}) <{f.constants}> {{\n {nodes}\n}}\n')
    return list(inputs), list(outputs)


def build(stepc, folder, number, f, with_gradient, cc):
    """A function that runs the emitted program, and how many pointers it takes for outputs."""
    name = f'function_{number}_{"gradient_" if with_gradient else ""}{COMPILERS.index(cc)}'
    path = os.path.join(folder, name)
    inputs, outputs = write_model(path, f, with_gradient)
    subprocess.run([stepc, 'compile', path + '.onnxtxt', '-o', path + '.c', '--name', 'f'], check=True, capture_output=True)
    parameters = ', '.join([f'const void *{name}' for name in inputs] + [f'void *{name}' for name in outputs])
    members = [', '.join(f'.{name} = {name}' for name in names) for names in (inputs, outputs)]
    with open(path + '_run.c', 'w') as file:
        file.write(DRIVER % (name, parameters, *members))
    subprocess.run([*cc.split(), '-shared', '-fPIC', '-Iruntime', path + '_run.c', path + '.c', '-o', path + '.so'], check=True)
    library = ctypes.CDLL(path + '.so')
    library.run.argtypes = [ctypes.c_void_p] * (len(inputs) + len(outputs))
    return library.run, len(outputs)


def seconds(call):
    start = time.process_time_ns()
    call()
    return (time.process_time_ns() - start) * 1e-9


def calls_of(stepc, folder, number, f, with_gradient):
    """PyTorch's call, and that of each compiler's program."""
    data = [OPERANDS[name][1]() for name in f.operands]
    leaves = [t.clone().requires_grad_(with_gradient and t.is_floating_point()) for t in data]
    wanted = [t for t in leaves if t.requires_grad]
    dy = torch.randn(f.peer(*data).shape) if with_gradient else None

    def peer():
        y = f.peer(*leaves)
        return torch.autograd.grad(y, wanted, dy) if with_gradient else y

    calls = [peer]
    given = data + ([dy] if with_gradient else [])
    results = [torch.empty(COUNT, dtype=torch.int64) for _ in range(6)]  # as large as any
    for cc in COMPILERS:
        run, count = build(stepc, folder, number, f, with_gradient, cc)
        places = [t.data_ptr() for t in given + results[:count]]
        calls.append(lambda run=run, places=places, keep=(given, results): run(*places))
    return calls


def rows(stepc, folder, rounds):
    """Yields a function's name, PyTorch's nanoseconds an element, and those of the emitted program with each compiler."""
    torch.set_num_threads(1)
    for number, f in enumerate(FUNCTIONS):
        for with_gradient in (False, True) if f.gradient else (False,):
            calls = calls_of(stepc, folder, number, f, with_gradient)
            best = [min(seconds(call) for _ in range(3)) for call in calls]
            for _ in range(rounds):
                best = [min(least, seconds(call)) for least, call in zip(best, calls)]
            yield f.name + (' and gradient' if with_gradient else ''), [least * 1e9 / COUNT for least in best]
