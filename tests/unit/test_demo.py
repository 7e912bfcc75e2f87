"""``make demo``: what a new user sees first is what the project is for, and it is short."""

import os
import re
import subprocess
from pathlib import Path

from fencewright.tools.dev.pages.doc_examples import quick_programs

ROOT = Path(__file__).parents[2]
LINES = 130
"""What three screens hold."""


def test_the_demo_shows_the_sequence_and_then_what_is_made_of_it() -> None:
    alone = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    with quick_programs() as programs:
        # As it is: a demonstration that is looked at needs no new environment.
        command = ["make", "-C", str(ROOT), "-o", ".venv/.ready", f"BIN={programs}", "demo"]
        done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = re.findall(
        r"^\s+(buffer_wbl2 sc1|s_waitcnt vmcnt\(0\)|global_store|global_load|buffer_inv sc1)",
        done.stdout,
        re.MULTILINE,
    )
    release = ["buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "global_store"]
    acquire = ["global_load", "s_waitcnt vmcnt(0)", "buffer_inv sc1"]
    assert found[:6] == [*release, *acquire]
    assert "-O0" in done.stdout.partition("buffer_wbl2")[0]
    assert "Counterexample:" in done.stdout
    assert len(done.stdout.splitlines()) < LINES
