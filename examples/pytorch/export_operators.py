"""Operators that PyTorch's older exporter refuses or writes badly, in ONNX's: losses, sums by indices, products. Needs only torch.

Each function is what torch.onnx.register_custom_op_symbolic() takes: the operator's operands, its ONNX nodes. Losses are written
so that neither they nor their gradients overflow where PyTorch's do not.
"""
import math

import torch
from torch.onnx import symbolic_helper as helper

NONE, MEAN, SUM = 0, 1, 2  # reductions
LAST = 2**63 - 1


class _Term:
    """A value with arithmetic: a + b is an Add."""

    def __init__(self, g, value, dtype=None):
        self.g, self.value = g, value
        self.dtype = dtype or value.type().dtype() or torch.float32

    def op(self, name, *others, dtype=None, **attributes):
        inputs = [self.value, *(o.value if isinstance(o, _Term) else o for o in others)]
        return _Term(self.g, self.g.op(name, *inputs, **attributes), dtype or self.dtype)

    def constant(self, x, dtype=None):
        return _Term(self.g, self.g.op('Constant', value_t=torch.tensor(x, dtype=dtype or self.dtype)), dtype or self.dtype)

    def ints(self, *x):
        return self.constant(x, torch.int64)

    def _with(self, name, other, swapped=False, dtype=None):
        other = other if isinstance(other, _Term) else self.constant(other)
        a, b = (other, self) if swapped else (self, other)
        return a.op(name, b, dtype=dtype)

    def __add__(self, other):
        return self._with('Add', other)

    def __sub__(self, other):
        return self._with('Sub', other)

    def __rsub__(self, other):
        return self._with('Sub', other, swapped=True)

    def __mul__(self, other):
        return self._with('Mul', other)

    def __truediv__(self, other):
        return self._with('Div', other)

    def __pow__(self, other):
        return self * self if other == 2 else self if other == 1 else self._with('Pow', other)

    def __neg__(self):
        return self.op('Neg')

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other):
        return self._with('Less', other, dtype=torch.bool)

    def equals(self, other):
        return self._with('Equal', other, dtype=torch.bool)

    def __invert__(self):
        return self.op('Not')

    def where(self, a, b):
        """Where self, a; else b, which may be a number."""
        b = b if isinstance(b, _Term) else a.constant(b)
        return _Term(self.g, self.g.op('Where', self.value, a.value, b.value), a.dtype)

    def at_least(self, x):
        return self._with('Max', x)

    def to(self, like):
        """In the type of the other."""
        return self.op('Cast', to_i={torch.float16: 10, torch.float32: 1, torch.float64: 11}[like.dtype], dtype=like.dtype)

    def sum(self, axis, keep=False):
        if self.g.opset < 13:
            return self.op('ReduceSum', axes_i=[axis], keepdims_i=int(keep))
        return self.op('ReduceSum', self.ints(axis), keepdims_i=int(keep))

    def most(self, axis, name='ReduceMax'):
        if self.g.opset < 18:
            return self.op(name, axes_i=[axis], keepdims_i=0)
        return self.op(name, self.ints(axis), keepdims_i=0)

    def sum_all(self):
        return self.op('ReduceSum', keepdims_i=0)

    def unsqueeze(self, axis):
        return self.op('Unsqueeze', axes_i=[axis]) if self.g.opset < 13 else self.op('Unsqueeze', self.ints(axis))

    def slice(self, axis, start, end):
        return self.op('Slice', self.ints(start), self.ints(end), self.ints(axis))

    def shape(self, start=0, end=LAST):
        return self.op('Shape', dtype=torch.int64).slice(0, start, end)

    def rank(self):
        return helper._get_tensor_rank(self.value)

    def size(self, axis, what):
        """The size of an axis, which has to be known; what: who asks."""
        n = helper._get_tensor_dim_size(self.value, axis)
        if n is None:
            raise RuntimeError(f'{what}: the size of axis {axis} must not be dynamic')
        return n


def _concat(first, *others, axis=0):
    return first.op('Concat', *others, axis_i=axis)


def _reduced(loss, reduction):
    return loss if reduction == NONE else loss.sum_all() if reduction == SUM else loss.op('ReduceMean', keepdims_i=0)


SYMBOLICS = {}


