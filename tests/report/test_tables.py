from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from ident.base.minimal import reduce
from ident.errors import Finding
from ident.fit.verdict import Verdict
from ident.model import inertia
from ident.model.registry import load_robot, robot_names
from ident.report import robots, tables
from ident.report.html import Report
from ident.report.wording import interval, number
from tests.report.conftest import renamed


def printed(show: Callable[[Console], None], *, terminal: bool = True, width: int = 80) -> str:
    stream = io.StringIO()
    show(Console(file=stream, force_terminal=terminal, color_system=None, width=width))
    return stream.getvalue()


def summary(report: Report, **options: bool) -> str:
    validation, *also = report.validations
    return printed(
        lambda console: tables.print_summary(
            console, report.estimate, validation, report.verdict, report.findings, also=also
        ),
        **options,
    )


@pytest.mark.parametrize("name", ["lift", "planar2r", "ur5", "panda"])
def test_a_summary_fits_eighty_columns(report_of: Callable[..., Report], name: str) -> None:
    text = summary(report_of(name))
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text, "a name was cut"
    for joint in report_of(name).estimate.robot.joints:
        assert joint in text


def test_the_verdict_is_the_first_line(report_of: Callable[..., Report]) -> None:
    report = report_of("ur5")
    error, cad = (s.total for s in (report.validations[0].identified, report.validations[0].cad))
    first = summary(report).splitlines()[0]
    assert first == f"PASS  ur5: held-out relative error {error:.2f} % (CAD {cad:.2f} %)"
    failed = replace(report, verdict=Verdict(reasons=("too bad", "too late")))
    lines = summary(failed).splitlines()
    assert lines[0].startswith("FAIL  ur5")
    assert [line.strip() for line in lines[1:3]] == ["- too bad", "- too late"]


def test_errors_in_the_table_are_the_scores(report_of: Callable[..., Report]) -> None:
    report = report_of("ur5")
    validation = report.validations[0]
    scores = (validation.identified, validation.least_squares, validation.cad)
    lines = summary(report).splitlines()
    for j, joint in enumerate(report.estimate.robot.joints):
        (line,) = [line for line in lines if line.startswith(joint)]
        cells = np.array(line.split()[1:], dtype=float)
        np.testing.assert_allclose(cells[::2], [s.per_joint[j] for s in scores], atol=0.005)
        np.testing.assert_allclose(cells[1::2], [s.rms[j] for s in scores], rtol=5e-3)
    (total,) = [line for line in lines if line.startswith("all joints")]
    expected = [s.total for s in scores]
    np.testing.assert_allclose(np.array(total.split()[2:], float), expected, atol=0.005)
    (moving,) = [line for line in lines if line.startswith("while moving")]
    expected = [s.moving for s in scores]
    np.testing.assert_allclose(np.array(moving.split()[2:], float), expected, atol=0.005)


def test_certificates_have_a_line_each(report_of: Callable[..., Report]) -> None:
    estimate = report_of("ur5").estimate
    text = summary(report_of("ur5"))
    assert f"{estimate.base.rank} of {len(estimate.columns.names)} parameters" in text
    assert f"({estimate.rank_inertial} inertial)" in text
    assert estimate.physical is not None
    assert f"{estimate.physical.min_eigenvalue:.2e} (SI)" in text
    assert "2.00 ± 0.10 ms at shoulder_pan_joint" in text
    assert "1 warning" in text


def test_a_repeat_is_called_repeatability(report_of: Callable[..., Report]) -> None:
    report = report_of("planar2r")
    repeat = replace(report.validations[0], kind="repeat")
    text = summary(replace(report, validations=(*report.validations, repeat)))
    assert "repeatability, relative error, % | RMS, N·m" in text


def test_in_a_pipe_nothing_is_wrapped_cut_or_coloured(report_of: Callable[..., Report]) -> None:
    long = "joint_" * 20
    report = replace(
        renamed(report_of("planar2r"), long),
        findings=(Finding(name="x", severity="info", where="log", found="word " * 60 + "end"),),
    )
    text = summary(report, terminal=False)
    assert "\x1b" not in text
    assert any(line.startswith(long) for line in text.splitlines())
    assert any(line.startswith("info") and line.endswith("end") for line in text.splitlines())


