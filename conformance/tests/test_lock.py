"""Two runs never write to one output folder at the same time."""

import os
import signal
import subprocess
import sys

import pytest

from busproof.cli import main
from busproof.lock import Taken, alone

_HOLDER = """
import sys, time
from pathlib import Path
from busproof.lock import alone
with alone(Path(sys.argv[1]), "chaos"):
    print("held", flush=True)
    time.sleep(60)
"""


def _holder(folder):
    process = subprocess.Popen([sys.executable, "-c", _HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_run_is_told_which_process_has_the_folder(tmp_path):
    with _holder(tmp_path) as first:
        try:
            with pytest.raises(Taken, match=rf"\(process {first.pid}\) has {tmp_path}/.chaos.lock: .* another --out"):
                alone(tmp_path, "chaos").__enter__()
        finally:
            first.kill()


def test_the_lock_of_a_killed_run_blocks_nobody(tmp_path):
    with _holder(tmp_path) as first:
        os.kill(first.pid, signal.SIGKILL)
    with alone(tmp_path, "chaos"):
        pass


def test_a_run_that_ended_frees_its_folder_though_a_forked_child_lives_on(tmp_path):
    reader, writer = os.pipe()
    with alone(tmp_path, "chaos"):
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)  # until the parent closes its end
            os._exit(0)
    with alone(tmp_path, "chaos"):
        os.close(writer)
    os.waitpid(child, 0)
    os.close(reader)


def test_another_command_may_write_to_the_same_folder(tmp_path):
    with alone(tmp_path / "new", "chaos"), alone(tmp_path / "new", "explore"):
        pass


def test_a_second_search_in_a_folder_is_refused(tmp_path, capsys):
    with alone(tmp_path, "explore"):
        assert main(["explore", "worker", "--calls", "9", "--out", str(tmp_path)]) == 2
    assert "give this run another --out" in capsys.readouterr().err
