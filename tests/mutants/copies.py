"""A copy of the tree to make wrong changes in, and commands that run in it."""
import os
import shutil
import signal
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


GRACE = 3  # seconds between asking a test to end and ending it


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


def call(command, cwd, seconds=None, variables=None, before=None):
    """Status and output; a test that does not end is stopped with all that it started. `before` runs in the new process."""
    environment = dict(os.environ, CK_FORK='yes', CCACHE_BASEDIR=cwd, CCACHE_NOHASHDIR='1', **(variables or {}))
    with subprocess.Popen(command, shell=isinstance(command, str), cwd=cwd, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=before) as p:
        try:
            out, _ = p.communicate(timeout=seconds)
            return p.returncode, out.decode(errors='replace')
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGTERM)  # stepc passes it on to compilers, which have a group of their own
            try:
                p.communicate(timeout=GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.communicate()
            return 124, f'ran for more than {seconds} seconds'
