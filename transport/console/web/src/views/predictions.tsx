import { useEffect, useMemo, useState } from "preact/hooks";
import { get, Problem, problemText } from "../api";
import type { components } from "../api.gen";
import { count, decimal, natural, when } from "../format";
import { go, href, route } from "../route";
import { texts, word } from "../strings";
import { Trend, useTag } from "../tagdetail";
import { Grid, Icon, narrowed, phone, useRepeat, type Column } from "../ui";
import { Models } from "./models";
import type en from "./predictions.en.json";

const t = texts<keyof typeof en>();
type Life = components["schemas"]["RULPrediction"];
type Failure = components["schemas"]["FailurePrediction"];
type Anomaly = components["schemas"]["AnomalyResult"];
type Confidence = components["schemas"]["PredictionConfidence"];

const base = "/api/v1.0/predictive-maintenance";
const of = (...parts: string[]) => `${base}/${parts.map(encodeURIComponent).join("/")}`;

/** What an equipment answered, or why it did not. */
interface Lives {
  until: number; // asked again then
  components: { name: string; life?: Life; error?: unknown }[];
}

const known = new Map<string, Lives>();
const most = 500; // equipments remembered

/** The remaining lives of an equipment, at most a minute old; what was refused is asked for again sooner. */
async function livesOf(id: string, signal?: AbortSignal): Promise<Lives> {
  const before = known.get(id);
  if (before && Date.now() < before.until) return before;
  const names = await get<string[]>(of("equipments", id, "components"), {}, signal);
  const lives: Lives = { until: 0, components: [] };
  for (const name of names) {
    try {
      lives.components.push({ name, life: await get<Life>(of("rul", id, name), {}, signal) });
    } catch (error) {
      if (signal?.aborted) throw error;
      lives.components.push({ name, error });
    }
  }
  lives.until = Date.now() + (lives.components.some((c) => c.error) ? 10_000 : 60_000);
  known.delete(id);
  known.set(id, lives);
  if (known.size > most) known.delete(known.keys().next().value!);
  return lives;
}

/** The component that lasts least. */
const worst = (l: Lives | undefined): Life | undefined => l?.components.map((c) => c.life).filter((x) => x !== undefined).sort((a, b) => daysOf(a) - daysOf(b))[0];

/** A remaining life: the interval of 90% and the most likely value, on a scale of days. */
function LifeBar({ life, scale }: { life: Life; scale: number }) {
  const x = (days: number) => (Math.min(days, scale) / scale) * 100;
  const middle = x(daysOf(life));
  return (
    <svg class="life" viewBox="0 0 100 14" preserveAspectRatio="none" role="img" aria-label={lifeText(life)}>
      <rect class="scale" x="0" y="3" width="100" height="8" />
      <rect class="interval" x={x(life.rulLowDays)} y="4" width={Math.max(0.6, x(life.rulHighDays) - x(life.rulLowDays))} height="6" />
      <rect class="middle" x={Math.max(0, Math.min(99, middle - 0.5))} y="1" width="1" height="12" />
    </svg>
  );
}

/** The remaining life to the hour; rulDays is rounded down, so that it may lie below its own interval. */
const daysOf = (l: Life) => (Date.parse(l.predictedFailureDate) - Date.parse(l.predictedAt)) / 86_400_000;
const lifeText = (l: Life) => t(l.capped ? "predictions.daysMore" : "predictions.days", { days: decimal(daysOf(l), 1), low: decimal(l.rulLowDays, 1), high: decimal(l.rulHighDays, 1) });

/** How far a prediction can be trusted, and what speaks against it most. */
function Trust({ confidence, detail }: { confidence: number; detail: Confidence }) {
  const [reason, factor] = Object.entries(detail).sort(([, a], [, b]) => a - b)[0];
  const percent = decimal(confidence * 100, 0);
  return <span class={confidence < 0.3 ? "weak" : ""}>{t(confidence < 0.3 ? "predictions.weak" : "predictions.percent", { n: percent })}{factor < 0.9 && ` · ${word("predictions.factor", reason)}`}</span>;
}

