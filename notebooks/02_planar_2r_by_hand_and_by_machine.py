# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The planar 2R arm, by hand and by machine
#
# Every textbook derives this arm, so it is the place to see what `ident` does with larger ones:
# equations of motion, the regressor, and the minimal set of parameters. It also settles a question
# that the books leave open: has the arm **four, five or six** minimal parameters?
#
# Two links turn about z in a vertical plane. Link i has mass `m_i`, its centre of mass at distance
# `r_i` along the link, and inertia `I_i` about that centre. Link 1 has length `l1`; the length of
# link 2 matters to nobody. Gravity `g` points along −y.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sympy as sp
from sympy.simplify.fu import TR8

import ident

FIVE, FOUR, TRUE = "#d9641e", "#2486c9", "#333333"
plt.rcParams.update(
    {
        "figure.dpi": 110,
        "figure.constrained_layout.use": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "legend.frameon": False,
    }
)

q = q1, q2 = sp.symbols("q1 q2")
dq = dq1, dq2 = sp.symbols("dq1 dq2")
ddq = ddq1, ddq2 = sp.symbols("ddq1 ddq2")
m1, m2, r1, r2, I1, I2, l1, g = sp.symbols("m1 m2 r1 r2 I1 I2 l1 g")

# %% [markdown]
# ## 1. By hand
#
# Centres of mass, their velocities, and the two energies.


# %%
def along(angle, length):
    return sp.Matrix([length * sp.cos(angle), length * sp.sin(angle)])


c1 = along(q1, r1)
c2 = along(q1, l1) + along(q1 + q2, r2)
v1, v2 = (c.jacobian(q) * sp.Matrix(dq) for c in (c1, c2))
T = (m1 * v1.dot(v1) + I1 * dq1**2 + m2 * v2.dot(v2) + I2 * (dq1 + dq2) ** 2) / 2
U = g * (m1 * c1[1] + m2 * c2[1])

# %% [markdown]
# The mass matrix is the Hessian of the kinetic energy by the velocities, the gravity torque the
# gradient of the potential energy. The Coriolis matrix is a choice: `C dq` is fixed, `C` is not.
# Christoffel symbols give the one that makes `Ṁ − 2C` skew-symmetric.


# %%
def tidy(expression):
    """Products of sines and cosines as multiple angles, so that equal expressions look equal."""
    return sp.expand(TR8(sp.expand(expression)))


M = sp.hessian(T, dq).applyfunc(tidy)
C = sp.Matrix(
    2,
    2,
    lambda i, j: sp.expand(
        sum(
            (M[i, j].diff(q[k]) + M[i, k].diff(q[j]) - M[j, k].diff(q[i])) * dq[k] / 2
            for k in range(2)
        )
    ),
)
gravity = sp.Matrix([U.diff(x) for x in q]).applyfunc(tidy)
M

# %%
C

# %%
gravity

# %% [markdown]
# ## 2. By machine
#
# `ident.load_symbolic` takes the arm's Denavit-Hartenberg table with letters for its lengths; the
# only one is `a2`, the distance between the two axes. `ident.lagrange` derives the same from link
# placements, for any tree of a few joints. Its parameters are the ten of each link about the link's
# own origin (`m, mx … Izz`); here they are given the textbook's meaning.

# %%
arm = ident.load_symbolic("planar2r")
textbook = {
    "mx1": m1 * r1,
    "my1": 0,
    "Izz1": I1 + m1 * r1**2,
    "mx2": m2 * r2,
    "my2": 0,
    "Izz2": I2 + m2 * r2**2,
}
form = ident.lagrange(arm, textbook, gravity="g")
for machine, hand in ((form.M, M), (form.C, C), (form.g, gravity)):
    assert machine.subs("a2", l1) == hand
form.g

# %% [markdown]
# No simplification is needed to compare them: each entry is a sum of sines and cosines of multiple
# angles, a form that an expression has only once. And `Ṁ − 2C` is skew-symmetric, so that the power
# of the joints is the change of energy, no more and no less:

