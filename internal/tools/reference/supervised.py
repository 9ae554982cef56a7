"""Writes the reference values of the supervised learners, made with other libraries, to standard output as JSON.

    python -m venv venv && venv/bin/pip install numpy==2.4.6 scikit-learn==1.9.1 lightgbm==4.7.0
    venv/bin/python internal/tools/reference/supervised.py >predictive/learn/testdata/supervised.json

All data are drawn here and written with the values, except those of Friedman's function, which the tests draw again by
the same formula. predictive/learn/reference_test.go compares.
"""

import json
import sys

import lightgbm
import numpy
import sklearn
from sklearn import isotonic, linear_model, metrics
from sklearn.calibration import _SigmoidCalibration, calibration_curve

random = numpy.random.default_rng(12)


def rounded(a, digits=12):
    return [None if numpy.isnan(v) else float(f"{v:.{digits}g}") for v in numpy.asarray(a, float).ravel()]


def classified():
    """Scores with ties, and metrics, calibration and reliability of them."""
    n = 120
    event = random.random(n) < 0.3
    p = numpy.round(numpy.clip(random.normal(0.3 + 0.25 * event, 0.2), 0.01, 0.98), 2) + 0.003  # not at the edge of a bin
    observed, predicted = calibration_curve(event, p, n_bins=10)
    odds = numpy.log(p / (1 - p))
    line = isotonic.IsotonicRegression(out_of_bounds="clip").fit(p, event)
    at = numpy.round(numpy.linspace(-0.1, 1.1, 49), 4)
    platt = _SigmoidCalibration().fit(odds, event)
    return {
        "scores": rounded(p), "events": [bool(e) for e in event],
        "rocAUC": metrics.roc_auc_score(event, p), "prAUC": metrics.average_precision_score(event, p),
        "confusion": metrics.confusion_matrix(event, p >= 0.5).ravel().tolist(),  # tn, fp, fn, tp
        "accuracy": metrics.accuracy_score(event, p >= 0.5), "precision": metrics.precision_score(event, p >= 0.5),
        "recall": metrics.recall_score(event, p >= 0.5), "f1": metrics.f1_score(event, p >= 0.5),
        "brier": metrics.brier_score_loss(event, p),
        "observed": rounded(observed), "predicted": rounded(predicted),
        "at": rounded(at), "isotonic": rounded(line.predict(at)), "platt": rounded(platt.predict(odds)),
    }


def line():
    """Ridge with a given penalty and with the one of generalised cross-validation, computed with the hat matrix."""
    n, cols = 60, 6
    x = random.normal(size=(n, cols)) * [1, 10, 0.1, 1, 5, 1] + [0, 100, 0, -3, 0, 0]
    x[:, 5] = x[:, 0] + 0.01 * random.normal(size=n)  # nearly the same column
    x = numpy.array(rounded(x, 8)).reshape(n, cols)
    y = numpy.array(rounded(x @ [1, 0.2, -3, 0, 0, 1] + random.normal(size=n), 8))
    z = (x - x.mean(0)) / x.std(0)
    errors = {}
    for k in range(-24, 25):
        penalty = n * 10 ** (k / 4)
        hat = z @ numpy.linalg.solve(z.T @ z + penalty * numpy.eye(cols), z.T) + 1 / n
        errors[penalty] = n * numpy.sum((y - hat @ y) ** 2) / (n - numpy.trace(hat)) ** 2
    best = min(errors, key=errors.get)
    return {
        "x": [rounded(r) for r in x], "y": rounded(y), "bestPenalty": best,
        "given": rounded(linear_model.Ridge(alpha=7.5).fit(z, y).predict(z)),
        "best": rounded(linear_model.Ridge(alpha=best).fit(z, y).predict(z)),
    }


def trees():
    """LightGBM without sampling on values that all have a bin of their own: the trees must be the same."""
    n = 400
    x = random.integers(1, 60, size=(n, 5)).astype(float)
    x[random.random(n) < 0.15, 1] = numpy.nan
    x[random.random(n) < 0.05, 3] = numpy.nan
    level = 0.3 * x[:, 0] + 5 * (numpy.nan_to_num(x[:, 1], nan=70) > 40) + 0.01 * x[:, 2] * numpy.nan_to_num(x[:, 3])
    y = numpy.round(level + random.normal(size=n), 4)
    event = y + 6 * random.normal(size=n) > numpy.quantile(y, 0.6)
    options = dict(num_iterations=15, learning_rate=0.2, max_depth=3, num_leaves=64, min_data_in_leaf=12, lambda_l2=2.0,
                   min_sum_hessian_in_leaf=0, max_bin=255, min_data_in_bin=1, verbose=-1, deterministic=True, num_threads=1,
                   enable_bundle=False, feature_pre_filter=False)
    fit = lambda label, more: lightgbm.train(options | more, lightgbm.Dataset(x, label))
    # LightGBM estimates the rows of a leaf from the second derivatives, which differ more with every tree.
    binary = {"objective": "binary", "num_iterations": 4, "min_data_in_leaf": 2}
    return {
        "x": [rounded(r) for r in x], "y": rounded(y), "events": [bool(e) for e in event],
        "regression": rounded(fit(y, {"objective": "regression"}).predict(x), 9),
        "probability": rounded(fit(event.astype(float), binary).predict(x), 9),
    }


def friedman():
    """Errors of LightGBM and scikit-learn at the options of BoostOptions on Friedman's first function with noise of deviation 1."""
    n, cols = 4000, 10
    state, values = 1, []
    for _ in range(n * (cols + 12)):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        values.append((state >> 11) / 2**53)
    values = numpy.array(values).reshape(n, cols + 12)
    x, noise = values[:, :cols], values[:, cols:].sum(1) - 6
    y = 10 * numpy.sin(numpy.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4] + noise
    half = n // 2
    models = [lightgbm.train(dict(objective="regression", num_iterations=200, learning_rate=0.1, max_depth=5, num_leaves=32,
                                min_data_in_leaf=10, lambda_l2=1.0, bagging_fraction=0.7, bagging_freq=1, feature_fraction=1.0,
                                verbose=-1, deterministic=True, num_threads=1, seed=seed), lightgbm.Dataset(x[:half], y[:half])) for seed in range(10)]
    from sklearn.ensemble import HistGradientBoostingRegressor
    others = [HistGradientBoostingRegressor(max_iter=200, learning_rate=0.1, max_depth=5, max_leaf_nodes=32, min_samples_leaf=10,
                                          l2_regularization=1.0, early_stopping=False, random_state=seed).fit(x[:half], y[:half]) for seed in range(10)]
    error = lambda m: numpy.sqrt(numpy.mean((m.predict(x[half:]) - y[half:]) ** 2))
    return {"rows": n, "lightgbmRMSE": numpy.mean([error(m) for m in models]), "sklearnRMSE": numpy.mean([error(m) for m in others])}


json.dump({
    "versions": {"numpy": numpy.__version__, "scikit-learn": sklearn.__version__, "lightgbm": lightgbm.__version__},
    "classified": classified(), "line": line(), "trees": trees(), "friedman": friedman(),
}, sys.stdout, separators=(",", ":"))
print()