const why = (error: unknown) => (error instanceof Problem && error.code === "INSUFFICIENT_DATA" ? t("predictions.tooLittle") : problemText(error));

interface Judged {
  name: string;
  failure?: Failure;
  anomaly?: Anomaly;
  error?: unknown;
}

function Components({ lives, scale }: { lives: Lives; scale: number }) {
  return (
    <table class="plain wide">
      <thead><tr><th>{t("predictions.component")}</th><th>{t("predictions.life")}</th><th class="end">{t("predictions.left")}</th><th class="end">{t("predictions.health")}</th><th>{t("predictions.confidence")}</th></tr></thead>
      <tbody>
        {lives.components.map((c) => c.life ? (
          <tr key={c.name}>
            <th scope="row">{c.name}</th>
            <td data-label={t("predictions.life")}><LifeBar life={c.life} scale={scale} /></td>
            <td class="end figure" data-label={t("predictions.left")}>{lifeText(c.life)}</td>
            <td class="end figure" data-label={t("predictions.health")}>{decimal(c.life.healthScore * 100, 0)}%</td>
            <td data-label={t("predictions.confidence")}><Trust confidence={c.life.confidence} detail={c.life.confidenceDetail} /></td>
          </tr>
        ) : <tr key={c.name}><th scope="row">{c.name}</th><td colSpan={4}>{why(c.error)}</td></tr>)}
      </tbody>
    </table>
  );
}

function TagTrend({ a }: { a: Judged }) {
  const [row, error] = useTag(a.name);
  const range = a.anomaly?.expectedRange;
  if (error) return <p class="error" role="alert">{problemText(error)}</p>;
  return row ? <Trend r={row} lines={range ? [{ at: range.min, name: t("predictions.low") }, { at: range.max, name: t("predictions.high") }] : []} /> : null;
}

function Tags({ id }: { id: string }) {
  const [list, setList] = useState<Judged[]>();
  const [error, setError] = useState<unknown>();
  const [open, setOpen] = useState<string>();
  useRepeat(() => {
    const control = new AbortController();
    void (async () => {
      const names = await get<string[]>(of("equipments", id, "tags"), {}, control.signal);
      const found: Judged[] = [];
      for (const name of names) {
        const j: Judged = { name };
        try {
          j.anomaly = await get<Anomaly>(of("anomaly", name), {}, control.signal);
          j.failure = await get<Failure>(of("failure-prediction", id, name), {}, control.signal);
        } catch (err) {
          if (control.signal.aborted) throw err;
          j.error = err;
        }
        found.push(j);
      }
      setList(found);
      setError(undefined);
    })().catch((err) => control.signal.aborted || setError(err));
    return () => control.abort();
  }, 30_000, [id]);
  if (error) return <p class="error" role="alert">{problemText(error)}</p>;
  if (!list) return <p class="empty" role="status">{t("loading")}</p>;
  return (
    <table class="plain wide">
      <thead><tr><th>{t("predictions.tag")}</th><th class="end">{t("value")}</th><th class="end">{t("predictions.expected")}</th><th>{t("predictions.anomaly")}</th><th class="end">{t("predictions.failure")}</th></tr></thead>
      <tbody>
        {list.map((j) => (
          <>
            <tr key={j.name}>
              <th scope="row"><button type="button" class="expand" aria-expanded={open === j.name} onClick={() => setOpen(open === j.name ? undefined : j.name)}>{j.name}</button></th>
              {j.anomaly ? (
                <>
                  <td class="end figure" data-label={t("value")}>{decimal(j.anomaly.currentValue, 2)}</td>
                  <td class="end figure" data-label={t("predictions.expected")}>{decimal(j.anomaly.expectedRange.min, 2)} … {decimal(j.anomaly.expectedRange.max, 2)}</td>
                  <td data-label={t("predictions.anomaly")}><span class={`state${j.anomaly.isAnomaly ? " off" : ""}`}>{j.anomaly.isAnomaly ? t("predictions.unusual", { severity: word("predictions.severity", j.anomaly.severity) }) : t("predictions.usual")}</span></td>
                </>
              ) : <td colSpan={3}>{why(j.error)}</td>}
              <td class="end figure" data-label={t("predictions.failure")}>
                {j.failure ? <span class={j.failure.prediction === "Failure" ? "late" : ""}>{t("predictions.within", { n: decimal(j.failure.failureProbability * 100, 0), limit: decimal(j.failure.threshold * 100, 0), hours: count(j.failure.horizonHours) })}</span> : j.anomaly ? why(j.error) : "–"}
              </td>
            </tr>
            {open === j.name && <tr class="about-tag" key={`${j.name} trend`}><td colSpan={5}><TagTrend a={j} /></td></tr>}
          </>
        ))}
      </tbody>
    </table>
  );
}