# %%
change = form.M.diff(q1) * dq1 + form.M.diff(q2) * dq2
skew = (change - 2 * form.C).applyfunc(sp.expand)
assert skew == -skew.T
skew

# %% [markdown]
# With numbers, by a third way: recursive Newton-Euler, which is what larger arms need.

# %%
robot = ident.load_robot("planar2r")
M_of, C_of, g_of = ident.lagrange(robot, "numbers").functions()
rng = np.random.default_rng(0)
at, rate, acceleration = rng.uniform(-2.0, 2.0, (3, 100, 2))
tau = (M_of(at) @ acceleration[..., None] + C_of(at, rate) @ rate[..., None])[..., 0] + g_of(at)
difference = np.abs(tau - ident.inverse_dynamics(robot, at, rate, acceleration)).max()
print(f"largest difference over 100 states: {difference:.0e} N·m")
assert difference < 1e-12
assert np.allclose(ident.mass_matrix(robot, at), M_of(at), rtol=0, atol=1e-12)
assert np.allclose(ident.gravity_torque(robot, [0.0, 0.0]), [11.772, 1.962], rtol=0, atol=1e-12)

# %% [markdown]
# ## 3. The regressor by hand: five columns
#
# Torque is linear in groups of the parameters. Collecting what stands before each function of the
# motion, the books arrive at five groups:

# %%
groups = {
    "θ1": I1 + m1 * r1**2 + m2 * l1**2,
    "θ2": I2 + m2 * r2**2,
    "θ3": m2 * l1 * r2,
    "θ4": m1 * r1 + m2 * l1,
    "θ5": m2 * r2,
}
both = ddq1 + ddq2
Y5 = sp.Matrix(
    [
        [
            ddq1,
            both,
            sp.cos(q2) * (2 * ddq1 + ddq2) - sp.sin(q2) * (2 * dq1 * dq2 + dq2**2),
            g * sp.cos(q1),
            g * sp.cos(q1 + q2),
        ],
        [0, both, sp.cos(q2) * ddq1 + sp.sin(q2) * dq1**2, 0, g * sp.cos(q1 + q2)],
    ]
)
by_groups = Y5 * sp.Matrix(list(groups.values()))
assert by_groups.applyfunc(sp.expand) == form.tau.subs("a2", l1)

# %% [markdown]
# ## 4. The regressor by machine: twenty columns, rank six
#
# `ident` has one column for each of the twenty inertial parameters. Most of them are zero: a planar
# arm does not feel what it does not turn about. Seven are left; one of them is a sum of others.

# %%
general = ident.lagrange(arm, gravity="g")
Y20 = general.regressor().subs("a2", l1)
column = {p.name: Y20[:, k] for k, p in enumerate(general.parameters)}
seen = [name for name, y in column.items() if any(y)]
print("felt:", ", ".join(seen))
assert seen == ["mx1", "my1", "Izz1", "m2", "mx2", "my2", "Izz2"]
assert (
    (column["m2"] - l1 * column["mx1"] - l1**2 * column["Izz1"]).applyfunc(sp.expand).is_zero_matrix
)

# %% [markdown]
# The mass of link 2, seen from joint 1, is a mass at the end of link 1. So `m2` joins `mx1` and
# `Izz1`, and six parameters remain. `ident.reduce_exact` finds them from the structure of any arm,
# without a motion:

# %%
minimal = ident.reduce_exact(arm)
base = ident.reduce(robot)
assert minimal.rank == base.rank == 6
assert minimal.names == base.names
pd.DataFrame(
    {"with a letter": minimal.expressions, "value": base.reduce(robot.pi).round(12)},
    index=pd.Index(base.names, name="base parameter"),
)

# %% [markdown]
# ## 5. Four, five or six?
#
# Compare with the books' five. If the centres of mass lie on the link axes, `my1 = my2 = 0`, and
# the machine's six become four:
#
# | machine | book |
# |---|---|
# | `Izz1R = Izz1 + l1²·m2` | θ1 |
# | `Izz2` | θ2 |
# | `mx1R = mx1 + l1·m2` | θ4 |
# | `mx2` | θ5, **and** θ3 = l1·θ5 |
#
# The book's third and fifth group are one parameter, since `l1` is known. It acts by inertia and by
# gravity at once, so its column is the sum of two:

