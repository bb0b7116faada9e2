"""What torch.onnx.export loses of gradients: where they stop, and what a network defines itself. Needs only torch.

While PyTorch traces a network, every value says whether it requires a gradient. Where a value does not, although what it is
computed from does, the network has said detach(), .data or no_grad(); where a gradient would pass, it is marked
(`mark_stops`). An autograd.Function has its own backward, which no exporter writes; `_as_operators` says it in operators where
that can be done.
"""
import contextlib
import warnings

import torch

from export_operators import SYMBOLICS

OPSETS = range(7, 26)
_told = set()  # names of functions that were warned of in this export


# ---- where gradients stop -------------------------------------------------------------------------------------------------------

SHAPE_ONLY = 'aten::new_', '_like', 'aten::bernoulli'  # what these read of a tensor is its shape, or has no derivative
CONVOLUTIONS = [f'conv{kind}{axes}d' for kind in ('', '_transpose') for axes in (1, 2, 3)]


def _is_float(value):
    kind = value.type()
    return kind.kind() == 'TensorType' and kind.scalarType() in ('Float', 'Double', 'Half', 'BFloat16')


def _sort_values(graph):
    """Names of values that have a gradient, and of those that have none although it would flow to something that has one. Bools
    and integers have none anyway; behind a detach it flows no more."""
    alive, stopped = {v.debugName() for v in graph.inputs() if v.requires_grad()}, set()
    for node in graph.nodes():
        inputs = {v.debugName() for v in node.inputs()}
        for value in node.outputs():
            name = value.debugName()
            if node.kind() == 'prim::ListConstruct':
                (alive if inputs & alive else stopped if inputs & stopped else set()).add(name)
            if not _is_float(value):
                continue
            # PyTorch looks at what a convolution gives before it knows of its gradient
            if value.requires_grad() or (node.kind() == 'aten::_convolution' and inputs & alive):
                alive.add(name)
            elif inputs & (alive | stopped) and node.kind() != 'aten::detach' and not any(k in node.kind() for k in SHAPE_ONLY):
                stopped.add(name)
    return alive, stopped


def _warn_of_functions(graph):
    """Of functions whose `apply` was taken before the export began: they are not seen."""
    for node in graph.nodes():
        if node.kind() == 'prim::PythonOp' and node.pyname() not in ('_Gradient', *_told):
            _told.add(node.pyname())
            warnings.warn(f'{node.pyname()}, an autograd.Function: its backward is not exported, since apply was taken from the '
                          f'class before export(); write {node.pyname()}.apply(...) where it is called')


def mark_stops(graph):
    """In a graph of torch.jit's tracer: detach stands where a value without a gradient meets one that has one, nowhere else."""
    alive, stopped = _sort_values(graph)
    marked = {}
    _warn_of_functions(graph)

    def gives_alive(node):
        if node.kind() == 'prim::ListConstruct':
            return any(gives_alive(use.user) for use in node.output().uses())
        return any(v.debugName() in alive for v in node.outputs())

    for node in list(graph.nodes()):
        if node.kind() == 'aten::detach' and node.input().debugName() not in alive:
            node.output().replaceAllUsesWith(node.input())
        if not gives_alive(node):
            continue
        for value in list(node.inputs()):
            name = value.debugName()
            if name not in stopped or not _is_float(value):
                continue
            if name not in marked:
                mark = graph.create('aten::detach', [value], 1)
                mark.insertAfter(value.node())
                mark.copyMetadata(value.node())
                mark.output().setTypeAs(value)
                marked[name] = mark.output()
            node.replaceInputWith(value, marked[name])


@contextlib.contextmanager
def _replaced(owner, name, value):
    """owner.name is value for a while. What the owner only inherits is hidden, and comes back."""
    own = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


@contextlib.contextmanager
def _marked_traces():
    trace = torch.jit._get_trace_graph

    def traced(*arguments, **options):
        result = trace(*arguments, **options)
        mark_stops(result[0])
        return result

    def convolution(function):
        def convolved(*arguments, **options):
            y = function(*arguments, **options)
            return y if torch.is_grad_enabled() else y.detach()
        return convolved

    data = torch.Tensor.data  # a tracer takes what it gives for a constant

    def read_data(tensor):
        return tensor.detach() if torch.jit.is_tracing() else data.__get__(tensor)

    gaussian = torch.nn.functional.gaussian_nll_loss

    def gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction='mean'):
        """It bounds var in place, under no_grad: the gradient does not know of the bound."""
        if torch.jit.is_tracing() and isinstance(var, torch.Tensor):
            var = var.clamp(min=eps).detach() + (var - var.detach())
        return gaussian(x, target, var, full=full, eps=eps, reduction=reduction)

    with contextlib.ExitStack() as stack:
        stack.enter_context(_replaced(torch.nn.functional, 'gaussian_nll_loss', gaussian_nll_loss))
        stack.enter_context(_replaced(torch.jit, '_get_trace_graph', traced))
        stack.enter_context(_replaced(torch.Tensor, 'data', property(read_data, data.__set__)))
        for owner in torch, torch.nn.functional:
            for name in CONVOLUTIONS:
                stack.enter_context(_replaced(owner, name, convolution(getattr(owner, name))))
        yield


