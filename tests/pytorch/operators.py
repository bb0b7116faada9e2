#!/usr/bin/python3
"""usage: operators.py STEPC [NAME...]

Operators that PyTorch's older exporter refuses or writes badly, and examples/pytorch/export.py knows: losses, sums by indices,
products. The gradient of one step of stepc beside PyTorch's in double. Needs python3-torch.
"""
import os
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

from one_step import expect, failures, try_case

BATCH, WIDTH = 8, 4


class Ended(nn.Module):
    """A network, and behind it what makes a number of its output and of what else is given."""

    def __init__(self, end, width=WIDTH):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16), nn.Linear(16, width)
        self.end = end

    def forward(self, x, *others):
        y = self.end(self.b(torch.tanh(self.a(x))), *others)
        return (y * torch.cos(y)).sum() if y.dim() > 0 else y


class Convolutional(nn.Module):
    def __init__(self, end):
        super().__init__()
        self.a, self.end = nn.Conv2d(1, WIDTH, 3, padding=1), end

    def forward(self, x, *others):
        return self.end(self.a(x), *others)


class Unpooled(nn.Module):
    def __init__(self, size, *pool):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 1, 3)
        self.pool, self.unpool, self.size = nn.MaxPool2d(*pool, return_indices=True), nn.MaxUnpool2d(*pool), size

    def forward(self, x):
        y, where = self.pool(self.a(x))
        return self.b(self.unpool(y.pow(2), where, output_size=self.size and (x.size(0), 3, *self.size))).pow(2).mean()


def rows(make):
    """The others come with the input: all have the batch as their first axis."""
    return lambda: (torch.randn(BATCH, 6), *make())


def normal(*shape):
    return torch.randn(BATCH, *(shape or (WIDTH,)))


def signs(*shape):
    return torch.randint(0, 2, (BATCH, *shape)).float() * 2 - 1


def classes(count=WIDTH, *shape):
    return torch.randint(0, count, (BATCH, *shape))


def shares(*shape):
    return torch.softmax(torch.randn(BATCH, WIDTH, *shape), 1)


WEIGHTS = torch.tensor([1., 2., 3., 4.])


def ce(**options):
    """The weights in the type of the scores."""
    weights = options.pop('weight', None)
    return lambda y, t: F.cross_entropy(y, t, weight=None if weights is None else weights.to(y.dtype), **options)


def pooled_scores(y, t):
    return F.cross_entropy(y, t, label_smoothing=0.2, ignore_index=1)


def reduced(how, with_self, axis=0):
    def end(y, index):
        start = torch.full_like(y, 0.3)[:5] if axis == 0 else torch.full_like(y, 0.3)
        return start.scatter_reduce(axis, index, y, how, include_self=with_self).pow(2).sum()
    return end