function Equipment({ id, scale }: { id: string; scale: number }) {
  const [lives, setLives] = useState<Lives>();
  const [error, setError] = useState<unknown>();
  useRepeat(() => {
    const control = new AbortController();
    livesOf(id, control.signal).then((l) => { setLives(l); setError(undefined); }, (err: unknown) => control.signal.aborted || setError(err));
    return () => control.abort();
  }, 15_000, [id]);
  const advice = lives?.components.map((c) => c.life).filter((x) => x !== undefined).sort((a, b) => daysOf(a) - daysOf(b))[0];
  const own = Math.max(scale, ...(lives?.components.map((c) => c.life?.rulHighDays ?? 0) ?? []), 1);
  return (
    <aside class="panel fill detail" aria-labelledby="equipment-title">
      <header><h2 id="equipment-title" role="heading" aria-level={narrowed.value ? 1 : 2}>{id}</h2><span class="spring" /><a class="icon-button" href={href("predictions")} aria-label={t("close")}><Icon name="close" /></a></header>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll body" tabIndex={0} role="group" aria-labelledby="equipment-title">
        {advice && <p class="lead">{advice.recommendation} <small class="quiet">{t("predictions.sampled", { at: when(advice.sampledAt) })}</small></p>}
        {lives ? <Components lives={lives} scale={own} /> : !error && <p class="empty" role="status">{t("loading")}</p>}
        <h3 role="heading" aria-level={narrowed.value ? 2 : 3}>{t("tags")}</h3>
        <Tags key={id} id={id} />
      </div>
    </aside>
  );
}

