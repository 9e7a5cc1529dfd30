import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# How long an example takes says more about the machine's load than about the code; the same
# examples each time, so that a failure is a change's and not the day's.
settings.register_profile("ident", deadline=None, derandomize=True)
settings.load_profile("ident")


def pytest_configure(config: pytest.Config) -> None:
    """Set what every test, worker and command started by a test inherits."""
    if hasattr(config, "workerinput"):
        return  # a worker has its parent's environment
    os.environ["MPLBACKEND"] = "Agg"
    # One cache for all workers (entries are written whole), and never the user's own.
    os.environ["IDENT_CACHE"] = tempfile.mkdtemp(prefix="ident-tests-")
    config.add_cleanup(lambda: shutil.rmtree(os.environ["IDENT_CACHE"], ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that draws from, or seeds, NumPy's global generator."""
    before = _global_generator()
    result = yield
    if _global_generator() != before:
        pytest.fail("the test used NumPy's global generator; pass an rng", pytrace=False)
    return result


def _global_generator() -> tuple[bytes, int]:
    _, key, position, *_ = np.random.get_state()
    return key.tobytes(), position


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of vendor models and real logs beside the repository."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder of vendor models and real logs beside the repository")
    return folder
