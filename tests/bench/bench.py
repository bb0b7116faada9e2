#!/usr/bin/python3
"""Runs the benchmark; tests/bench/run installs what it needs, builds stepc and starts it. README.md says what is measured how.

usage: bench.py STEPC FOLDER [options]      FOLDER: where everything is built
"""
import argparse
import concurrent.futures
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings('ignore')  # PyTorch's, about tracing

import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUNTIME = os.path.join(ROOT, 'runtime')
NATIVE = ['-march=native', '-ffp-contract=fast']
OPTIMIZERS = {'sgd': 'sgd', 'momentum': 'momentum:alpha=0.9,beta=1', 'adam': 'adam', 'adamw': 'adamw'}
BLAS = [os.path.join(RUNTIME, 'blas', 'stepc_blas.c'), '-lopenblas']
EMBEDDED_PARAMETERS = 1_000_000  # beyond that the program draws its first weights: C compilers are slow with 60 MB of numbers


# ---- small things -----------------------------------------------------------------------------------------------------


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write('\r\033[K' + text[:100])
    else:
        sys.stderr.write(text + '\n' if text else '')
    sys.stderr.flush()


def call(*command, **options):
    """Runs a command and returns its CPU seconds; its output is shown only if it fails."""
    with tempfile.TemporaryFile('w+') as said:
        process = subprocess.Popen([str(word) for word in command], stdout=said, stderr=subprocess.STDOUT, **options)
        _, status, used = os.wait4(process.pid, 0)  # several may run side by side: of this one only
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            raise SystemExit(f'{" ".join(map(str, command))}\n{said.read()}')
    return used.ru_utime + used.ru_stime


def output(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options).stdout


def environment_of(threads):
    return dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))


def quartile(samples):
    return sorted(samples)[len(samples) // 4]


def machine():
    name = platform.processor() or platform.machine()
    try:
        with open('/proc/cpuinfo') as file:
            name = re.search(r'model name\s*: (.*)', file.read()).group(1)
    except (OSError, AttributeError):
        pass
    versions = [output(cc, '--version').splitlines()[0] for cc in ('gcc', 'clang')]
    import torch
    return f'{name}, {os.cpu_count()} CPUs; {"; ".join(versions)}; PyTorch {torch.__version__}'


class Table:
    """Rows of text under a head; the first column is left-aligned."""

    def __init__(self, *head):
        self.rows = [head]

    def add(self, *cells):
        self.rows.append([str(c) for c in cells])

    def lines(self):
        width = [max(len(row[i]) for row in self.rows) for i in range(len(self.rows[0]))]
        for number, row in enumerate(self.rows):
            yield '| ' + ' | '.join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, width))) + ' |'
            if number == 0:
                yield '|' + '|'.join('-' * (w + 2) if i == 0 else '-' * (w + 1) + ':' for i, w in enumerate(width)) + '|'


def milliseconds(ms):
    return f'{ms:.6f}' if ms < 0.001 else f'{ms:.4f}' if ms < 0.1 else f'{ms:.3f}' if ms < 10 else f'{ms:.2f}'


# ---- programs ---------------------------------------------------------------------------------------------------------


class Variant:
    """How a model becomes a program: options of stepc, C compiler and flags, further sources and libraries, threads."""

    def __init__(self, name, cc, flags, stepc=(), link=(), threads=1):
        self.name, self.cc, self.flags, self.stepc, self.link, self.threads = name, cc, list(flags), list(stepc), list(link), threads


def variants(quick):
    result = [Variant('gcc', 'gcc', ['-O3', *NATIVE]), Variant('clang', 'clang', ['-O3', *NATIVE])]
    if quick:
        return result
    exact = ['-O3', '-march=native', '-ffp-contract=off']
    return result + [
        Variant('gcc -O2', 'gcc', ['-O2', *NATIVE]), Variant('clang -O2', 'clang', ['-O2', *NATIVE]),
        Variant('gcc --reproducible', 'gcc', exact, ['--reproducible']),
        Variant('clang --reproducible', 'clang', exact, ['--reproducible']),
        Variant('gcc --simd none', 'gcc', ['-O3', *NATIVE], ['--simd', 'none']),
        Variant('gcc --blas', 'gcc', ['-O3', *NATIVE], ['--blas'], BLAS),
        Variant('gcc --threads 2', 'gcc', ['-O3', '-fopenmp', *NATIVE], ['--threads', 2], ['-fopenmp'], threads=2),
        Variant('gcc --threads 2 --blas', 'gcc', ['-O3', '-fopenmp', *NATIVE], ['--threads', 2, '--blas'], ['-fopenmp', *BLAS], threads=2)]


