"""``ident robots | show | derive | reduce``: what is known of a robot before any log."""

from __future__ import annotations

import time

from ident.cli import common


@common.guarded
def robots(json: common.Json = False) -> None:
    """List the robots of the registry."""
    from ident.model.registry import robot_names

    known = robot_names()
    if json:
        rows = [{"name": n, "title": t, "aliases": list(a)} for n, (t, a) in known.items()]
        common.print_json({"robots": rows})
        return
    from ident.report.tables import print_robots

    print_robots(common.console(), known)


@common.guarded
def show(
    robot: common.RobotName, gravity: common.Gravity = None, mount: common.Mount = None
) -> None:
    """Show a robot's joints, limits, links, sources and what is suspect in its description."""
    from ident.base.minimal import reduce as reduce_robot
    from ident.model.registry import robot_file
    from ident.report.tables import print_robot

    model = common.load_robot(robot, gravity, mount)
    file = None if common.is_run(robot) else robot_file(robot)
    sources = [(source.what, source.origin) for source in file.sources] if file else []
    print_robot(common.console(), model, base=reduce_robot(model), sources=sources)


@common.guarded
def derive(
    robot: common.RobotName,
    gravity: common.Gravity = None,
    mount: common.Mount = None,
    json: common.Json = False,
) -> None:
    """Derive the regressor of a robot, so that later commands find it in the cache."""
    from ident.cache import cache_directory
    from ident.regressor.rigid import derive as derive_regressor

    model = common.load_robot(robot, gravity, mount)
    started = time.perf_counter()
    program = derive_regressor(model).program
    seconds = time.perf_counter() - started
    shape = program.outputs.shape
    if json:
        common.print_json(
            {
                "robot": model.name,
                "shape": shape,
                "operations": program.operations,
                "seconds": seconds,
                "cache": cache_directory(),
            }
        )
        return
    common.console().print(
        f"{model.name}: {shape[0]} × {shape[1]} regressor, {program.operations} operations, "
        f"{seconds:.2f} s, in {cache_directory()}",
        soft_wrap=True,
    )
