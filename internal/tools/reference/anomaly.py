"""Writes the reference values of the detectors of anomalies, made with other libraries, to standard output as JSON.

    python -m venv venv && venv/bin/pip install numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 scikit-learn==1.9.1 statsmodels==0.15.0
    venv/bin/python internal/tools/reference/anomaly.py >predictive/learn/testdata/anomaly.json

All data are drawn here and written with the values. predictive/learn/anomaly_reference_test.go compares.
"""

import json
import math
import sys

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold
from statsmodels.tsa.seasonal import seasonal_decompose
from statsmodels.tsa.stattools import acf

random = np.random.default_rng(12)
SMOOTHING, VARIANCE = 0.1, 0.98


def rounded(a):
    return np.round(np.asarray(a, dtype=float), 12).tolist()


def smoothed(x, center, scale, start):
    z = (x - center) / scale
    rows = [start]
    for row in z:
        rows.append(rows[-1] + SMOOTHING * (row - rows[-1]))
    return np.array(rows[1:])


def figures(pca, z):
    scores = pca.transform(z)
    t2 = (scores**2 / pca.explained_variance_).sum(axis=1)
    q = ((z - pca.inverse_transform(scores)) ** 2).sum(axis=1)
    return t2, q


def tail(values, share):
    """The quantile of a distribution whose excesses above the quantile 0.9 are exponential."""
    values = np.sort(values)
    start = math.ceil(0.9 * len(values))
    scale = stats.expon.fit(values[start:] - values[start - 1], floc=0)[1]
    return values[start - 1] + stats.expon.ppf(1 - (1 - share) / 0.1, scale=scale)


def monitor():
    hidden = random.normal(size=(300, 2)).cumsum(axis=0) / 10
    mix = random.normal(size=(2, 5))
    x = np.round(hidden @ mix + 0.3 * random.normal(size=(300, 5)) + [10, 0, -5, 100, 1], 4)
    train, new = x[:200], x[200:]
    center = np.median(train, axis=0)
    scale = stats.median_abs_deviation(train, axis=0, scale="normal")
    z = smoothed(train, center, scale, np.zeros(5))
    t2s, qs = [], []
    for rest, block in KFold(5).split(z):
        t2, q = figures(PCA(VARIANCE, svd_solver="full").fit(z[rest]), z[block])
        t2s, qs = np.append(t2s, t2), np.append(qs, q)
    limits = [tail(t2s, 0.9999), tail(qs, 0.9999)]
    limit = tail(t2s / limits[0] + qs / limits[1], 0.9999)
    pca = PCA(VARIANCE, svd_solver="full").fit(z)
    t2, q = figures(pca, smoothed(new, center, scale, z.mean(axis=0)))
    return {
        "train": x[:200].tolist(),
        "new": new.tolist(),
        "components": int(pca.n_components_),
        "limits": rounded(limits),
        "t2": rounded(t2),
        "q": rounded(q),
        "index": rounded((t2 / limits[0] + q / limits[1]) / limit),
    }


def averages():
    x = pd.Series(np.round(random.normal(20, 2, 100), 4))
    window = x.ewm(alpha=0.005, adjust=True)
    return {"values": x.tolist(), "mean": rounded(window.mean()), "deviation": rounded(window.std(bias=True))}


def season():
    hours = np.arange(24 * 20)
    shape = 10 * np.sin(2 * np.pi * hours / 24) + 4 * np.cos(4 * np.pi * hours / 24)
    x = np.round(50 + shape + random.normal(size=len(hours)), 4)
    correlation = acf(x, nlags=100, fft=True)
    return {
        "values": x.tolist(),
        "period": int(12 + np.argmax(correlation[12:])),
        "profile": rounded(seasonal_decompose(x, period=24).seasonal[:24]),
    }


def drift():
    before, after = np.round(random.normal(0, 1, 500), 6), np.round(random.normal(0.4, 1.3, 400), 6)
    edges = np.quantile(before, np.arange(1, 10) / 10, method="inverted_cdf")
    shares = []
    for v in (before, after):
        counts = np.bincount(np.searchsorted(edges, v), minlength=10)
        counts = np.append(counts, 0) + 0.5  # missing values
        shares.append(counts / counts.sum())
    return {
        "before": before.tolist(),
        "after": after.tolist(),
        "psi": float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum()),
        "ks": float(stats.ks_2samp(before, after).statistic),
    }


json.dump({"monitor": monitor(), "averages": averages(), "season": season(), "drift": drift()}, sys.stdout, separators=(",", ":"))
print()
