import { useState } from "preact/hooks";
import { del, get, post, Problem, problemText } from "../api";
import type { components } from "../api.gen";
import { count, decimal, when } from "../format";
import { may } from "../session";
import { texts, word } from "../strings";
import { notify, useRepeat } from "../ui";
import type en from "./models.en.json";

const t = texts<keyof typeof en>();
type Metrics = components["schemas"]["ModelMetrics"];
type Version = components["schemas"]["ModelVersion"];
type Job = components["schemas"]["TrainingJob"];

const base = "/api/v1.0/predictive-maintenance";
const types = ["FailurePrediction", "RUL"];
const percent = (n: number) => `${decimal(n * 100, 1)}%`;

function Figures({ m }: { m: Metrics }) {
  const list: [string, string | undefined][] = [
    [t("models.precision"), percent(m.precision)], [t("models.recall"), percent(m.recall)], [t("models.f1"), decimal(m.f1Score, 3)],
    [t("models.auc"), m.auc === undefined ? undefined : decimal(m.auc, 3)], [t("models.ece"), m.ece === undefined ? undefined : decimal(m.ece, 3)],
    [t("models.rmse"), m.rmse === undefined ? undefined : t("models.days", { n: decimal(m.rmse, 2) })], [t("models.mae"), m.mae === undefined ? undefined : t("models.days", { n: decimal(m.mae, 2) })],
    [t("models.coverage"), m.coverage === undefined ? undefined : percent(m.coverage)], [t("models.samples"), count(m.testSampleCount)], [t("models.lives"), count(m.testLives)],
  ];
  const drift = (m.drift ?? []).filter((d) => d.psi > 0.25);
  return (
    <>
      <p class="quiet">{t("models.about", { version: m.version, at: when(m.trainedAt), split: word("models.split", m.split) })}</p>
      <dl class="figures">{list.filter(([, v]) => v !== undefined).map(([k, v]) => <div key={k}><dt>{k}</dt><dd class="figure">{v}</dd></div>)}</dl>
      <p>{drift.length ? t("models.drift", { features: drift.slice(0, 5).map((d) => d.feature).join(", ") }) : t("models.noDrift")}</p>
    </>
  );
}

function Training({ job, onChange }: { job: Job; onChange: () => void }) {
  const running = job.state === "Running";
  const cancel = async () => {
    try {
      await del(`${base}/jobs/${encodeURIComponent(job.id)}`);
    } catch (err) {
      notify(problemText(err), true);
    }
    onChange();
  };
  return (
    <div class="tools" role="status">
      <b>{word("models.job", job.state)}</b>
      {running ? <progress max={1} value={job.progress} aria-label={t("models.progress")} /> : <span class="quiet">{when(job.endedAt)}</span>}
      <span>{running ? `${decimal(job.progress * 100, 0)}% · ${job.stage}` : job.training?.message}</span>
      {running && may("Operator") && <button type="button" onClick={() => void cancel()}>{t("cancel")}</button>}
    </div>
  );
}

function Versions({ type, serving }: { type: string; serving?: string }) {
  const [list, setList] = useState<Version[]>();
  const [error, setError] = useState<unknown>();
  useRepeat(() => void get<{ models: Version[] }>(`${base}/models/${type}`).then((a) => setList(a.models), setError), 60_000, [type, serving]);
  if (error) return <p class="quiet">{problemText(error)}</p>;
  if (!list?.length) return null;
  return (
    <table class="plain wide">
      <thead><tr><th>{t("models.version")}</th><th>{t("models.trained")}</th><th class="end">{t("models.rows")}</th><th class="end">{t("models.equipments")}</th><th class="end">{t("models.f1")}</th><th>{t("state")}</th></tr></thead>
      <tbody>
        {list.slice(0, 20).map((v) => (
          <tr key={v.version}>
            <th scope="row">{v.version}</th><td data-label={t("models.trained")} class="figure">{when(v.trainedAt)}</td><td data-label={t("models.rows")} class="end figure">{count(v.samples)}</td>
            <td data-label={t("models.equipments")} class="end figure">{count(v.units)}</td><td data-label={t("models.f1")} class="end figure">{decimal(v.metrics.f1Score, 3)}</td>
            <td data-label={t("state")}>{v.serving ? t("models.serving") : v.promoted ? "–" : t("models.notBetter")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Model({ type, job, onChange }: { type: string; job?: Job; onChange: () => void }) {
  const [metrics, setMetrics] = useState<Metrics>();
  const [error, setError] = useState<unknown>();
  useRepeat(() => void get<Metrics>(`${base}/metrics/${type}`).then((m) => { setMetrics(m); setError(undefined); }, setError), 60_000, [type, job?.state]);
  const train = async () => {
    try {
      await post(`${base}/jobs`, { modelType: type });
    } catch (err) {
      notify(problemText(err), true);
    }
    onChange();
  };
  return (
    <section class="card" aria-labelledby={`model-${type}`}>
      <header>
        <h2 id={`model-${type}`}>{word("models.type", type)}</h2><span class="spring" />
        {may("Operator") && <button type="button" disabled={job?.state === "Running"} onClick={() => void train()}>{t("models.retrain")}</button>}
      </header>
      {job && <Training job={job} onChange={onChange} />}
      {metrics ? <Figures m={metrics} /> : error ? <p class="quiet">{error instanceof Problem && error.status < 500 ? t("models.none") : problemText(error)}</p> : <p class="quiet">{t("loading")}</p>}
      <Versions type={type} serving={metrics?.version} />
    </section>
  );
}

/** The models: their quality, versions and trainings. */
export function Models() {
  const [jobs, setJobs] = useState<Job[]>([]);
  const [error, setError] = useState<unknown>();
  const read = () => void get<Job[]>(`${base}/jobs`).then((l) => { setJobs(l); setError(undefined); }, setError);
  useRepeat(read, jobs.some((j) => j.state === "Running") ? 1000 : 10_000, [jobs.some((j) => j.state === "Running")]);
  return (
    <>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      {types.map((type) => <Model key={type} type={type} job={jobs.find((j) => j.modelType === type)} onChange={read} />)}
    </>
  );
}
