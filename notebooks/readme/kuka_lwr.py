"""The figure and the table of the README: a real KUKA LWR 4+, three logs, two motions.

Give the folder with measurements_1.npz to measurements_3.npz of FloBaRoID (Bethge, Malzahn,
Tsagarakis, Caldwell 2017; github.com/kjyv/FloBaRoID, data/KUKA/HW).
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import ident
from ident.fit.validate import trace

TRIALS = (((1, 2), 3), ((3,), 1), ((3,), 2))
REPEAT = ((2, 3), 1)
MODELS = (("CAD", "cad", "#999999"), ("least squares", "least_squares", "#D55E00"),
          ("physically possible", "identified", "#0072B2"))  # fmt: skip
SHOWN = 2  # lwr_2_joint

folder = Path(sys.argv[1])
robot = ident.load_robot("kuka_lwr4")
protocol = ident.Preparation(cutoff_hz=8.0, decimation_hz=8.0, skip_s=(2.5, 0.5))
logs = {
    i: ident.prepare(ident.read_log(folder / f"measurements_{i}.npz", robot), robot, protocol)
    for i in (1, 2, 3)
}
fits = {train: ident.estimate([logs[i] for i in train], robot) for train, _ in (*TRIALS, REPEAT)}
scores = {
    (train, test): ident.evaluate(fits[train], [logs[test]], training=[logs[i] for i in train])
    for train, test in (*TRIALS, REPEAT)
}

figure = Figure(figsize=(9.0, 3.4), layout="constrained")
bars, torque = figure.subplots(1, 2, width_ratios=(1, 1.5))
places = np.arange(len(TRIALS))
for k, (name, field, colour) in enumerate(MODELS):
    totals = [getattr(scores[trial], field).total for trial in TRIALS]
    drawn = bars.bar(places + 0.27 * (k - 1), totals, 0.25, color=colour, label=name)
    bars.bar_label(drawn, fmt="%.1f", fontsize=7)
bars.set_xticks(
    places, [f"train {'+'.join(map(str, train))}\ntest {test}" for train, test in TRIALS]
)
bars.set_ylabel("held-out relative error, %")
bars.legend(fontsize=8, frameon=False)

seen = trace(fits[1, 2], logs[3])
torque.plot(seen.t, seen.measured[:, SHOWN], color="black", lw=1.6, label="measured")
for name, field, colour in MODELS[1:]:
    torque.plot(seen.t, getattr(seen, field)[:, SHOWN], color=colour, lw=1.1, label=name)
torque.set_xlabel("time, s")
torque.set_ylabel(f"torque of {robot.joints[SHOWN]}, N·m")
torque.set_title("trained on logs 1 and 2, predicting log 3", fontsize=9)
torque.set_ylim(top=4.6)
torque.legend(fontsize=8, frameon=False, loc="upper center", ncols=3)
for axes in (bars, torque):
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=160, metadata={"Software": None})

for (train, test), found in scores.items():
    print(f"train {train}, test {test} ({found.kind}): relative error %, RMS N·m per joint")
    for name, field, _ in MODELS:
        score = getattr(found, field)
        rms = " ".join(f"{x:.2f}" for x in score.rms)
        print(f"  {name:<20} {score.total:6.2f} %   {rms}")