def _operator(name, kinds):
    """kinds: of the operands, a letter each: v a value, o one that may be None, l a list, i, f, b, s constants."""
    def register(function):
        def symbolic(g, *operands):
            given = [_read(g, kind, x) for kind, x in zip(kinds, operands)]
            return function(*given, *[None] * (len(kinds) - len(given))).value
        SYMBOLICS[f'aten::{name}'] = symbolic
        return function
    return register


def _read(g, kind, x):
    if kind in 'vo':
        return None if kind == 'o' and helper._is_none(x) else _Term(g, x)
    if kind == 'l':
        return x
    x = helper._maybe_get_const(x, kind.replace('b', 'i'))
    return bool(x) if kind == 'b' else x


# ---- losses ---------------------------------------------------------------------------------------------------------------------

@_operator('mse_loss', 'vvi')
def _mse(x, t, reduction):
    return _reduced((x - t) ** 2, reduction)


@_operator('l1_loss', 'vvi')
def _l1(x, t, reduction):
    return _reduced((x - t).op('Abs'), reduction)


def _quadratic(x, t, width, steepness):
    """steepness * (d^2 / 2 up to width, then a line of the same slope)"""
    d = (x - t).op('Abs')
    return (d < width).where(0.5 * steepness * d * d, steepness * width * (d - 0.5 * width))


@_operator('smooth_l1_loss', 'vvif')
def _smooth_l1(x, t, reduction, beta):
    return _reduced(_quadratic(x, t, beta, 1 / beta), reduction) if beta else _l1(x, t, reduction)


@_operator('huber_loss', 'vvif')
def _huber(x, t, reduction, delta):
    return _reduced(_quadratic(x, t, delta, 1.0), reduction)


def _weighted(loss, weight):
    return loss if weight is None else loss * weight


@_operator('binary_cross_entropy', 'vvoi')
def _bce(p, t, weight, reduction):
    loss = t * p.op('Log').at_least(-100.0) + (1.0 - t) * (1.0 - p).op('Log').at_least(-100.0)
    return _reduced(_weighted(-loss, weight), reduction)


@_operator('binary_cross_entropy_with_logits', 'vvooi')
def _bce_logits(x, t, weight, positive, reduction):
    """(1 - t) x + (1 + (positive - 1) t) softplus(-x)"""
    log = (-x).op('Softplus')
    loss = (1.0 - t) * x + (log if positive is None else (1.0 + (positive - 1.0) * t) * log)
    return _reduced(_weighted(loss, weight), reduction)


@_operator('soft_margin_loss', 'vvi')
def _soft_margin(x, t, reduction):
    return _reduced((-t * x).op('Softplus'), reduction)


@_operator('poisson_nll_loss', 'vvbbfi')
def _poisson(x, t, log_input, full, eps, reduction):
    loss = x.op('Exp') - t * x if log_input else x - t * (x + eps).op('Log')
    if full:  # Stirling's formula, for t > 1
        safe = t.at_least(1.0 + 1e-7)
        loss = loss + t.equals(safe).where(safe * safe.op('Log') - safe + 0.5 * (2 * math.pi * safe).op('Log'), 0.0)
    return _reduced(loss, reduction)


@_operator('hinge_embedding_loss', 'vvfi')
def _hinge(x, t, margin, reduction):
    other = t.equals(1.0).where(0.0 * x, (margin - x).at_least(0.0))
    return _reduced(other + t.equals(-1.0).where(0.0 * x, x), reduction)


@_operator('margin_ranking_loss', 'vvvfi')
def _ranking(a, b, t, margin, reduction):
    return _reduced((margin - t * (a - b)).at_least(0.0), reduction)


@_operator('cosine_embedding_loss', 'vvvfi')
def _cosine(a, b, t, margin, reduction):
    tiny = 1e-12
    cosine = (a * b).sum(-1) / (((a * a).sum(-1) + tiny) * ((b * b).sum(-1) + tiny)).op('Sqrt')
    t = t.to(cosine)
    loss = t.equals(1.0).where(1.0 - cosine, 0.0) + t.equals(-1.0).where((cosine - margin).at_least(0.0), 0.0)
    return _reduced(loss, reduction)


