"""Robot: a tree of moving links with its gravity, limits and drives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, digest, frozen, locked
from ident.conventions import GRAVITY, inertial_names
from ident.errors import Finding, ModelError
from ident.model import inertia
from ident.model.capsules import Capsule
from ident.model.drives import Drives
from ident.model.joints import Joint, Letters, checked_letters, filled, letters_left
from ident.model.kinematics import frames
from ident.model.springs import GasSpring


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """One link of the description, as it sits in the moving link that carries it.

    Attributes
    ----------
    R_ab, p_a_ab : (3, 3), (3,) m
        Placement of the part's own frame b in the moving link's frame a.
    pi : (10,)
        Inertial parameters in the part's own frame; zero where the description has none.
    letters : tuple of (name, direction)
        Lengths that are letters still, in ``p_a_ab``; see ``Joint.letters``.
    """

    link: str
    R_ab: Array
    p_a_ab: Array
    pi: Array
    letters: Letters = ()

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        for name, shape in (("R_ab", (3, 3)), ("p_a_ab", (3,)), ("pi", (10,))):
            where = f"link '{self.link}' {name}"
            object.__setattr__(self, name, frozen(getattr(self, name), shape, where=where))
        letters = tuple(checked_letters(self.letters, f"link '{self.link}'"))
        object.__setattr__(self, "letters", letters)

    @cached_property
    def pi_carrier(self) -> Array:
        """Inertial parameters (10,) in the frame of the moving link.

        Raises
        ------
        ModelError
            A length between the two frames is a letter still.
        """
        if self.letters:
            raise letters_left([name for name, _ in self.letters], f"link '{self.link}'")
        return locked(inertia.transformed(self.pi, self.R_ab, self.p_a_ab))

    @property
    def carried(self) -> Part:
        """The same body in the frame of the moving link."""
        return Part(link=self.link, R_ab=np.eye(3), p_a_ab=np.zeros(3), pi=self.pi_carrier)

    def with_lengths(self, lengths: Mapping[str, float]) -> Part:
        """The same part with numbers for some of its letters (m)."""
        p, letters = filled(self.p_a_ab, self.letters, lengths)
        return replace(self, p_a_ab=p, letters=letters)


@dataclass(frozen=True, eq=False, kw_only=True)
class Link:
    """A moving link: its joint, its parent and everything rigidly fixed to it.

    Attributes
    ----------
    parent : int
        Index of the moving link that carries the joint; −1 for the base.
    parts : tuple of Part
        The link of the description itself, then every link fixed to it.
    pi : (10,)
        Inertial parameters of all parts together, in the link frame; zero while they wait for the
        number of a length that is a letter in one of the parts.
    """

    name: str
    joint: Joint
    parent: int
    parts: tuple[Part, ...]
    pi: Array

    def __post_init__(self) -> None:
        """Check and lock the parameters."""
        object.__setattr__(self, "pi", frozen(self.pi, (10,), where=f"link '{self.name}'"))

    @property
    def letters(self) -> Letters:
        """Lengths that are letters still, of its joint and then of its parts."""
        return (*self.joint.letters, *(x for part in self.parts for x in part.letters))

    @property
    def waits(self) -> bool:
        """Whether ``pi`` waits for numbers."""
        return any(part.letters for part in self.parts)

    def with_lengths(self, lengths: Mapping[str, float]) -> Link:
        """The same link with numbers for some of the letters (m) of its joint and parts."""
        link = replace(
            self,
            joint=self.joint.with_lengths(lengths),
            parts=tuple(part.with_lengths(lengths) for part in self.parts),
        )
        if not self.waits or link.waits:
            return link
        first, *fixed = link.parts  # the link itself is described in its own frame
        pi = np.sum([part.pi_carrier for part in link.parts], axis=0)
        return replace(link, parts=(first.carried, *fixed), pi=pi)


@dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """A tree of revolute, continuous and prismatic joints on a fixed base.

    Attributes
    ----------
    links : tuple of Link
        Moving links, parents before children.
    base : Part, and base_parts : tuple of Part
        The root link of the description, and all links fixed to the ground, itself first.
    gravity : (3,) m/s²
        In the base frame.
    home : (n,)
        A safe resting configuration; where none is given, zero, or the middle of a joint's range
        where zero is outside of it or near its ends.
    acceleration, jerk : (n,)
        Limits that a URDF cannot say; infinite where none is given.
    log_names : tuple of str
        What this robot's logs call its joints; the joint names unless the description says more.
    capsules : tuple of Capsule
        The shape of its parts for collision checks; empty where the description has none.
    never_meet : tuple of (str, str)
        Parts that no pose brings together, however near their capsules come.
    description : str
        The URDF text that the robot was read from, else empty; exports patch it.
    """

    name: str
    links: tuple[Link, ...]
    base_parts: tuple[Part, ...]
    drives: Drives
    gravity: Array = field(default_factory=lambda: np.array(GRAVITY))
    home: Array = field(default_factory=lambda: np.zeros(0))
    acceleration: Array = field(default_factory=lambda: np.zeros(0))
    jerk: Array = field(default_factory=lambda: np.zeros(0))
    log_names: tuple[str, ...] = ()
    capsules: tuple[Capsule, ...] = ()
    never_meet: tuple[tuple[str, str], ...] = ()
    title: str = ""
    description: str = field(default="", repr=False)
    notes: tuple[Finding, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Check that the tree is a tree, fill defaults and lock the arrays."""
        if not self.links:
            raise ModelError(self.name, "no moving joint", expected="at least one")
        for i, link in enumerate(self.links):
            if not -1 <= link.parent < i:
                raise ModelError(f"{self.name}: link '{link.name}'", "comes before its parent")
        n = self.n
        where = f"robot '{self.name}'"
        if len(self.drives.gear_ratio) != n:
            found = f"{len(self.drives.gear_ratio)} drives"
            raise ModelError(where, found, expected=f"{n}, one per joint")
        for spring in self.drives.springs:
            if spring.joint not in self.joints:
                found = f"no joint '{spring.joint}' for a {spring.kind}"
                raise ModelError(f"{where} springs", found, expected=", ".join(self.joints))
        object.__setattr__(self, "gravity", frozen(self.gravity, (3,), where=f"{where} gravity"))
        for name, default in (
            ("home", _resting(self.position)),
            ("acceleration", np.full(n, np.inf)),
            ("jerk", np.full(n, np.inf)),
        ):
            given = getattr(self, name)
            filled = given if np.size(given) else default
            array = frozen(filled, (n,), where=f"{where} {name}", finite=False)
            object.__setattr__(self, name, array)
        sliding = {joint for joint, turns in zip(self.joints, self.turns, strict=True) if not turns}
        for spring in self.drives.springs:
            if isinstance(spring, GasSpring) and spring.joint in sliding:
                found = f"at '{spring.joint}', which slides"
                raise ModelError(f"{where} gas spring", found, expected="a joint that turns")
        names = self.log_names or self.joints
        if len(names) != n:
            raise ModelError(f"{where} log_names", f"{len(names)} names", expected=str(n))
        if twice := {name for name in names if names.count(name) > 1}:
            raise ModelError(f"{where} log_names", f"'{min(twice)}' twice", expected="one a joint")
        object.__setattr__(self, "log_names", tuple(names))

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joint coordinates, in order; mimic joints have none of their own."""
        return tuple(joint.name for joint in self._own_joints)

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        return len(self.joints)

    @cached_property
    def turns(self) -> tuple[bool, ...]:
        """Per coordinate, whether it is an angle."""
        return tuple(joint.turns for joint in self._own_joints)

    @cached_property
    def position(self) -> Array:
        """Position limits (n, 2) in rad or m."""
        return locked(np.array([[j.lower, j.upper] for j in self._own_joints]))

    @cached_property
    def velocity(self) -> Array:
        """Velocity limits (n,) in rad/s or m/s."""
        return locked(np.array([j.velocity for j in self._own_joints]))

    @cached_property
    def effort(self) -> Array:
        """Effort limits (n,) in N·m or N."""
        return locked(np.array([j.effort for j in self._own_joints]))

    @cached_property
    def pi(self) -> Array:
        """Inertial parameters (10·links,) of the description, link by link.

        Raises
        ------
        ModelError
            Some wait for the number of a length that is a letter still.
        """
        self._require_no_waiting()
        return locked(np.concatenate([link.pi for link in self.links]))

    @cached_property
    def inertial_names(self) -> tuple[str, ...]:
        """Names of ``pi``."""
        return inertial_names(len(self.links))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of geometry, gravity and inertias: equal for equal rigid-body models."""
        return digest([self.kinematic_digest, self.pi])

    @cached_property
    def kinematic_digest(self) -> str:
        """SHA-256 of what the regressor depends on: tree, placements, axes, gravity."""
        parts: list[str | np.ndarray] = [self.gravity]
        for link in self.links:
            j = link.joint
            parts += [f"{j.turns} {j.coordinate} {j.multiplier!r} {j.offset!r} {link.parent}"]
            parts += [j.R0, j.p0, j.axis]
            parts += [part for letter in j.letters for part in letter]
        return digest([*parts, *self.letters])

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is suspect in the description: impossible or missing inertias, and its notes."""
        parts = [part for link in self.links for part in link.parts]
        return (*self.notes, *_inertia_findings(self.name, parts), *self._massless())

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """The same robot in another gravity (3,) m/s², in the base frame."""
        return replace(self, gravity=np.asarray(gravity, dtype=np.float64))

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """Names of the lengths that are letters still, from base to tip; mostly none."""
        names = (name for link in self.links for name, _ in link.letters)
        return tuple(dict.fromkeys(names))

    def with_lengths(self, **lengths: float) -> Robot:
        """The same robot with numbers for lengths (m) that were letters.

        Raises
        ------
        ModelError
            A name that is none of its letters, or a value that is no number.
        """
        for name, length in lengths.items():
            if name not in self.letters:
                known = ", ".join(self.letters) or "none"
                raise ModelError(f"robot '{self.name}'", f"no length '{name}'", expected=known)
            frozen(length, (), where=f"robot '{self.name}' length {name}")
        return replace(
            self,
            links=tuple(link.with_lengths(lengths) for link in self.links),
            base_parts=tuple(part.with_lengths(lengths) for part in self.base_parts),
        )

    def with_pi(self, pi: ArrayLike) -> Robot:
        """The same robot with other inertial parameters (10·links,).

        Raises
        ------
        ModelError
            They have another length, or the robot's own wait for numbers.
        """
        self._require_no_waiting()
        rows = frozen(pi, (10 * len(self.links),), where="pi").reshape(-1, 10)
        links = tuple(replace(link, pi=row) for link, row in zip(self.links, rows, strict=True))
        return replace(self, links=links)

    def forward(self, q: ArrayLike) -> tuple[Array, Array]:
        """Placement of every moving link in the base frame: R (links, 3, 3), p (links, 3) m."""
        q = frozen(q, (self.n,), where="q")
        R, p = frames(self, q[None])
        return R[0], p[0]

    @cached_property
    def _own_joints(self) -> tuple[Joint, ...]:
        own = [link.joint for link in self.links if not link.joint.mimics]
        return tuple(sorted(own, key=lambda joint: joint.coordinate))

    def _require_no_waiting(self) -> None:
        if any(link.waits for link in self.links):
            raise letters_left(self.letters, f"inertias of robot '{self.name}'")

    def _massless(self) -> list[Finding]:
        return [
            Finding(
                name="massless_link",
                severity="info",
                where=f"{self.name}: link '{link.name}'",
                found="no mass in the description",
                remedy="its inertial parameters start from zero",
            )
            for link in self.links
            if link.pi[0] == 0.0 and not link.waits
        ]


def _resting(position: Array) -> Array:
    """Zero (n,), or the middle of limits (n, 2) where zero is not well inside of them."""
    low, high = position.T
    bounded = np.isfinite(position).all(axis=1)
    # A joint without both ends rests at zero, or at the end that it has.
    near, far = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    inside = (low < 0.0) & (high > 0.0) & (np.minimum(-near, far) > 0.1 * (far - near))
    return np.where(inside, 0.0, np.clip(0.5 * (near + far), low, high))


def _inertia_findings(robot: str, parts: Iterable[Part]) -> list[Finding]:
    findings = []
    for part in parts:
        violation = inertia.triangle_violation(part.pi)
        # Published tensors carry four digits or more, sums about the origin twelve: a smaller
        # violation is rounding.
        about_com, about_origin = inertia.inertia_c_of(part.pi), inertia.tensor(part.pi[4:])
        rounding = 1e-4 * np.trace(about_com) + 1e-12 * np.trace(about_origin)
        if violation > rounding or part.pi[0] < 0.0:
            findings.append(
                Finding(
                    name="nonphysical_inertia",
                    severity="warning",
                    where=f"{robot}: link '{part.link}'",
                    found="no body has this mass and inertia: the principal moments break the "
                    f"triangle inequality by {violation:.2e} kg·m²",
                    remedy="the nearest possible tensor is used as the prior",
                )
            )
    return findings