# %%
assert (column["mx2"] - l1 * Y5[:, 2] - Y5[:, 4]).applyfunc(tidy).is_zero_matrix
assert [groups["θ3"].coeff(m2), groups["θ5"].coeff(m2)] == [l1 * r2, r2]

# %% [markdown]
# Rank, at random states, says how many numbers the torque of *all such arms* depends on.

# %%
link = 0.5  # m
to_numbers = sp.lambdify((q1, q2, dq1, dq2, ddq1, ddq2), Y5.subs(g, 9.81))
Y_five = np.concatenate([to_numbers(*row) for row in np.hstack([at, rate, acceleration])])
Y_all = ident.derive(robot)(at, rate, acceleration)
on_axis = [i for i, name in enumerate(base.columns) if name not in ("my1", "my2")]
weightless = robot.with_gravity([0.0, 0.0, 0.0])
Y_level = ident.derive(weightless)(at, rate, acceleration)
ranks = {
    "centres of mass anywhere": Y_all,
    "centres of mass on the link axes": Y_all[:, on_axis],
    "the same, arm in a horizontal plane": Y_level[:, on_axis],
    "five columns of the book": Y_five,
}
ranks = {name: int(np.linalg.matrix_rank(Y)) for name, Y in ranks.items()}
assert list(ranks.values()) == [6, 4, 3, 5]
pd.Series(ranks, name="rank").to_frame()

# %% [markdown]
# The last row needs care. The book's five columns *are* independent: nothing in them tells that one
# is too many. What is too many is the freedom in the parameters. All arms of link length `l1` fill
# a four-dimensional part of that five-dimensional space, `θ3 = l1·θ5`; the rest of it is the torque
# of arms with another link length, or of none.
#
# - **Six** in general, **four** with both centres of mass on the link axes.
# - **Five** is right only where `l1` is unknown: then `θ3/θ5` measures it.
#
# ## 6. What the fifth costs
#
# A fit that leaves θ3 and θ5 free has to take θ3 from inertial torque alone, which fades with the
# square of the speed, though gravity shows θ5 at any speed. Below, one path at several speeds, each
# with 300 noisy logs, each log fitted both ways.

# %%
noise = 0.3  # N·m
theta = np.array([0.425, 0.06, 0.1, 1.0, 0.2])
assert np.allclose(theta[[3, 0, 1, 4]], base.reduce(robot.pi)[[0, 2, 5, 3]], rtol=0, atol=1e-12)
assert np.isclose(theta[2], link * theta[4], rtol=0, atol=1e-12)
five_of_four = np.delete(np.eye(5), 2, axis=1)  # θ3 = l1·θ5
five_of_four[2, 3] = link


def columns_along_path(speed):
    """Five columns at a thousand samples of a path that takes 10 s at speed 1."""
    amplitude, rate = np.array([0.8, 0.9]), 2.0 * np.pi * np.array([0.30, 0.47])
    wave = np.outer(np.linspace(0.0, 10.0, 1000), rate)
    position = amplitude * np.sin(wave)
    velocity = speed * amplitude * rate * np.cos(wave)
    acceleration = -((speed * rate) ** 2) * position
    return np.concatenate([to_numbers(*s) for s in np.hstack([position, velocity, acceleration])])


def fit_both(Y, count=300):
    """Estimates of θ (count, 5) with five free parameters, and with four."""
    logs = (Y @ theta)[:, None] + noise * np.random.default_rng(1).normal(size=(len(Y), count))
    return np.linalg.lstsq(Y, logs)[0].T, (
        five_of_four @ np.linalg.lstsq(Y @ five_of_four, logs)[0]
    ).T


def standard_errors(Y):
    return noise * np.sqrt(np.diag(np.linalg.inv(Y.T @ Y)))


