"""Serves a model of failures that was trained with the training set of otkit: server.py TRAINING_SET.csv HORIZON_HOURS.

It prints its port. Ask with features it does not know to see it answer NaN, as programs do that do not look.
"""

import csv
import json
import math
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class GaussianNB:
    """Gaussian naive Bayes with the methods of scikit-learn's."""

    def fit(self, rows, labels):
        self.classes_ = [False, True]
        self.parts = {}
        for c in self.classes_:
            of = [row for row, label in zip(rows, labels) if label == c]
            columns = []
            for values in zip(*of):
                known = [v for v in values if v is not None]
                mean = sum(known) / len(known)
                columns.append((mean, sum((v - mean) ** 2 for v in known) / len(known) + 1e-9))
            self.parts[c] = (math.log(len(of) / len(rows)), columns)
        return self

    def predict_proba(self, rows):
        return [self._one(row) for row in rows]

    def _one(self, row):
        logs = []
        for c in self.classes_:
            log, columns = self.parts[c]
            for v, (mean, variance) in zip(row, columns):
                if v is not None:
                    log -= (v - mean) ** 2 / (2 * variance) + math.log(variance) / 2
            logs.append(log)
        top = max(logs)
        shares = [math.exp(log - top) for log in logs]
        return [share / sum(shares) for share in shares]


def train(path, horizon):
    with open(path, newline="") as f:
        table = list(csv.DictReader(f))
    names = [name for name in table[0] if name not in ("unit", "life", "time", "label", "stepSeconds")]
    rows = [[float(row[name]) if row[name] else None for name in names] for row in table]
    step = float(table[0]["stepSeconds"])
    return names, step, GaussianNB().fit(rows, [float(row["label"]) <= horizon for row in table])


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        row = [question["features"].get(name) for name in names]
        probability = model.predict_proba([row])[0][1] if any(v is not None for v in row) else float("nan")
        body = json.dumps({"probability": probability, "threshold": 0.5}).encode()
        status = 200 if question["stepSeconds"] == step else 422  # features of another step are of other windows
        self.send_response(status if self.headers["Authorization"] == "Bearer T0ken" else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


names, step, model = train(sys.argv[1], float(sys.argv[2]))
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