class Build:
    """The files of one workload: exported, prepared, emitted once for each set of options, compiled once for each variant."""

    def __init__(self, stepc, folder, workload):
        self.stepc, self.workload, self.folder = stepc, workload, os.path.join(folder, workload.name)
        os.makedirs(self.folder, exist_ok=True)
        self.emitted, self.stepc_seconds, self.cc_seconds = {}, {}, {}
        model = os.path.join(self.folder, 'model.onnx')
        workloads.export(workload, model)
        self.model = os.path.join(self.folder, 'train.onnx')
        large = sum(p.numel() for p in workload.module().parameters()) > EMBEDDED_PARAMETERS
        call(stepc, 'prepare', model, '-o', self.model, '--loss', 'softmax-cross-entropy', '--class-axis', workload.class_axis, '--optimizer',
             OPTIMIZERS[workload.optimizer], '--learning-rate', workload.rate, '--initialize', 'he' if large else 'keep', '--quiet')

    def emit(self, options):
        key = ' '.join(map(str, options))
        if key not in self.emitted:
            source = os.path.join(self.folder, f'{self.workload.name}{re.sub("[^a-z0-9]+", "_", key)}.c')
            compile_model = (self.stepc, 'compile', self.model, '-o', source, '--name', self.workload.name, *options)
            self.stepc_seconds[key] = min(call(*compile_model) for _ in range(3))
            self.emitted[key] = source
        return self.emitted[key]

    def data_arguments(self):
        w = self.workload
        return [f'{name}={bound}' for name, _, bound in w.inputs + [('target', None, w.classes)] if bound is not None]

    def program(self, variant, profile=False):
        """Path of the program: the driver with the model."""
        source = self.emit((*variant.stepc, '--trace') if profile else variant.stepc)
        stem = os.path.join(self.folder, re.sub('[^a-z0-9A-Z]+', '_', variant.name) + ('_profile' if profile else ''))
        common = [variant.cc, '-std=gnu11', '-I', self.folder, '-I', RUNTIME, '-I', os.path.join(RUNTIME, 'blas')]
        traced = ['-include', os.path.join(HERE, 'trace.h')] if profile else []
        self.cc_seconds[variant.name] = call(*common, *variant.flags, *traced, '-c', source, '-o', stem + '.o')
        driver = [f'-DMODEL={self.workload.name}_model', *(['-DPROFILE'] if profile else []), *(['-DWALL'] if variant.threads > 1 else [])]
        call(*common, '-O2', *driver, os.path.join(HERE, 'drive.c'), os.path.join(RUNTIME, 'stepc.c'), stem + '.o', *variant.link, '-lm',
             '-o', stem)
        return stem

    def calls_blas(self, variant):
        with open(self.emit(variant.stepc)) as file:
            return 'stepc_blas.h' in file.read()

    def programs(self, chosen):
        """[(variant, path)] of those that differ: where no product is large enough, --blas changes nothing."""
        wanted = [v for v in chosen if '--blas' not in v.stepc or self.calls_blas(v)]
        for variant in wanted:
            self.emit(variant.stepc)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(zip(wanted, pool.map(self.program, wanted)))

    def inspect(self):
        """What stepc says of entry step: a dictionary, see docs/inspect.md."""
        text = output(self.stepc, 'inspect', self.model, '--entries', 'step', '--json', '-')
        return json.loads(text)


# ---- servers ----------------------------------------------------------------------------------------------------------


class Server:
    """A process that answers a line with a number."""

    def __init__(self, *command, threads=1):
        self.command, self.threads = [str(word) for word in command], threads
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment_of(self.threads),
                                        stderr=subprocess.DEVNULL if 'torch_peer.py' in str(self.command) else None)

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            progress('')
            sys.exit(f'{self.process.args}: ended with status {self.process.wait()}')
        return text

    def ask(self, request):
        self.process.stdin.write(request + '\n')
        self.process.stdin.flush()
        return float(self.line())

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def restart(self, request):
        """Anew, at other addresses; back when the first answer is there, so that nobody else is timed beside the start."""
        self.close()
        self.start()
        self.ask(request)


