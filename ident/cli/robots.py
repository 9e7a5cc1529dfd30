"""``ident robots | show``: what is known of a robot before any log."""

from __future__ import annotations

from ident.cli import common, references


@common.guarded
def robots(json: common.Json = False) -> None:
    """List the robots of the registry."""
    from ident.model.registry import robot_names

    known = robot_names()
    if json:
        rows = [{"name": n, "title": t, "aliases": list(a)} for n, (t, a) in known.items()]
        common.print_json({"robots": rows})
        return
    from ident.report.robots import print_robots

    print_robots(common.console(), known)


@common.guarded
def show(
    robot: common.RobotName, gravity: common.Gravity = None, mount: common.Mount = None
) -> None:
    """Show a robot's joints, limits, links, sources and what is suspect in its description."""
    from ident.base.minimal import reduce as reduce_robot
    from ident.model.registry import robot_file
    from ident.report.robots import print_robot

    model = references.load_robot(robot, gravity, mount)
    file = None if references.is_run(robot) else robot_file(robot)
    sources = [(source.what, source.origin) for source in file.sources] if file else []
    print_robot(common.console(), model, base=reduce_robot(model), sources=sources)