function Equipments({ chosen }: { chosen?: string }) {
  const [all, setAll] = useState<string[]>();
  const [error, setError] = useState<unknown>();
  const [text, setText] = useState("");
  const [active, setActive] = useState(-1);
  const [sight, setSight] = useState<string[]>([]);
  const [, redraw] = useState(0);
  useRepeat(() => void get<string[]>(of("equipments")).then((l) => { setAll(l.map((id) => [natural(id), id]).sort().map(([, id]) => id)); setError(undefined); }, setError), 60_000);
  const list = useMemo(() => (all ?? []).filter((id) => id.toLowerCase().includes(text.toLowerCase())), [all, text]);
  // Only what is in sight is asked for, three at a time.
  useEffect(() => {
    const control = new AbortController();
    const todo = [...sight];
    const worker = async () => {
      for (let id = todo.shift(); id !== undefined && !control.signal.aborted; id = todo.shift()) {
        try {
          await livesOf(id, control.signal);
        } catch {
          if (!control.signal.aborted) known.set(id, { until: 0, components: [] });
        }
        redraw((n) => n + 1);
      }
    };
    const read = setTimeout(() => void Promise.all([worker(), worker(), worker()]), 150);
    const again = setInterval(() => { todo.push(...sight); void worker(); }, 15_000);
    return () => { clearTimeout(read); clearInterval(again); control.abort(); };
  }, [sight.join("\n")]);

  const scale = Math.max(1, ...[...known.values()].flatMap((l) => l.components.map((c) => c.life?.rulHighDays ?? 0)));
  const columns: Column[] = [
    { id: "equipment", title: t("predictions.equipment"), width: "minmax(110px, 1fr)" },
    { id: "component", title: t("predictions.first"), width: "minmax(90px, 1fr)" },
    { id: "life", title: t("predictions.life"), width: "minmax(120px, 2fr)" },
    { id: "left", title: t("predictions.left"), width: "minmax(150px, 1.3fr)", end: true },
    ...(chosen ? [] : [{ id: "confidence", title: t("predictions.confidence"), width: "minmax(170px, 1.6fr)" }]),
  ];
  const open = (i: number) => list[i] !== undefined && go("predictions", "equipment", list[i]);
  return (
    <div class={`predictions${chosen !== undefined ? " split" : ""}`}>
      <section class="panel fill listing" aria-labelledby="predictions-title">
        <header class="tools">
          <h1 id="predictions-title">{t("predictions")}</h1>
          <Views />
          <input type="search" placeholder={t("predictions.search")} aria-label={t("predictions.search")} value={text} onInput={(e) => { setText(e.currentTarget.value); setActive(-1); }} />
          <span class="quiet counted" role="status">{all ? t("predictions.count", { n: count(list.length), of: count(all.length) }) : t("loading")}</span>
        </header>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <Grid
          label={t("predictions")} columns={columns} count={list.length} rowHeight={phone.value ? 56 : 32} busy={!all} active={active} onActive={setActive} onEnter={open}
          onRange={(first, last) => setSight(list.slice(first, last))}
          row={(i, attributes) => {
            const id = list[i], lives = known.get(id), life = worst(lives);
            const left = life ? lifeText(life) : lives ? why(lives.components[0]?.error ?? new Problem(0, "INSUFFICIENT_DATA", "")) : "…";
            return (
              <div key={id} {...attributes} class={`${attributes.class as string}${id === chosen ? " chosen" : ""}`} onClick={() => open(i)}>
                {phone.value ? (
                  <>
                    <span role="gridcell" class="two"><a href={href("predictions", "equipment", id)} tabIndex={-1}>{id}</a><span>{life?.componentName}</span></span>
                    <span role="gridcell" class="two end">{life && <LifeBar life={life} scale={scale} />}<span>{left}</span></span>
                  </>
                ) : (
                  <>
                    <span role="gridcell"><a href={href("predictions", "equipment", id)} tabIndex={-1}>{id}</a></span>
                    <span role="gridcell">{life?.componentName ?? "–"}</span>
                    <span role="gridcell">{life && <LifeBar life={life} scale={scale} />}</span>
                    <span role="gridcell" class="end figure">{left}</span>
                    {!chosen && <span role="gridcell">{life && <Trust confidence={life.confidence} detail={life.confidenceDetail} />}</span>}
                  </>
                )}
              </div>
            );
          }}
          empty={all ? t("predictions.none") : t("loading")}
        />
      </section>
      {chosen !== undefined && <Equipment key={chosen} id={chosen} scale={scale} />}
    </div>
  );
}

function Views() {
  const models = route.value[1] === "models";
  return (
    <nav class="segments" aria-label={t("view")}>
      <a href={href("predictions")} aria-current={models ? undefined : "page"}>{t("predictions.equipments")}</a>
      <a href={href("predictions", "models")} aria-current={models ? "page" : undefined}>{t("predictions.models")}</a>
    </nav>
  );
}

export default function Predictions() {
  const [, kind, id] = route.value;
  if (kind !== "models") return <Equipments chosen={kind === "equipment" ? id : undefined} />;
  return (
    <section class="panel fill" aria-labelledby="predictions-title">
      <header class="tools"><h1 id="predictions-title">{t("predictions")}</h1><Views /></header>
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="predictions-title"><Models /></div>
    </section>
  );
}