class Contender:
    """Something timed by turns: `steps` are chosen so that one sample lasts about `target` milliseconds."""

    def __init__(self, server, request, target):
        self.server, self.request, self.samples = server, request, []
        once = min(server.ask(request.format(1)) for _ in range(2))
        self.steps = max(1, int(target / max(once, 1e-4)))

    def take(self):
        self.samples.append(self.server.ask(self.request.format(self.steps)))

    def ms(self):
        return quartile(self.samples)


class Peak:
    """What the machine can do, measured in the same run: GFLOP/s and GB/s. With threads, the rate of OpenBLAS."""

    SGEMM, TILE = ['sgemm 512', 'sgemm 768', 'sgemm 1024'], 'tile'
    PRODUCTS, CHAIN = SGEMM + [TILE], 'chain'
    THREADED = 'sgemm 1024'

    def __init__(self, program):
        self.servers, self.rates = {t: Server(program, t, threads=t) for t in (1, 2)}, {}

    def begin(self):
        self.rates = {}

    def take(self, request, threads=1):
        self.rates.setdefault((request, threads), []).append(self.servers[threads].ask(request))

    def rate(self, request, threads=1):
        """The upper quartile (the lower one of the times) since begin(): what is set beside it saw the same neighbours."""
        return 1 / quartile([1 / rate for rate in self.rates[request, threads]])

    def gain(self, threads):
        return self.rate(self.THREADED, threads) / self.rate(self.THREADED)

    def sgemm(self):
        """(GFLOP/s, request) of OpenBLAS's fastest square product."""
        return max((self.rate(request), request) for request in self.SGEMM)


def build_peak(folder):
    program = os.path.join(folder, 'peak')
    call('gcc', '-O3', '-march=native', os.path.join(HERE, 'peak.c'), '-o', program, '-lopenblas')
    return program


RESTART = 3  # rounds that a program lives: where its memory happens to lie may cost a small step 10 to 15 %
FEWEST, LONGEST = 9, 60  # rounds of a workload; seconds for those beyond: the whole run takes about ten minutes


# ---- one workload -----------------------------------------------------------------------------------------------------


class Result:
    pass


def moved_bytes(build):
    """Bytes that a step cannot avoid to move, and those without the second reading of the weights. Forwards every weight and input is read;
    backwards, which begins once the loss is known, every variable is read and written."""
    once = 2 * build.inspect()['memory']['state_bytes'] + workloads.input_bytes(build.workload)
    return once + workloads.weight_bytes(build.workload), once


def measure(build, programs, peak, rounds, target, with_torch=True):
    """programs: [(variant, path)]. All take turns: rounds times one sample of each."""
    workload, result = build.workload, Result()
    (result.flops, chain), (result.bytes, once) = workloads.step_work(workload), moved_bytes(build)
    bandwidth = f'bandwidth {max(once // 2, 4096)}'
    threads = sorted({variant.threads for variant, _ in programs})
    result.contenders, torch_forms = {}, {t: {} for t in threads}
    steps = [Server(path, *build.data_arguments(), threads=variant.threads) for variant, path in programs]
    for server, (variant, _) in zip(steps, programs):
        result.contenders[variant.name] = Contender(server, '{}', target)
    servers = steps[:]
    for t in threads if with_torch else []:
        servers.append(Server(sys.executable, os.path.join(HERE, 'torch_peer.py'), workload.name, t, threads=t))
        for form in servers[-1].line().split():
            torch_forms[t][form] = Contender(servers[-1], form + ' {}', target)
    peak.begin()
    start = time.monotonic()
    for i in range(rounds):
        spent = time.monotonic() - start
        if i >= FEWEST and spent + spent / i > LONGEST:
            break
        progress(f'{workload.name}: round {i + 1} of {rounds}')
        for server in steps if i and i % RESTART == 0 else []:
            server.restart('1')
        for contender in list(result.contenders.values()) + [f for forms in torch_forms.values() for f in forms.values()]:
            contender.take()
        for request in Peak.PRODUCTS + [bandwidth, Peak.CHAIN]:
            peak.take(request)
        for t in threads[1:]:
            peak.take(Peak.THREADED, t)
    progress('')
    for server in servers:
        server.close()
    result.gain = {t: peak.gain(t) for t in threads[1:]}
    (result.peak, result.peak_name), result.tile, result.bandwidth = peak.sgemm(), peak.rate(Peak.TILE), peak.rate(bandwidth)
    result.limit, result.tile_limit = (max(result.flops / rate, result.bytes / result.bandwidth) * 1e-6 for rate in (result.peak, result.tile))
    result.limit_once = max(result.flops / result.peak, once / result.bandwidth) * 1e-6
    result.chain = chain / peak.rate(Peak.CHAIN) * 1e-6
    result.torch = {t: min((forms[f].ms(), f) for f in ('eager', 'traced')) for t, forms in torch_forms.items() if forms}
    result.torch_fastest = {t: min((forms[f].ms(), f) for f in forms) for t, forms in torch_forms.items() if forms}
    return result


