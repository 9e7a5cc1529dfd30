"""Robot dynamic parameter identification: from a log of joint positions and torques to a model.

    robot = ident.load_robot("ur5")
    dataset = ident.prepare(ident.read_log("run.parquet", robot), robot)
    estimate = ident.estimate([dataset], robot)

Names are imported when they are first used, so that ``import ident`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ident.base.basemap import BaseMap as BaseMap
    from ident.base.basemap import ExactBaseMap as ExactBaseMap
    from ident.base.minimal import reduce as reduce
    from ident.base.minimal import reduce_exact as reduce_exact
    from ident.errors import Finding as Finding
    from ident.errors import IdentError as IdentError
    from ident.excitation.approach import play_of as play_of
    from ident.excitation.design import DesignOptions as DesignOptions
    from ident.excitation.design import design as design
    from ident.excitation.envelope import Payload as Payload
    from ident.excitation.limits import Limits as Limits
    from ident.excitation.surroundings import Surroundings as Surroundings
    from ident.excitation.surroundings import read_surroundings as read_surroundings
    from ident.export.urdf import patch_urdf as patch_urdf
    from ident.export.urdf import write_urdf as write_urdf
    from ident.fit.estimate import Estimate as Estimate
    from ident.fit.estimate import estimate as estimate
    from ident.fit.options import FitOptions as FitOptions
    from ident.fit.uncertainty import parameter_table as parameter_table
    from ident.fit.validate import Trace as Trace
    from ident.fit.validate import Validation as Validation
    from ident.fit.validate import evaluate as evaluate
    from ident.fit.validate import trace as trace
    from ident.logs.checks import check as check
    from ident.logs.dataset import Dataset as Dataset
    from ident.logs.dataset import prepare as prepare
    from ident.logs.preparation import Preparation as Preparation
    from ident.logs.readers import read_log as read_log
    from ident.logs.recording import Recording as Recording
    from ident.model.dh import DHRow as DHRow
    from ident.model.dh import robot_of_table as robot_of_table
    from ident.model.locking import lock as lock
    from ident.model.registry import load_symbolic as load_symbolic
    from ident.model.registry import robot_names as robot_names
    from ident.model.robot import Robot as Robot
    from ident.regressor.dynamics import gravity_torque as gravity_torque
    from ident.regressor.dynamics import inverse_dynamics as inverse_dynamics
    from ident.regressor.dynamics import mass_matrix as mass_matrix
    from ident.regressor.lagrange import ClosedForm as ClosedForm
    from ident.regressor.lagrange import lagrange as lagrange
    from ident.regressor.rigid import Regressor as Regressor
    from ident.regressor.rigid import derive as derive
    from ident.store import load as load
    from ident.store import load_robot as load_robot
    from ident.store import save as save

_HOMES = {
    "base.basemap": ("BaseMap", "ExactBaseMap"),
    "base.minimal": ("reduce", "reduce_exact"),
    "errors": ("Finding", "IdentError"),
    "excitation.approach": ("play_of",),
    "excitation.design": ("DesignOptions", "design"),
    "excitation.envelope": ("Payload",),
    "excitation.limits": ("Limits",),
    "excitation.surroundings": ("Surroundings", "read_surroundings"),
    "export.urdf": ("patch_urdf", "write_urdf"),
    "fit.estimate": ("Estimate", "estimate"),
    "fit.options": ("FitOptions",),
    "fit.uncertainty": ("parameter_table",),
    "fit.validate": ("Trace", "Validation", "evaluate", "trace"),
    "logs.checks": ("check",),
    "logs.dataset": ("Dataset", "prepare"),
    "logs.preparation": ("Preparation",),
    "logs.readers": ("read_log",),
    "logs.recording": ("Recording",),
    "model.dh": ("DHRow", "robot_of_table"),
    "model.locking": ("lock",),
    "model.registry": ("load_symbolic", "robot_names"),
    "model.robot": ("Robot",),
    "regressor.dynamics": ("gravity_torque", "inverse_dynamics", "mass_matrix"),
    "regressor.lagrange": ("ClosedForm", "lagrange"),
    "regressor.rigid": ("Regressor", "derive"),
    "store": ("load", "load_robot", "save"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'ident' has no attribute '{name}'")
    return getattr(import_module(f"ident.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
