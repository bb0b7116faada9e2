"""A copy of the tree to make wrong changes in, and commands that run in it."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


GRACE = 3  # seconds between asking a test to end and ending it
FOLDERS = {'stepc': '', 'make_npy': 'tests/cli', 'malformed': 'tests/errors', 'plan_check': 'tests/plan', 'test_cfront_check': 'tests/templates',
           'test_ops': 'tests/ops', 'test_random': 'tests/random', 'test_ranges': 'tests/random', 'test_template': 'tests/templates',
           'test_trees': 'tests/trees', 'unit': 'tests/unit', 'neighbours': 'tests/neighbours'}


class Wrong(Exception):
    """What the user should read."""


def files_of_tree():
    """What git knows or would add; without git, all but build folders."""
    got = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], cwd=ROOT, capture_output=True, check=False)
    if got.returncode == 0:
        return [os.fsdecode(name) for name in got.stdout.split(b'\0') if name]
    names = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in ('build', '.git')]
        names += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
    return names


def copy_tree(to, kept=()):
    """Only what differs is written, so that only that is built again; `kept`: names that are left as they are."""
    names = [n for n in files_of_tree() if os.path.isfile(os.path.join(ROOT, n))]
    for name in names:
        source, target = os.path.join(ROOT, name), os.path.join(to, name)
        if os.path.isfile(target) and (name in kept or open(source, 'rb').read() == open(target, 'rb').read()):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)
    wanted = set(names)
    for folder, folders, files in os.walk(to):
        folders[:] = [f for f in folders if f != 'build']
        for file in files:
            path = os.path.join(folder, file)
            if os.path.relpath(path, to) not in wanted:
                os.remove(path)


def program(build, name):
    """Where a build folder has it: by its name, or by what stands in front of the first underscore."""
    return os.path.join(build, FOLDERS[name] if name in FOLDERS else FOLDERS[name.partition('_')[0]], name)


def wait(p, seconds):
    """Status, or None if it takes longer, and the seconds that processors took for it and for all that it waited for."""
    end = time.monotonic() + seconds
    while True:
        pid, status, usage = os.wait4(p.pid, os.WNOHANG)
        if pid != 0:
            p.returncode = os.waitstatus_to_exitcode(status)
            return p.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() > end:
            return None, 0
        time.sleep(0.005)


def measured(command, cwd, seconds=None, variables=None, before=None):
    """Status, output and the seconds that processors took; a test that does not end is stopped with all that it started. `before` runs in
    the new process."""
    environment = dict(os.environ, CK_FORK='yes', CCACHE_BASEDIR=cwd, CCACHE_NOHASHDIR='1', **(variables or {}))
    with tempfile.TemporaryFile() as out:
        # pylint: disable-next=consider-using-with
        p = subprocess.Popen(command, shell=isinstance(command, str), cwd=cwd, env=environment, stdout=out, stderr=subprocess.STDOUT,
                             start_new_session=True, preexec_fn=before)
        status, used = wait(p, seconds or 1e9)
        if status is None:
            os.killpg(p.pid, signal.SIGTERM)  # stepc passes it on to compilers, which have a group of their own
            if wait(p, GRACE)[0] is None:
                os.killpg(p.pid, signal.SIGKILL)
                wait(p, 1e9)
            return 124, f'ran for more than {seconds} seconds', seconds
        out.seek(0)
        return status, out.read().decode(errors='replace'), used


def call(command, cwd, seconds=None, variables=None, before=None):
    """Status and output, as above."""
    return measured(command, cwd, seconds, variables, before)[:2]
