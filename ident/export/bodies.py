"""Which link of the description carries which part of an identified body.

The parameters of a moving link are those of everything rigidly fixed to it; a description may have
several links there, each with its own inertia.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import Finding, ModelError
from ident.model import inertia
from ident.model.robot import Link, Part, Robot

# Sums and differences of parameters are good to this, relative to the largest of them.
_ROUNDING = 1e-12


def changed_bodies(robot: Robot, pi: ArrayLike) -> tuple[dict[str, Array], tuple[Finding, ...]]:
    """Parameters (10,), in own frames, of the links that ``pi`` changes, and what was decided.

    Links fixed to a moving one keep the inertia of the description where what remains for the
    moving link can exist; else the moving link takes the whole body and they become massless. A
    moving link whose body is as described is not touched, and neither is the base.

    Parameters
    ----------
    pi : (10·links,)
        Parameters of all moving links, each with what is fixed to it.

    Raises
    ------
    ModelError
        A body that cannot exist.
    """
    rows = frozen(pi, (10 * len(robot.links),), where="pi").reshape(-1, 10)
    changed: dict[str, Array] = {}
    findings: list[Finding] = []
    for link, body in zip(robot.links, rows, strict=True):
        _refuse_impossible(f"{robot.name}: link '{link.name}'", body)
        if np.array_equal(body, _described(link)):
            continue
        carried = [part for part in link.parts[1:] if part.pi.any()]
        rest = _rest(link, carried, body)
        changed[link.name] = body if rest is None else rest
        if rest is None:
            changed.update({part.link: np.zeros(10) for part in carried})
        if carried:
            findings.append(_choice(robot, link, carried, kept=rest is not None))
    return changed, tuple(findings)


def inertial_elements(pi: Array) -> Mapping[str, Mapping[str, str]]:
    """Children of ``<inertial>``, with attributes: about the COM, in link axes.

    Numbers are the shortest that read back as the same double, 17 digits where it takes them.
    """
    about_com = inertia.inertia_c_of(pi)
    return {
        "origin": {"xyz": numbers(inertia.com_of(pi)), "rpy": "0 0 0"},
        "mass": {"value": number(pi[0])},
        "inertia": {
            f"i{'xyz'[i]}{'xyz'[j]}": number(about_com[i, j]) for i in range(3) for j in range(i, 3)
        },
    }


def number(value: float) -> str:
    """A double as the shortest text that reads back as itself."""
    return repr(float(value) + 0.0)


def numbers(values: ArrayLike) -> str:
    """Several numbers, apart by spaces."""
    return " ".join(number(v) for v in np.ravel(values))


def tag(name: str, attributes: Mapping[str, str]) -> str:
    """An empty XML element."""
    return f"<{name} " + " ".join(f"{k}={quoteattr(v)}" for k, v in attributes.items()) + "/>"


def _described(link: Link) -> Array:
    return np.asarray(np.sum([part.pi_carrier for part in link.parts], axis=0))


def _rest(link: Link, carried: Sequence[Part], body: Array) -> Array | None:
    """What is left for the moving link beside the links that it carries; None if nothing can be."""
    if not carried:
        return body
    if not all(_possible(part.pi) for part in carried):
        return None
    rest: Array = body - np.sum([part.pi_carrier for part in carried], axis=0)
    if not link.parts[0].pi.any() and np.abs(rest).max() <= _ROUNDING * np.abs(body).max():
        return np.zeros(10)
    return rest if inertia.smallest_eigenvalue(rest) > 0.0 else None


def _possible(pi: Array) -> bool:
    J = inertia.pseudo_inertia(pi)
    return bool(inertia.smallest_eigenvalue(pi) >= -_ROUNDING * np.abs(J).max())


def _refuse_impossible(where: str, body: Array) -> None:
    if not _possible(body):
        value = inertia.smallest_eigenvalue(body)
        raise ModelError(
            where,
            f"no body has these parameters: smallest pseudo-inertia eigenvalue {value:.3g}",
            expected="none below zero",
            remedy="fit with physical consistency",
        )


def _choice(robot: Robot, link: Link, carried: Sequence[Part], *, kept: bool) -> Finding:
    names = ", ".join(f"'{part.link}'" for part in carried)
    where = f"{robot.name}: link '{link.name}'"
    if kept:
        found = f"carries {names}, which keep the inertia of the description"
        return Finding(name="fixed_links_kept", severity="info", where=where, found=found)
    return Finding(
        name="fixed_links_merged",
        severity="warning",
        where=where,
        found=f"carries {names}; no body can be what is left beside them",
        remedy="it takes the whole body, and they are written without inertia",
    )