# ---- gradients inside the network -----------------------------------------------------------------------------------------------

@contextlib.contextmanager
def _untraced():
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


class _Gradient(torch.autograd.Function):
    """Only to be traced. known() is the gradient of y in x, and x: gradients of the second order are taken of these."""

    @staticmethod
    def forward(ctx, y, x, known):
        ctx.known = known
        with _untraced():
            value = known()[0].detach()
        return value.clone()  # traced: what forward gives must come from something that the tracer knows

    @staticmethod
    def backward(ctx, g):
        value, x = ctx.known()
        with torch.enable_grad():
            return None, torch.autograd.grad(value, x, g, create_graph=True, allow_unused=True)[0], None

    @staticmethod
    def symbolic(g, y, x, known):
        return g.op('stepc::Gradient', y, x).setTypeAs(x)


def stepc_gradient(y, x):
    """The gradient of y, or of the sum of its elements, in x: torch.autograd.grad(y.sum(), x, create_graph=True)[0].
    In a network, where a loss reads it (physics-informed networks, gradient penalties); x may be an input, then
    `x = x.detach().requires_grad_()` makes it require its gradient first. Exported as a Gradient node."""
    y = y.sum() if y.dim() > 0 else y
    if not torch.jit.is_tracing():
        return torch.autograd.grad(y, x, create_graph=True)[0]
    with _untraced():
        value, = torch.autograd.grad(y, x, create_graph=True)
    return _Gradient.apply(y, x, lambda: (value, x))


# ---- autograd.Function ----------------------------------------------------------------------------------------------------------

class _Context:
    """What forward and backward of an autograd.Function find in ctx."""

    def __init__(self, arguments):
        self.needs_input_grad = tuple(isinstance(a, torch.Tensor) and a.requires_grad for a in arguments)
        self.saved_tensors = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def __getattr__(self, name):  # mark_dirty, mark_non_differentiable, set_materialize_grads, save_for_forward
        if name.startswith(('mark_', 'set_', 'save_')):
            return lambda *arguments: None
        raise AttributeError(name)


def _forward(function, arguments):
    """(output, ctx): the forward pass as ordinary operators."""
    ctx = _Context(arguments)
    base = getattr(torch.autograd.Function, 'setup_context', None)
    if base is None or function.setup_context is base:
        return function.forward(ctx, *arguments), ctx
    output = function.forward(*arguments)
    function.setup_context(ctx, arguments, output)
    return output, ctx


def _backward(function, ctx, g):
    gradients = function.backward(ctx, g)
    return gradients if isinstance(gradients, tuple) else (gradients,)


def _copies(arguments):
    return [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in arguments]


def _equal(a, b):
    return a is b or (a is not None and b is not None and a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-6, equal_nan=True))


def _own_gradients(function, arguments, g):
    with torch.no_grad():
        return _backward(function, _forward(function, _copies(arguments))[1], g)


def _gradients_of_operators(function, arguments, g):
    inputs = _copies(arguments)
    with torch.enable_grad():
        output = _forward(function, inputs)[0]
        wanted = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
        found = torch.autograd.grad(output, wanted, g, allow_unused=True) if output.requires_grad else [None] * len(wanted)
    found = iter(found)
    return [next(found) if isinstance(x, torch.Tensor) and x.requires_grad else None for x in inputs]


def _kind_of(function, arguments, needed):
    """'operators': PyTorch's own gradient of its forward pass is its backward pass. 'elementwise': each gradient is that of
    the output times a factor. 'other': neither, as far as a try tells."""
    with torch.no_grad():
        output = _forward(function, _copies(arguments))[0]
    if not isinstance(output, torch.Tensor) or not output.is_floating_point():
        return 'other'
    g = torch.randn_like(output)
    own = _own_gradients(function, arguments, g)
    try:
        plain = _gradients_of_operators(function, arguments, g)
        if all(_equal(plain[i], own[i]) for i in needed):
            return 'operators'
    except RuntimeError:
        pass  # its forward pass has no gradient
    factors = _own_gradients(function, arguments, torch.ones_like(output))
    fits = all(own[i] is None or (own[i].shape == output.shape and _equal(own[i], factors[i] * g)) for i in needed)
    return 'elementwise' if fits else 'other'


