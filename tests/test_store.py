"""Saved values: exact when they come back, refused when they are not what was saved."""

import copy
import json

import numpy as np
import pytest

from ident import store
from ident.errors import Finding, ModelError
from ident.fit.estimate import estimate
from ident.fit.uncertainty import parameter_table
from ident.logs.dataset import prepare
from ident.model.registry import load_robot
from tests.fit import trial

ROBOT = load_robot("planar2r")


@pytest.fixture(scope="module")
def fitted():
    return estimate([prepare(trial.recording(ROBOT, noise=0.2), ROBOT)], ROBOT)


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "estimate.json"
    store.save(fitted, path)
    return path


def test_an_estimate_comes_back_exactly(fitted, saved):
    again = store.load(saved)
    for name in ("beta", "theta", "std", "beta_cad"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fitted, name))
    assert again.findings == fitted.findings
    assert again.condition == fitted.condition
    assert repr(parameter_table(again)) == repr(parameter_table(fitted))
    assert store.dumps(again) == store.dumps(fitted)
    assert store.load_robot(saved.parent).digest == fitted.identified.digest


def places(facts, before=()):
    """Every place in nested JSON, first members of long lists only."""
    inside = facts.items() if isinstance(facts, dict) else ()
    if isinstance(facts, list):
        inside = enumerate(facts[:2])
    for key, value in inside:
        yield (*before, key)
        yield from places(value, (*before, key))


def test_a_change_anywhere_is_refused(saved):
    facts = json.loads(saved.read_text())
    rng = np.random.default_rng(0)
    changes = (None, 3, "x", [], {}, -1, 1e308, True, {"kind": "float", "value": "nan"})
    for place in places(facts):
        changed = copy.deepcopy(facts)
        at = changed
        for key in place[:-1]:
            at = at[key]
        value = changes[rng.integers(len(changes))]
        if at[place[-1]] == value:
            continue
        at[place[-1]] = value
        saved.write_text(json.dumps(changed))
        with pytest.raises(ModelError):
            store.load(saved)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "null", "[" * 100_000, '{"schema": "1"}', '{"schema": null}', '{"schema": 0}'],
)
def test_what_is_no_saved_value_is_refused(tmp_path, text):
    path = tmp_path / "estimate.json"
    path.write_text(text)
    with pytest.raises(ModelError, match=r"estimate\.json"):
        store.load(path)


def test_a_newer_schema_is_refused(saved):
    facts = json.loads(saved.read_text())
    saved.write_text(json.dumps({**facts, "schema": store.SCHEMA + 1}))
    with pytest.raises(ModelError, match="update ident"):
        store.load(saved)


def test_content_that_no_class_takes_is_refused(tmp_path):
    # A digest that holds does not make the value right: other code may have written it.
    finding = Finding(name="a", severity="info", where="b", found="c")
    path = tmp_path / "estimate.json"
    store.save(finding, path)
    with pytest.raises(ModelError, match="expected an Estimate"):
        store.load_robot(tmp_path)
    for content in (
        {"kind": "Nope", "value": {}},
        {"kind": "Finding", "value": []},
        {"kind": "array", "dtype": "<f8", "shape": [10**9, 10**9], "value": [1.0]},
    ):
        path.write_text(json.dumps({"schema": 1, "sha256": store._sha256(content), **content}))
        with pytest.raises(ModelError, match="damaged"):
            store.load(path)