def cost_row(workload, result):
    """What options and lower optimisation cost: times of the same compiler without them."""
    def ratio(name):
        other = result.contenders.get(name)
        return f'{other.ms() / result.contenders[name.split()[0]].ms():.2f}' if other else 'no call'
    return [workload.title, *map(ratio, COSTS)]


COSTS = ['gcc -O2', 'clang -O2', 'gcc --reproducible', 'clang --reproducible', 'gcc --simd none', 'gcc --blas']


def thread_rows(workload, result):
    """How much two threads gain, beside PyTorch and OpenBLAS in the same run."""
    one = result.contenders['gcc'].ms()
    for name in ('gcc --threads 2', 'gcc --threads 2 --blas'):
        if name not in result.contenders:
            continue
        two = result.contenders[name].ms()
        gain, torch_gain, sgemm = one / two, result.torch[1][0] / result.torch[2][0], result.gain[2]
        yield [workload.title, name.replace('gcc ', ''), milliseconds(one), milliseconds(two), f'{gain:.2f}', f'{torch_gain:.2f}', f'{sgemm:.2f}',
               f'{gain / sgemm:.2f}', f'{result.torch[2][0] / two:.2f}']


THREAD_HEAD = ('workload', 'options', '1 thread, ms', '2 threads, ms', 'gain', 'PyTorch gains', 'sgemm gains', 'gain / sgemm', 'x PyTorch')
HEAD = ('workload', 'program', 'ms', 'x PyTorch', 'x its fastest', 'x limit', 'x tile')


def add_rows(table, workload, programs, result):
    def limits(ms, threads):
        return [f'{ms / limit * threads:.2f}' for limit in (result.limit, result.tile_limit)]

    table.add(workload.title, f'limit at {result.peak:.0f} GFLOP/s (tile {result.tile:.0f})', milliseconds(result.limit), '', '', *limits(result.limit, 1))
    for t, (ms, form) in result.torch.items():
        fastest, fastest_form = result.torch_fastest[t]
        suffix = '' if t == 1 else f', {t} threads'
        table.add('', f'PyTorch {form}{suffix}', milliseconds(ms), '1.00', f'{fastest / ms:.2f}', *limits(ms, t))
        if fastest_form != form:
            table.add('', f'PyTorch {fastest_form}{suffix}', milliseconds(fastest), f'{ms / fastest:.2f}', '1.00', *limits(fastest, t))
    for variant, _ in programs:
        ms, t = result.contenders[variant.name].ms(), variant.threads
        ratios = [f'{result.torch[t][0] / ms:.2f}', f'{result.torch_fastest[t][0] / ms:.2f}'] if t in result.torch else ['', '']
        table.add('', variant.name, milliseconds(ms), *ratios, *limits(ms, t))