rows = {}
for speed in (0.1, 0.3, 1.0, 3.0):
    Y = columns_along_path(speed)
    five, four = fit_both(Y)
    length = five[:, 2] / five[:, 4]
    rows[speed] = {
        "implied length θ3/θ5, five free": f"{length.mean():.3f} ± {length.std():.3f} m",
        "θ3, five free": f"{five[:, 2].mean():.4f} ± {five[:, 2].std():.4f}",
        "θ3, four free": f"{four[:, 2].mean():.4f} ± {four[:, 2].std():.4f}",
        "condition, five": np.linalg.cond(Y).round(1),
        "condition, four": np.linalg.cond(Y @ five_of_four).round(1),
    }
    # What the spread should be, from the regressor alone.
    assert np.isclose(five[:, 2].std(), standard_errors(Y)[2], rtol=0.15, atol=0)
    assert np.allclose(four[:, 2] / four[:, 4], link, rtol=0, atol=1e-9)
pd.DataFrame(rows).T.rename_axis("speed")

# %%
slow = 0.3
five, four = fit_both(columns_along_path(slow))
fig, (ax, by_speed) = plt.subplots(1, 2, figsize=(10.5, 4.0))
span = np.array([0.19, 0.21])
ax.plot(span, link * span, color=TRUE, linewidth=1, label="arms: θ3 = l1·θ5")
ax.plot(five[:, 4], five[:, 2], ".", color=FIVE, ms=4, label="five free")
ax.plot(four[:, 4], four[:, 2], ".", color=FOUR, ms=4, label="four free")
ax.set_xlabel("θ5 = m2·r2, kg·m")
ax.set_xticks([0.19, 0.195, 0.2, 0.205, 0.21])
ax.set_ylabel("θ3, kg·m²")
ax.set_title(f"300 logs at speed {slow:g}: where no arm is", loc="left")
ax.legend(loc="upper right")

speeds = np.geomspace(0.05, 3.0, 25)
Ys = [columns_along_path(speed) for speed in speeds]
free = np.array([standard_errors(Y)[2] for Y in Ys])
bound = np.array([link * standard_errors(Y @ five_of_four)[3] for Y in Ys])
by_speed.axhline(theta[2], color=TRUE, linewidth=1, label="θ3 itself")
by_speed.loglog(speeds, free, color=FIVE, label="five free")
by_speed.loglog(speeds, bound, color=FOUR, label="four free")
by_speed.set_xlabel("speed")
by_speed.set_ylabel("standard error of θ3, kg·m²")
by_speed.set_title("What the fifth parameter costs", loc="left")
by_speed.legend(loc="center right")
plt.show()

# %% [markdown]
# With five free, the estimates lie off the line on which arms are. Each implies a link of its own
# length: at a tenth of the speed, anything from less than nothing to more than a metre. It fits its
# own log a little better than the true arm does, and is wrong at a higher speed. With four, gravity
# tells what the inertial torque must be.
#
# **Neither rank nor condition number warns of it.** The condition number is about the same for both
# where the fifth costs most, since the inertias fade along with θ3; it differs most at the highest
# speed, where the fifth costs nothing. What warns is the standard error, and the structure of the
# arm.

# %%
conditions = pd.DataFrame(rows).T[["condition, five", "condition, four"]].astype(float)
ratio = conditions["condition, five"] / conditions["condition, four"]
assert ratio[:1.0].between(1.0, 1.15).all()
assert ratio.idxmax() == 3.0
assert free[0] / bound[0] > 1000
assert free[-1] / bound[-1] < 1.1
print(f"θ3 at speed {slow:g}: {np.interp(slow, speeds, free / bound):.0f} times the standard error")

# %% [markdown]
# ## What to keep
#
# - The planar 2R arm has **six** base parameters, **four** when both centres of mass lie on the
#   link axes, **three** when it also moves in a horizontal plane. Five is an arm of unknown length.
# - Collecting functions of the motion finds independent *columns*, not the fewest *parameters*:
#   where lengths are known, one parameter may stand before several functions. `ident reduce` groups
#   parameters, so that each counts once.
# - A model with a parameter too many fits its log better and the arm worse.
