from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from ident.errors import Finding
from ident.fit.uncertainty import base_parameters, parameter_table
from ident.fit.verdict import Verdict
from ident.report.html import Report, render_report, write_report
from tests.report.conftest import renamed

VOID = {"meta", "br", "link", "img", "input", "hr"}
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


# A row of standard parameters: its name, and whether its value is set apart.
VALUE_OF = re.compile(
    r'scope="row">(\w+)</th><td class="label [a-z-]*">[^<]*</td><td>[^<]*</td>'
    r'<td class="num">[^<]*</td><td class="num( unmeasured)?">'
)


class Page(HTMLParser):
    """What a page consists of; raises where tags do not balance."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.words: list[str] = []
        self._section = ""
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self._section = dict(attrs)["id"] or ""
        if tag == "tr":
            self.tables.setdefault(self._section, []).append([])
        if tag in {"td", "th"}:
            self.tables[self._section][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[self._section][-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]

    def row(self, section: str, first: str) -> list[str]:
        return next(cells for cells in self.tables[section] if cells[0] == first)


@pytest.fixture(scope="module", params=["panda sensor", "lift", "planar2r still"])
def report(request: pytest.FixtureRequest, report_of: Callable[..., Report]) -> Report:
    name, *more = request.param.split()
    options = {
        "": {},
        "sensor": {"sensor": "link_torque_sensor", "still": (0,)},
        "still": {"still": (1,)},
    }
    return report_of(name, **options[more[0] if more else ""])


@pytest.fixture(scope="module")
def rendered(report: Report) -> str:
    return render_report(report)


@pytest.fixture(scope="module")
def page(rendered: str) -> Page:
    return Page(rendered)


def test_the_page_is_whole_and_offline(rendered: str, page: Page) -> None:
    assert rendered.startswith("<!DOCTYPE html>")
    assert "script" not in page.tags
    assert not {"img", "link", "iframe", "object"} & set(page.tags)
    assert set(re.findall(r"https?://[^\s\"'<)]*", rendered)) <= NAMESPACES
    assert not re.search(r"@import|url\((?!#)", rendered)


def test_ids_are_unique_and_every_reference_is_met(rendered: str, page: Page) -> None:
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    links = [*page.values("href"), *page.values("xlink:href")]
    assert links
    wanted = {link.removeprefix("#") for link in links} | set(
        re.findall(r"url\(#(.*?)\)", rendered)
    )
    assert wanted <= set(ids)


def test_the_verdict_comes_first(report: Report, page: Page) -> None:
    error = report.validations[0].identified.total
    start = page.text.index("PASS") if not report.verdict.reasons else page.text.index("FAIL")
    assert start < page.text.index(f"{error:.2f} %") < page.text.index("Prediction errors")


def test_errors_are_the_scores(report: Report, page: Page) -> None:
    validation = report.validations[0]
    scores = (validation.identified, validation.least_squares, validation.cad)
    for j, joint in enumerate(report.estimate.robot.joints):
        cells = [float(cell) for cell in page.row("errors", joint)[1:]]
        np.testing.assert_allclose(cells[:3], [s.per_joint[j] for s in scores], atol=0.005)
        np.testing.assert_allclose(cells[3:6], [s.rms[j] for s in scores], rtol=5e-3)
        np.testing.assert_allclose(cells[6:], [s.r_squared[j] for s in scores], rtol=5e-3)
    totals = [float(cell) for cell in page.row("errors", "all joints")[1:4]]
    np.testing.assert_allclose(totals, [s.total for s in scores], atol=0.005)


def test_the_protocol_stands_under_the_errors(report: Report, page: Page) -> None:
    assert "validate: a trajectory that was not trained on. 800 rows per joint" in page.text
    assert "low-passed at 20.0 Hz" in page.text


def test_base_parameters_are_the_table(report: Report, page: Page) -> None:
    for row in base_parameters(report.estimate):
        _, cad, identified, interval, unit, label, expression = page.row("parameters", row.name)
        np.testing.assert_allclose(float(cad), row.cad, rtol=6e-4)
        np.testing.assert_allclose(float(identified), row.identified, rtol=6e-4)
        assert (unit, label) == (row.unit, row.label)
        assert expression in {row.expression, "alone"}
        if row.label == "no data":
            assert interval == "–"
        else:
            ends = [float(end) for end in interval.split(" … ")]
            half = 1.96 * row.std
            np.testing.assert_allclose(ends, [row.ci_low, row.ci_high], atol=0.051 * half)


def test_what_was_not_measured_is_marked(rendered: str, report: Report) -> None:
    rows = {row.name: row for row in parameter_table(report.estimate) if not row.is_base}
    section = rendered[rendered.index('id="standard"') : rendered.index('id="physical"')]
    found = VALUE_OF.findall(section)
    assert [name for name, _ in found] == list(rows)
    for name, mark in found:
        assert bool(mark) == (rows[name].label != "identified")


def test_a_mass_says_whether_it_is_known(report: Report, page: Page) -> None:
    for i, link in enumerate(report.estimate.robot.links):
        known = page.row("physical", link.name)[-1]
        standing = report.estimate.base.standing[f"m{i + 1}"]
        assert known.startswith({"alone": "alone", "combination": "in c", "none": "not"}[standing])


def test_provenance_is_complete(report: Report, page: Page) -> None:
    for part in (
        "ident identify",
        report.estimate.robot.digest,
        *(digest for _, digest in report.provenance.logs),
        *report.provenance.versions.values(),
        report.provenance.date,
        "viscous, coulomb, offset",
    ):
        assert part in page.text


@pytest.fixture(scope="module")
def small(report_of: Callable[..., Report]) -> Report:
    return report_of("planar2r")


HOSTILE = ('<b>"x"', "a & b</svg><script>alert(1)</script>", "$x_1$", "{{ 7 * 7 }}")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text(small: Report, name: str) -> None:
    finding = Finding(name="odd", severity="error", where=name, found=name, remedy=name)
    hostile = replace(
        renamed(small, name),
        findings=(finding,),
        verdict=Verdict(reasons=(f"{name}: {name}",)),
        held_out=(),
        training=tuple(replace(trace, log=name) for trace in small.training),
        provenance=replace(small.provenance, command=("ident", name), logs=((name, "5f"),)),
    )
    page = Page(render_report(hostile))
    assert not {"b>", "script"} & set(page.tags)
    assert page.row("errors", name)
    assert page.row("findings", "error")[1] == name
    assert page.row("provenance", name)
    assert page.text.count(name) > 8
    assert "FAIL" in page.text


def test_a_repeat_is_called_repeatability(small: Report) -> None:
    repeat = replace(small.validations[0], kind="repeat", logs=("again",))
    page = Page(render_report(replace(small, validations=(*small.validations, repeat))))
    assert "Repeatability, relative error" in page.text
    assert "again: a training trajectory run again" in page.text


def test_least_squares_alone_says_so(small: Report) -> None:
    estimate = replace(small.estimate, physical=None, delay=None)
    page = Page(render_report(replace(small, estimate=estimate, findings=())))
    assert "physical consistency not asked for least squares alone" in page.text
    assert "Not estimated." in page.text
    assert "Nothing suspect was found" in page.text


def test_numbers_that_are_none_are_dashes(small: Report) -> None:
    validation = small.validations[0]
    blank = np.full(2, np.nan)
    score = replace(validation.cad, per_joint=blank, r_squared=blank, rms=np.zeros(2))
    page = Page(render_report(replace(small, validations=(replace(validation, cad=score),))))
    row = page.row("errors", "joint1")
    assert (row[3], row[6], row[9]) == ("–", "0", "–")


def test_the_same_report_is_the_same_text(small: Report, tmp_path: Path) -> None:
    write_report(small, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render_report(small)


def test_a_sensor_that_sees_no_rotor_inertia_is_told(report: Report, page: Page) -> None:
    if report.estimate.effort_kind == "link_torque_sensor":
        assert page.row("standard", "armature1")[1] == "not seen by this sensor"
        assert page.row("parameters", "viscous1")[5] == "no data"
    else:
        assert "not seen by this sensor" not in [row[1] for row in page.tables["standard"]]