def run_workloads(options, chosen, peak):
    table, memory, speed = Table(*HEAD), Table('workload', 'arena bytes', 'lower bound', 'ratio', 'state bytes', 'Mflop', 'bytes moved'), \
        Table('workload', 'stepc compile, s', 'emitted kB', 'gcc -O3, s', 'clang -O3, s')
    costs, threads = Table('workload', *COSTS), Table(*THREAD_HEAD)
    for number, workload in enumerate(chosen):
        progress(f'{workload.name} ({number + 1} of {len(chosen)}): building')
        build = Build(options.stepc, options.folder, workload)
        programs = build.programs(variants(options.quick))
        result = measure(build, programs, peak, options.rounds, options.sample)
        one = Table(*HEAD)
        add_rows(one, workload, programs, result)
        add_rows(table, workload, programs, result)
        print('\n'.join(one.lines()), flush=True)
        print(f'peak {result.peak:.1f} GFLOP/s ({result.peak_name}; tile {result.tile:.1f}), {result.bandwidth:.1f} GB/s\n', flush=True)
        if not options.quick:
            costs.add(*cost_row(workload, result))
            for row in thread_rows(workload, result):
                threads.add(*row)
        report = build.inspect()
        arena, bound = (report['entries'][0][key] for key in ('arena_bytes', 'arena_lower_bound'))
        memory.add(workload.title, arena, bound, f'{arena / max(bound, 1):.3f}', report['memory']['state_bytes'], f'{result.flops / 1e6:.2f}',
                   result.bytes)
        speed.add(workload.title, f'{build.stepc_seconds[""]:.3f}', os.path.getsize(build.emitted['']) // 1000,
                  f'{build.cc_seconds["gcc"]:.2f}', f'{build.cc_seconds["clang"]:.2f}')
    sections = {'Training step': [*table.lines()]}
    if not options.quick:
        sections['Two threads'] = ['Wall-clock time of two threads, CPU time of one; sgemm: OpenBLAS, 1024 x 1024.', '', *threads.lines()]
        sections['What options cost'] = ['Times of `-O3` without the option, by the same compiler; no call: no product is large enough.', '',
                                         *costs.lines()]
    sections.update({'Memory': list(memory.lines()), 'Compile speed': ['CPU time.', '', *speed.lines()]})
    for title in list(sections)[1:]:
        print('\n'.join([title, *sections[title], '']), flush=True)
    return sections


# ---- further shapes ---------------------------------------------------------------------------------------------------


def run_shapes(options, chosen, peak):
    """Each shape's ratio to its limit, beside that of its sibling among the workloads; also with weights that are read once."""
    table, siblings = Table('shape', 'limit ms', 'read once', 'chain ms', 'gcc ms', 'clang ms', 'gcc x limit', 'clang x limit', 'gcc / sibling',
                            'clang / sibling', 'read once', ''), {}

    def measured(workload):
        """(its Result, ms by compiler)"""
        progress(f'{workload.name}: building')
        build = Build(options.stepc, options.folder, workload)
        programs = build.programs(variants(True))
        result = measure(build, programs, peak, options.rounds, options.sample, with_torch=False)
        return result, [result.contenders[v.name].ms() for v, _ in programs]

    for workload in chosen:
        if workload.sibling not in siblings:
            siblings[workload.sibling] = measured(workloads.find(workload.sibling))
        (other, other_times), (result, times) = siblings[workload.sibling], measured(workload)
        own = [t / result.limit for t in times]
        beside = [t / result.limit / (o / other.limit) for t, o in zip(times, other_times)]
        beside_once = [t / result.limit_once / (o / other.limit_once) for t, o in zip(times, other_times)]
        table.add(workload.title, *[milliseconds(t) for t in (result.limit, result.limit_once, result.chain, *times)],
                  *[f'{r:.2f}' for r in own + beside], ', '.join(f'{r:.2f}' for r in beside_once), 'more than 2' if max(beside) > 2 else '')
        progress(f'{workload.name}: {own[0]:.2f} {own[1]:.2f} x limit, {beside[0]:.2f} {beside[1]:.2f} x sibling')
    progress('')
    print('\n'.join(table.lines()))
    return {'Other shapes': table.lines()}


# ---- profile ----------------------------------------------------------------------------------------------------------


def take_profile(options, build, variant, program):
    """{number of a kernel: (name, ms)}"""
    steps = max(20, min(20000, int(2e9 * options.rounds / workloads.step_work(build.workload)[0])))
    lines = output(program, '--profile', steps, *build.data_arguments(), env=environment_of(variant.threads)).splitlines()
    return {int(number): (name, float(ms)) for number, name, ms in (line.split() for line in lines)}


