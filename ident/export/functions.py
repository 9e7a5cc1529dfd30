"""What a controller needs of a model, as programs: regressors, torques and the mass matrix."""

from __future__ import annotations

from ident.base.basemap import Grouping
from ident.model.robot import Robot
from ident.regressor.dynamics import Quantity, dynamics_program
from ident.regressor.named import Function, regressor_function
from ident.regressor.rigid import derive

_MOTION = ("rad or m", "rad/s or m/s", "rad/s^2 or m/s^2")
# What each computes, the symbol of its output, and how many of q, dq, ddq it takes.
_QUANTITIES: dict[Quantity, tuple[str, str, int]] = {
    "inverse_dynamics": ("torque that the motion needs (N m; N at prismatic joints)", "tau", 3),
    "gravity_torque": ("torque that holds the arm at rest (N m; N at prismatic joints)", "g", 1),
    "mass_matrix": ("mass matrix (kg m^2; kg, kg m at prismatic joints)", "M", 1),
}


def model_functions(robot: Robot, base: Grouping) -> list[Function]:
    """Regressor, base regressor, inverse dynamics, gravity torque and mass matrix of a robot.

    The last three take the base parameters, ``beta``, in the order of ``base``, which is that of
    its inertial parameters. Friction and armature are the drives' and not in them.
    """
    regressor = derive(robot).program
    letters = ("m",) if robot.letters else ()
    functions = [
        _regressor("regressor", regressor_function(regressor), letters),
        _regressor(
            "base_regressor",
            regressor_function(regressor.select(base.kept), "base parameters"),
            letters,
        ),
    ]
    for quantity, (about, output, taken) in _QUANTITIES.items():
        units = (*_MOTION[:taken], "base parameters (SI), in the order of the table", *letters)
        functions.append(
            Function(
                name=quantity,
                program=dynamics_program(robot, quantity, base.kept),
                output=output,
                about=about,
                units=units,
            )
        )
    return functions


def _regressor(name: str, function: Function, letters: tuple[str, ...]) -> Function:
    return Function(
        name=name,
        program=function.program,
        output=function.output,
        about=function.about,
        units=(*function.units, *letters),
    )