def _distance(a, b, p, eps):
    d = a - b + eps if eps else a - b
    if p == math.inf:
        return d.op('Abs').most(-1)
    return (d * d).sum(-1).op('Sqrt') if p == 2 else (d.op('Abs') ** p).sum(-1) ** (1 / p)


@_operator('pairwise_distance', 'vvffb')
def _pairwise_distance(a, b, p, eps, keep):
    return _distance(a, b, p, eps).unsqueeze(-1) if keep else _distance(a, b, p, eps)


@_operator('cdist', 'vvfo')
def _cdist(a, b, p, mode):
    return _distance(a.unsqueeze(-2), b.unsqueeze(-3), p, 0.0)


@_operator('cosine_similarity', 'vvif')
def _cosine_similarity(a, b, axis, eps):
    lengths = [(x * x).sum(axis).op('Sqrt').at_least(eps) for x in (a, b)]
    return (a * b).sum(axis) / (lengths[0] * lengths[1])


@_operator('triplet_margin_loss', 'vvvfffbi')
def _triplet(anchor, near, far, margin, p, eps, swap, reduction):
    apart = _distance(anchor, far, p, eps)
    if swap:
        apart = apart.op('Min', _distance(near, far, p, eps))
    return _reduced((_distance(anchor, near, p, eps) - apart + margin).at_least(0.0), reduction)


def _classes(x, what):
    """0, 1, ... up to the number of classes, and that number."""
    count = x.size(-1, what)
    return x.constant(list(range(count)), torch.int64), count


@_operator('multi_margin_loss', 'vvffoi')
def _multi_margin(x, t, p, margin, weight, reduction):
    classes, count = _classes(x, 'multi_margin_loss')
    column = t.unsqueeze(-1)
    own = x.op('GatherElements', column, axis_i=-1)
    hinge = (margin - own + x).at_least(0.0) ** p
    loss = classes.equals(column).where(0.0 * x, hinge).sum(-1) / float(count)
    return _reduced(loss if weight is None else loss * weight.op('Gather', t), reduction)


@_operator('multilabel_margin_loss', 'vvi')
def _multilabel_margin(x, t, reduction):
    """t: classes, ended by -1."""
    classes, count = _classes(x, 'multilabel_margin_loss')
    ended = (t < 0).to(x).op('CumSum', x.constant(-1, torch.int64))
    valid = ended.equals(0.0).to(x)
    is_it = t.unsqueeze(-1).equals(classes).to(x) * valid.unsqueeze(-1)  # [..., label, class]
    own = (is_it * x.unsqueeze(-2)).sum(-1, keep=True)
    others = 1.0 - is_it.most(-2)
    hinge = (1.0 - own + x.unsqueeze(-2)).at_least(0.0)
    pairs = hinge * valid.unsqueeze(-1) * others.unsqueeze(-2)
    return _reduced(pairs.sum(-1).sum(-1) / float(count), reduction)


def _smooth_classes(x, t, weight, reduction, ignored, smoothing, axis):
    """Every class has its share of the label."""
    log = x.op('LogSoftmax', axis_i=axis)
    mask = (~t.equals(ignored)).to(x)
    count = x.size(axis, 'cross_entropy with label_smoothing')
    extent = [1] * x.rank()
    extent[axis] = -1
    weights = None if weight is None else weight.op('Reshape', x.ints(*extent))
    loss = -_weighted(log, weights).sum(axis) * mask * (smoothing / count)
    if reduction == MEAN:
        known = t.equals(ignored).where(0 * t, t)
        loss = loss.sum_all() / (mask if weight is None else weight.op('Gather', known) * mask).sum_all()
    return loss.sum_all() if reduction == SUM else loss


@_operator('cross_entropy_loss', 'vvoiif')
def _cross_entropy(x, t, weight, reduction, ignored, smoothing):
    axis = 1 if x.rank() > 1 else 0
    if t.dtype in (torch.float16, torch.float32, torch.float64):
        return _cross_entropy_of_probabilities(x, t, weight, reduction, smoothing, axis)
    if axis == 0:
        x, t = x.unsqueeze(0), t.unsqueeze(0)
    loss = x.op('SoftmaxCrossEntropyLoss', t, *([] if weight is None else [weight]), ignore_index_i=ignored,
                reduction_s=('none', 'mean', 'sum')[reduction])
    if smoothing:
        loss = (1 - smoothing) * loss + _smooth_classes(x, t, weight, reduction, ignored, smoothing, 1)
    return loss.sum(0) if axis == 0 and reduction == NONE else loss