def test_names_are_not_markup(report_of: Callable[..., Report]) -> None:
    name = "[bold]x[/bold] :smile:"
    assert name in summary(renamed(report_of("planar2r"), name))


def test_findings_come_the_worst_first() -> None:
    findings = [
        Finding(name="a", severity=severity, where=f"at {severity}", found="something")
        for severity in ("info", "error", "warning")
    ]
    text = printed(lambda console: tables.print_check(console, "run", findings))
    assert text.splitlines()[0] == "UNUSABLE  run: 1 error, 1 warning, 1 info"
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["error", "warning", "info"]
    good = printed(lambda console: tables.print_check(console, "run", findings[:1]))
    assert good.startswith("OK  run: 1 info")


def test_a_long_finding_hangs_under_its_text() -> None:
    finding = Finding(name="a", severity="warning", where="log", found="word " * 40)
    text = printed(lambda console: tables.print_findings(console, [finding]))
    first, *rest = text.splitlines()
    assert rest
    assert first.startswith("warning  log: word")
    assert all(line.startswith(" " * 9 + "word") for line in rest)


def test_every_robot_of_the_registry_is_listed() -> None:
    text = printed(lambda console: robots.print_robots(console, robot_names()))
    assert max(map(len, text.splitlines())) <= 80
    for name, (title, aliases) in robot_names().items():
        assert name in text
        assert title in text
        assert all(alias in text for alias in aliases)


@pytest.mark.parametrize("name", sorted(robot_names()))
def test_a_robot_is_shown_with_its_limits(name: str) -> None:
    robot = load_robot(name)
    text = printed(lambda console: robots.print_robot(console, robot, sources=[("all", "a\n b")]))
    assert max(map(len, text.splitlines())) <= 80
    for j, joint in enumerate(robot.joints):
        rows = [line.split() for line in text.splitlines() if line.split()[:1] == [joint]]
        assert any(number(robot.effort[j]) in row for row in rows)
        assert any(number(robot.drives.armature[j]) in row for row in rows)
    for link in robot.links:
        about_com = inertia.inertia_c_of(link.pi)
        assert f"{about_com[2, 2]:.4g}" in text
        assert link.joint.kind in text
    assert "all: a b" in text
    for finding in robot.findings:
        assert finding.where.split()[0] in text


def test_coupled_drives_springs_and_mimics_are_said() -> None:
    text = printed(lambda console: robots.print_robot(console, load_robot("tx40")), terminal=False)
    assert "drive 6 is coupled: it turns by 1·joint_5 +1·joint_6" in text
    text = printed(lambda console: robots.print_robot(console, load_robot("kr300")), terminal=False)
    assert "counterbalance at joint_a2: anchor 0.8, crank 0.2" in text


def test_masses_that_cannot_be_identified_are_said_to_be_so() -> None:
    robot = load_robot("ur5")
    text = printed(lambda console: robots.print_robot(console, robot, base=reduce(robot)))
    assert "no link mass alone" in " ".join(text.split())


def test_base_parameters_come_with_their_expressions(report_of: Callable[..., Report]) -> None:
    base = report_of("ur5").estimate.base
    text = printed(lambda console: robots.print_base(console, base), terminal=False)
    assert f"{base.rank} base parameters of {len(base.columns)}" in text
    for name, expression in zip(base.names, base.expressions, strict=True):
        assert any(line.split(maxsplit=1) == [name, expression] for line in text.splitlines())
    assert "armature1 has no place of its own: it joins Izz1R" in text
    assert "not at all (no effect on any torque): m1, mx1" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1.000"),
        (-12.3456, "-12.35"),
        (0.000123456, "0.0001235"),
        (9.87654e-6, "9.877e-06"),
        (123456.0, "123456"),
        (1.5e9, "1.500e+09"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (float("-inf"), "-∞"),
    ],
)
def test_numbers_have_their_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_intervals_have_two_digits_of_their_width() -> None:
    assert interval(-0.19271, 0.00588) == "-0.193 … 0.006"
    assert interval(8.039, 8.520) == "8.04 … 8.52"
    assert interval(1000.0, 3000.0) == "1000 … 3000"
    assert interval(1e-9, 3e-9) == "1.000e-09 … 3.000e-09"
    assert interval(float("nan"), 1.0) == "–"
    assert interval(-np.inf, np.inf) == "–"


def test_tables_need_no_matplotlib() -> None:
    code = "import sys, ident.report.robots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