def run_thread_profile(options, chosen):
    """Kernels with one thread and with two, in turns; the best of each."""
    sections = {}
    pair = [next(v for v in variants(False) if v.name == name) for name in ('gcc', 'gcc --threads 2')]
    for workload in chosen:
        progress(f'{workload.name}: building')
        build = Build(options.stepc, options.folder, workload)
        programs = [build.program(variant, profile=True) for variant in pair]
        with open(build.emit(pair[1].stepc)) as file:
            text = file.read()
        names, best = {}, [{}, {}]
        for turn in range(3):
            progress(f'{workload.name}: turn {turn + 1}')
            for variant, program, times in zip(pair, programs, best):
                for number, (name, ms) in take_profile(options, build, variant, program).items():
                    names[number] = name
                    times[number] = min(ms, times.get(number, ms))
        groups = {}
        for number, name in names.items():
            g = groups.setdefault(name, [0, 0.0, 0.0])
            g[0] += 1
            for i in (0, 1):
                g[1 + i] += best[i][number]
        total = [sum(g[1 + i] for g in groups.values()) for i in (0, 1)]
        table = Table('kernel', 'calls', 'cut', '1 thread, ms', 'share', '2 threads, ms', 'share', 'gain', 'more than half, ms')
        for name, (count, one, two) in sorted(groups.items(), key=lambda item: -item[1][2]):
            table.add(name, count, 'yes' if f' {name}_share(' in text else '', milliseconds(one), f'{one / total[0]:.1%}', milliseconds(two),
                      f'{two / total[1]:.1%}', f'{one / max(two, 1e-9):.2f}', milliseconds(max(0.0, two - one / 2)))
        progress('')
        title = f'{workload.title}: one thread {milliseconds(total[0])} ms, two {milliseconds(total[1])} ms'
        print('\n'.join([title, *table.lines(), '']), flush=True)
        sections['Kernels with two threads of ' + workload.title] = [title.partition(': ')[2] + '.', '', *table.lines()]
    return sections


def run_profile(options, chosen, peak):
    sections = {}
    for workload in chosen:
        progress(f'{workload.name}: building')
        build = Build(options.stepc, options.folder, workload)
        report = build.inspect()
        kernels = {k['index']: (k['flops'], k['bytes_read'] + k['bytes_written']) for k in report['entries'][0]['kernels']}
        working_set = report['memory']['ram_bytes'] + workloads.input_bytes(workload)
        bandwidth = f'bandwidth {working_set}'
        times, names = {}, {}
        peak.begin()
        for variant in variants(True):
            progress(f'{workload.name}: {variant.name}')
            program = build.program(variant, profile=True)
            for number, (name, ms) in take_profile(options, build, variant, program).items():
                names[number] = name
                times.setdefault(number, {})[variant.name] = ms
            for request in Peak.PRODUCTS + [bandwidth]:
                peak.take(request)
        rate, bytes_rate = peak.rate(Peak.TILE), peak.rate(bandwidth)
        groups = {}
        for number, by_variant in times.items():
            g = groups.setdefault(names[number], dict(count=0, flops=0, bytes=0, limit=0.0, gcc=0.0, clang=0.0))
            flops, size = kernels.get(number, (0, 0))
            g['count'] += 1
            g['flops'] += flops
            g['bytes'] += size
            g['limit'] += max(flops / rate, size / bytes_rate) * 1e-6
            for variant, ms in by_variant.items():
                g[variant] += ms
        total = {v: sum(g[v] for g in groups.values()) for v in ('gcc', 'clang')}
        table = Table('kernel', 'calls', 'gcc ms', 'share', 'clang ms', 'share', 'Mflop', 'gcc GFLOP/s', 'clang GFLOP/s', 'kB', 'limit ms',
                      'gcc x limit', 'clang x limit')
        for name, g in sorted(groups.items(), key=lambda item: -max(item[1]['gcc'], item[1]['clang'])):
            table.add(name, g['count'], milliseconds(g['gcc']), f'{g["gcc"] / total["gcc"]:.1%}', milliseconds(g['clang']),
                      f'{g["clang"] / total["clang"]:.1%}', f'{g["flops"] / 1e6:.3f}', f'{g["flops"] / max(g["gcc"], 1e-9) * 1e-6:.1f}',
                      f'{g["flops"] / max(g["clang"], 1e-9) * 1e-6:.1f}', g['bytes'] // 1000, milliseconds(g['limit']),
                      f'{g["gcc"] / max(g["limit"], 1e-9):.1f}', f'{g["clang"] / max(g["limit"], 1e-9):.1f}')
        progress('')
        title = f'{workload.title}: gcc {milliseconds(total["gcc"])} ms, clang {milliseconds(total["clang"])} ms ' \
                f'(peak {rate:.0f} GFLOP/s, {bytes_rate:.0f} GB/s over {working_set // 1000} kB)'
        print('\n'.join([title, *table.lines(), '']), flush=True)
        sections['Kernels of ' + workload.title] = [title.partition(': ')[2] + '.', '', *table.lines()]
    return sections