def _cross_entropy_of_probabilities(x, t, weight, reduction, smoothing, axis):
    if smoothing:
        t = (1 - smoothing) * t + smoothing / x.size(axis, 'cross_entropy with label_smoothing')
    if weight is not None:
        extent = [1] * x.rank()
        extent[axis] = -1
        t = t * weight.op('Reshape', x.ints(*extent))
    loss = -(x.op('LogSoftmax', axis_i=axis) * t).sum(axis)
    return _reduced(loss, reduction)


# ---- by indices -----------------------------------------------------------------------------------------------------------------

def _scattered(x, axis, index, source, how):
    return x.op('ScatterElements', index, source, axis_i=axis, reduction_s=how)


@_operator('index_add', 'vivvf')
def _index_add(x, axis, index, source, alpha):
    rank = x.rank()
    extent = [1] * rank
    extent[axis] = -1
    index = index.op('Reshape', x.ints(*extent)).op('Expand', source.op('Shape', dtype=torch.int64))
    return _scattered(x, axis, index, source if alpha in (None, 1) else alpha * source, 'add')


def _chosen(x, axis, index):
    """[..., element of x, element of the source, ...]: does the latter go to the former?"""
    n = x.size(axis, 'scatter_reduce')
    places = x.constant(list(range(n)), torch.int64).op('Reshape', x.ints(*[n if k == axis else 1 for k in range(x.rank() + 1)]))
    return index.unsqueeze(axis).equals(places)


def _extreme(x, axis, index, source, name, with_self):
    """The largest or least of what goes to each element, in every opset: ScatterElements has it since 18."""
    worst = -math.inf if name == 'ReduceMax' else math.inf
    chosen = _chosen(x, axis, index)
    best = chosen.where(source.unsqueeze(axis), worst).most(axis + 1, name)
    if with_self:
        return best.op(name[6:], x)
    return chosen.to(x).most(axis + 1).equals(0.0).where(x, best)


@_operator('scatter_reduce', 'vivvsb')
def _scatter_reduce(x, axis, index, source, how, with_self):
    axis = axis % x.rank()
    if how in ('amax', 'amin'):
        name = {'amax': 'ReduceMax', 'amin': 'ReduceMin'}[how]
        if x.g.opset >= 18 and with_self:
            return _scattered(x, axis, index, source, how[1:])
        return _extreme(x, axis, index, source, name, with_self)
    ones = _scattered(0.0 * x, axis, index, 0.0 * source + 1.0, 'add')
    if not with_self:
        x = ones.equals(0.0).where(x, 1.0 if how == 'prod' else 0.0)
    total = _scattered(x, axis, index, source, 'mul' if how == 'prod' else 'add')
    if how != 'mean':
        return total
    return total / (ones + 1.0 if with_self else ones.at_least(1.0))


@_operator('max_unpool2d', 'vvl')
def _max_unpool(x, index, size):
    """PyTorch's indices are those of a plane."""
    height, width = (_Term(x.g, v, torch.int64).op('Reshape', x.ints(1)) for v in _sizes(x, size))
    planes = x.shape(0, -2)
    flat = _concat(planes, height * width)
    zeros = flat.op('ConstantOfShape', value_t=torch.zeros(1, dtype=x.dtype), dtype=x.dtype)
    lines = _concat(planes, x.ints(-1))
    filled = zeros.op('ScatterElements', index.op('Reshape', lines), x.op('Reshape', lines), axis_i=-1)
    return filled.op('Reshape', _concat(planes, height, width))


def _sizes(x, size):
    known = helper._maybe_get_const(size, 'is')
    return [x.ints(n).value for n in known] if isinstance(known, (list, tuple)) else helper._unpack_list(size)


@_operator('cumprod', 'vio')
def _cumprod(x, axis, dtype):
    """Twice as far in every round: products of 2, of 4, ... Before opset 26 there is no CumProd."""
    n, far = x.size(axis, 'cumprod'), 1
    while far < n:
        x = _concat(x.slice(axis, 0, far), x.slice(axis, far, LAST) * x.slice(axis, 0, -far), axis=axis)
        far *= 2
    return x