# name: (network, inputs, options of the export)
LOSSES = {
    'mse_sum': (lambda y, t: F.mse_loss(y, t, reduction='sum'), lambda: (normal(),)),
    'mse_none': (lambda y, t: F.mse_loss(y, t, reduction='none'), lambda: (normal(),)),
    'l1': (F.l1_loss, lambda: (normal(),)),
    'smooth_l1': (lambda y, t: F.smooth_l1_loss(y, t, beta=0.3), lambda: (normal(),)),
    'smooth_l1_of_0': (lambda y, t: F.smooth_l1_loss(y, t, beta=0.0), lambda: (normal(),)),
    'huber': (lambda y, t: F.huber_loss(y, t, delta=0.4, reduction='none'), lambda: (normal(),)),
    'bce': (lambda y, t: F.binary_cross_entropy(y.sigmoid(), t), lambda: (torch.rand(BATCH, WIDTH),)),
    'bce_logits_large': (lambda y, t: F.binary_cross_entropy_with_logits(90 * y, t), lambda: (torch.rand(BATCH, WIDTH),)),
    'bce_logits_weights': (lambda y, t, w: F.binary_cross_entropy_with_logits(y, t, w, pos_weight=WEIGHTS.to(y.dtype)),
                           lambda: (torch.rand(BATCH, WIDTH), torch.rand(BATCH, WIDTH))),
    'poisson': (lambda y, t: F.poisson_nll_loss(y, t, full=True), lambda: (classes(6, WIDTH).float(),)),
    'poisson_rate': (lambda y, t: F.poisson_nll_loss(y.exp(), t, log_input=False), lambda: (classes(6, WIDTH).float(),)),
    'gaussian': (F.gaussian_nll_loss, lambda: (normal(), torch.rand(BATCH, WIDTH) + 0.1)),
    'gaussian_learned': (lambda y, t: F.gaussian_nll_loss(y, t, y.pow(2), eps=0.1, full=True), lambda: (normal(),)),
    'hinge': (lambda y, t: F.hinge_embedding_loss(y, t, margin=0.4), lambda: (signs(WIDTH),)),
    'ranking': (lambda y, z, t: F.margin_ranking_loss(y, z, t, 0.2, reduction='sum'), lambda: (normal(), signs(WIDTH))),
    'cosine': (lambda y, z, t: F.cosine_embedding_loss(y, z, t, 0.1), lambda: (normal(), signs())),
    'multi_margin': (F.multi_margin_loss, lambda: (classes(),)),
    'multi_margin_2': (lambda y, t: F.multi_margin_loss(y, t, 2, 0.7, WEIGHTS.to(y.dtype)), lambda: (classes(),)),
    'multilabel_margin': (F.multilabel_margin_loss, lambda: (torch.tensor([[0, 2, -1, 1], [3, 1, 0, -1]] * (BATCH // 2)),)),
    'soft_margin': (lambda y, t: F.soft_margin_loss(50 * y, t), lambda: (signs(WIDTH),)),
    'triplet_1': (lambda y, a, b: F.triplet_margin_loss(y, a, b, 2.0, p=1, swap=True), lambda: (normal(), normal())),
    'triplet_3': (lambda y, a, b: F.triplet_margin_loss(y, a, b, p=3, reduction='none'), lambda: (normal(), normal())),
    'pairwise_1': (lambda y, z: F.pairwise_distance(y, z, 1.0), lambda: (normal(),)),
    'pairwise_3': (lambda y, z: F.pairwise_distance(y, z, 3.0, keepdim=True), lambda: (normal(),)),
    'cdist_itself': (lambda y: torch.cdist(y[None], y[None]), lambda: ()),
    'cdist_1': (lambda y, z: torch.cdist(y[None], z[None], 1.0), lambda: (normal(),)),
    'cdist_3': (lambda y, z: torch.cdist(y[None], z[None], 3.0), lambda: (normal(),)),
    'cdist_largest': (lambda y, z: torch.cdist(y[None], z[None], float('inf')), lambda: (normal(),)),
    'cosine_similarity': (lambda y, z: F.cosine_similarity(y * (z[:, :1] > 0), z * 1e-3), lambda: (normal(),)),
    'ce_shares': (ce(weight=WEIGHTS, label_smoothing=0.1), lambda: (shares(),)),
    'ce_smooth': (ce(weight=WEIGHTS, label_smoothing=0.1, ignore_index=2), lambda: (classes(),)),
    'ce_smooth_sum': (ce(label_smoothing=0.3, reduction='sum'), lambda: (classes(),)),
    'ce_none': (ce(reduction='none', weight=WEIGHTS), lambda: (classes(),)),
}
INDEXED = {
    'index_add': (lambda y, i: torch.zeros_like(y)[:5].index_add(0, i, y, alpha=0.5).pow(2).sum(), lambda: (classes(5),)),
    'index_add_columns': (lambda y: y.index_add(1, torch.tensor([2, 0, 2, 1]), y * y).pow(2).sum(), lambda: ()),
    **{f'scatter_{how}{"" if with_self else "_alone"}': (reduced(how, with_self), lambda: (classes(5, WIDTH),))
       for how in ('sum', 'mean', 'prod', 'amax', 'amin') for with_self in (True, False)},
    'scatter_columns': (reduced('amax', False, 1), lambda: (classes(WIDTH, WIDTH),)),
    'cumprod': (lambda y: y.cumprod(1), lambda: ()),
    'cumprod_rows': (lambda y: y.view(-1, 2, 2).cumprod(-2), lambda: ()),
}
OTHERS = {
    'ce_of_pixels': (lambda: Convolutional(pooled_scores), lambda: (normal(1, 5, 5), classes(WIDTH, 5, 5))),
    'ce_shares_of_pixels': (lambda: Convolutional(F.cross_entropy), lambda: (normal(1, 5, 5), shares(5, 5))),
    'unpool': (lambda: Unpooled(None, 2, 2), lambda: (normal(1, 6, 6),)),
    'unpool_odd': (lambda: Unpooled((7, 9), 3, 2), lambda: (normal(1, 7, 9),)),
}


def cases():
    for name, (end, others) in {**LOSSES, **INDEXED}.items():
        yield name, (lambda end=end: Ended(end)), rows(others), {'dynamic': name in LOSSES}
    for name, (make, inputs) in OTHERS.items():
        yield name, make, inputs, {}


def main():
    chosen = sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name, make, inputs, options in cases():
            try:
                if not chosen or name in chosen:
                    try_case(name, make, inputs, engines=('interpreted',), **options)
            except Exception as e:
                expect(False, f'{name}: {e}')
    sys.exit(len(failures) > 0)


if __name__ == '__main__':
    main()