# ---- the compiler itself ----------------------------------------------------------------------------------------------


CHAINS = [1000, 10000, 100000]


def write_chain(path, nodes):
    """A training model in a file: `nodes` elementwise nodes, one after the other, with a weight every hundredth."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    import numpy as np
    weights, graph_nodes, value = [], [], 'x'
    for i in range(nodes):
        if i % 100 == 0:
            weights.append(numpy_helper.from_array(np.full((1, 8), 0.5, np.float32), f'w{i // 100}'))
            graph_nodes.append(helper.make_node('Add', [value, f'w{i // 100}'], [f'v{i}'], f'n{i}'))
        else:
            graph_nodes.append(helper.make_node(('Tanh', 'Sigmoid', 'Neg', 'Relu')[i % 4], [value], [f'v{i}'], f'n{i}'))
        value = f'v{i}'
    graph = helper.make_graph(graph_nodes, 'chain', [helper.make_tensor_value_info('x', TensorProto.FLOAT, [4, 8])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [4, 8])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8), path)


def run_scaling(options):
    table, seconds = Table('nodes', 'prepare, s', 'compile, s', 'emitted kB', 'x nodes', 'x time'), {}
    folder = os.path.join(options.folder, 'chain')
    os.makedirs(folder, exist_ok=True)
    for nodes in CHAINS[:2] if options.quick else CHAINS:
        progress(f'chain of {nodes} nodes')
        model, train, source = (os.path.join(folder, f'{stem}{nodes}{end}') for stem, end in (('chain', '.onnx'), ('train', '.onnx'), ('chain', '.c')))
        write_chain(model, nodes)
        prepare = call(options.stepc, 'prepare', model, '-o', train, '--loss', 'mse', '--optimizer', 'sgd', '--train', 'w*', '--quiet')
        seconds[nodes] = min(call(options.stepc, 'compile', train, '-o', source) for _ in range(5 if nodes < 100000 else 3))
        table.add(nodes, f'{prepare:.3f}', f'{seconds[nodes]:.3f}', os.path.getsize(source) // 1000, nodes // CHAINS[0],
                  f'{seconds[nodes] / seconds[CHAINS[0]]:.1f}')
    progress('')
    print('\n'.join(table.lines()))
    return {'Compile speed of a chain of elementwise nodes': ['CPU time for the training model.', '', *table.lines()]}


# ---- functions --------------------------------------------------------------------------------------------------------


def run_functions(options):
    import functions
    table = Table('1024 x 256', 'PyTorch, ns', *(f'{cc}: x PyTorch' for cc in functions.COMPILERS))
    for name, (peer, *times) in functions.rows(options.stepc, options.folder, 200 if options.quick else 1000):
        progress(name)
        table.add(name, f'{peer:.2f}', *(f'{ns / peer:.2f}' for ns in times))
    progress('')
    print('\n'.join(table.lines()))
    return {'Functions': ['The least time of an element, of forms that take turns in one process.', '', *table.lines()]}


# ---- results.md -------------------------------------------------------------------------------------------------------


def groups_of(lines):
    """A table as (head, {first cell: its rows}): rows with an empty first cell belong to the one above; (None, {}) without a table."""
    rows = [[cell.strip() for cell in line.split('|')[1:-1]] for line in lines if line.startswith('|')]
    groups, name = {}, ''
    for row in rows[2:]:
        name = row[0] or name
        groups.setdefault(name, []).append(row)
    return rows[0] if rows else None, groups


def with_rows_of(old, new):
    """The lines of a new table, in which rows of an old one stay that it has no new ones for: workloads left out by --only."""
    (old_head, old_groups), (head, groups) = groups_of(old), groups_of(new)
    if head is None or head != old_head or old[0] != new[0]:  # another table, or another machine
        return new
    groups = {**old_groups, **groups}
    titles = [w.title for w in workloads.WORKLOADS + workloads.SHAPES]
    table = Table(*head)
    for name in sorted(groups, key=lambda name: titles.index(name) if name in titles else -1):
        for row in groups[name]:
            table.add(*row)
    return [line for line in new if not line.startswith('|')] + list(table.lines())


def write_results(path, sections):
    """Puts these sections, {title: lines}, into a file, and keeps the others, as well as rows of workloads that they lack."""
    kept = {}
    if os.path.exists(path):
        with open(path) as file:
            for section in file.read().split('\n## ')[1:]:
                title, _, body = section.partition('\n')
                kept[title] = body.strip('\n').split('\n')
    for title, lines in sections.items():
        lines = [machine() + '.', '', *lines]
        kept[title] = with_rows_of(kept[title], lines) if title in kept else lines
    with open(path, 'w') as file:
        file.write('# Results\n\nWritten by `tests/bench/run --write`, a section at a time; [README.md](README.md) says what is measured how.\n')
        for title, lines in kept.items():
            file.write(f'\n## {title}\n\n' + '\n'.join(lines) + '\n')


# ---- main -------------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(prog='tests/bench/run')
    parser.add_argument('stepc', help=argparse.SUPPRESS)
    parser.add_argument('folder', help=argparse.SUPPRESS)
    parser.add_argument('--only', metavar='NAME', action='append', help='only this workload or shape (again for more)')
    parser.add_argument('--quick', action='store_true', help='gcc and clang with -O3 only, fewer and shorter samples')
    parser.add_argument('--profile', action='store_true', help='time of each kernel instead')
    parser.add_argument('--threads', action='store_true', help='with --profile: with one thread and with two, side by side')
    parser.add_argument('--shapes', action='store_true', help='further shapes of the same kinds instead')
    parser.add_argument('--scaling', action='store_true', help='only the speed of stepc compile on long chains')
    parser.add_argument('--functions', action='store_true', help='only functions, norms, indices and sorting, beside PyTorch')
    parser.add_argument('--write', nargs='?', const=os.path.join(HERE, 'results.md'), metavar='FILE',
                        help='also write the tables to FILE (tests/bench/results.md), in the place of the same ones there')
    options = parser.parse_args()
    options.rounds, options.sample = (9, 15) if options.quick else (25, 30)
    start = time.monotonic()
    os.environ.pop('OPENBLAS_CORETYPE', None)  # kernels of an older processor would slow PyTorch down, and lower the peak
    os.makedirs(options.folder, exist_ok=True)
    table = workloads.SHAPES if options.shapes else workloads.WORKLOADS
    names = options.only or [w.name for w in table]
    if options.threads and not options.profile:
        parser.error('--threads goes with --profile; two threads are among the measurements anyway')
    unknown = [name for name in names if name not in [w.name for w in table]]
    if unknown:
        parser.error(f'--only {unknown[0]}: not among {", ".join(w.name for w in table)}')
    chosen = [w for w in table if w.name in names]
    print(machine() + '\n', flush=True)
    peak = Peak(build_peak(options.folder)) if not options.functions else None
    if options.scaling:
        sections = run_scaling(options)
    elif options.functions:
        sections = run_functions(options)
    elif options.profile and options.threads:
        sections = run_thread_profile(options, chosen)
    elif options.profile:
        sections = run_profile(options, chosen, peak)
    elif options.shapes:
        sections = run_shapes(options, chosen, peak)
    else:
        sections = run_workloads(options, chosen, peak)
    if options.write:
        write_results(options.write, sections)
    print(f'{time.monotonic() - start:.0f} s')


main()