def _elementwise(function, arguments, needed):
    """y + factor (x - x.detach()): y, and the factor is the gradient in x."""
    with torch.no_grad():
        y, ctx = _forward(function, arguments)
        y, ones = y.detach(), torch.ones_like(y)
        factors = _backward(function, ctx, ones)
    for i in needed:
        if factors[i] is not None:
            x = arguments[i]
            nothing = x - x.detach()
            y = y + (nothing if factors[i] is ones else factors[i] * nothing)
    return y


def _as_operators(function, arguments):
    needed = [i for i, a in enumerate(arguments) if isinstance(a, torch.Tensor) and a.requires_grad]
    try:
        with _untraced():
            kind = _kind_of(function, arguments, needed)
    except Exception as e:  # whatever a network's code raises when it is called in another way than PyTorch does
        kind = 'other'
        warnings.warn(f'{function.__name__}: {e}')
    if kind == 'elementwise':
        return _elementwise(function, arguments, needed)
    if kind == 'other':
        _told.add(function.__name__)
        warnings.warn(f'{function.__name__}, an autograd.Function: its backward cannot be exported. The file has the operators of '
                      'its forward, whose gradients are others; write it with operators and detach()')
        return None
    with torch.enable_grad():
        return _forward(function, arguments)[0]


@contextlib.contextmanager
def _calls_of_functions(replacement):
    """FUNCTION.apply(...) is replacement(original apply, FUNCTION, arguments, options)."""
    function_class = torch.autograd.Function
    own = vars(function_class).get('apply')

    def original(function, *arguments, **options):
        apply = own.__get__(None, function) if own else super(function_class, function).apply
        return apply(*arguments, **options)

    def apply(function, *arguments, **options):
        if function.__module__ == 'torch.utils.checkpoint':  # saves memory, and changes no gradient
            return arguments[0](*arguments[2:])
        return replacement(original, function, arguments, options)

    with _replaced(function_class, 'apply', classmethod(apply)):
        yield


def _applied(original, function, arguments, options):
    required = any(isinstance(a, torch.Tensor) and a.requires_grad for a in arguments)
    if options or function is _Gradient or not required or not torch.jit.is_tracing() or not torch.is_grad_enabled():
        return original(function, *arguments, **options)
    output = _as_operators(function, arguments)
    return original(function, *arguments) if output is None else output


# ---- the newer exporter ---------------------------------------------------------------------------------------------------------

def _stop_behind_no_grad(program):
    """torch.export keeps a region without gradients as a call, the exporter takes its operators only: what leaves it is detached."""
    graph = program.graph_module.graph
    for call in list(graph.nodes):
        if 'wrap_with_set_grad_enabled' not in str(call.target) or call.args[0] is not False:
            continue
        for value in list(call.users):
            with graph.inserting_after(value):
                stop = graph.call_function(torch.ops.aten.detach.default, (value,))
            stop.meta.update(value.meta)
            value.replace_all_uses_with(stop, delete_user_cb=lambda user, own=stop: user is not own)
    program.graph_module.recompile()
    return program


@contextlib.contextmanager
def stopped_programs():
    """While it is open, torch.onnx.export(dynamo=True) has nodes of aten.detach where gradients stop."""
    capture = torch.export.export

    def captured(*arguments, **options):
        return _stop_behind_no_grad(capture(*arguments, **options))

    def told(original, function, arguments, options):
        if not function.__module__.startswith('torch.') and function.__name__ not in _told:
            _told.add(function.__name__)
            warnings.warn(f'{function.__name__}, an autograd.Function: dynamo=True exports the operators of its forward, with their '
                          'gradients and not those of its backward; write it with operators and detach()')
        return original(function, *arguments, **options)

    _told.clear()
    with _replaced(torch.export, 'export', captured), _calls_of_functions(told):
        yield


# ---- all of it ------------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def _symbolics(functions):
    for name, function in functions.items():
        for opset in OPSETS:
            torch.onnx.register_custom_op_symbolic(name, function, opset)
    try:
        yield
    finally:
        for name in functions:
            for opset in OPSETS:
                torch.onnx.unregister_custom_op_symbolic(name, opset)


def _detach(g, x):
    return g.op('stepc::Detach', x).setTypeAs(x)


@contextlib.contextmanager
def kept_gradients():
    """While it is open, exports by way of torch.jit's tracer have nodes of the domain "stepc", see export_file.py."""
    symbolics = {**SYMBOLICS, 'aten::detach': _detach, 'aten::requires_grad_': lambda g, x, required=None: x}
    _told.clear()
    with warnings.catch_warnings(), _symbolics(symbolics), _marked_traces(), _calls_of_functions(_applied):
        warnings.filterwarnings('ignore', 'The shape inference of stepc::')
        warnings.filterwarnings('ignore', '.torch.onnx._patch_torch._graph_op. is deprecated')  # of a symbolic of 1.13
        yield
