import { useEffect, useRef, useState } from "preact/hooks";
import type { AlignedData } from "uplot";
import { alarms, changed, compare, stateOf } from "./alarmstore";
import { get, problemText, type Aggregates, type History, type Write } from "./api";
import type { Plot } from "./chart";
import { decimal, decimalsOf, full, numeric, value, when } from "./format";
import { theme } from "./frame";
import { href } from "./route";
import { may } from "./session";
import { language, t, word, type Key } from "./strings";
import { Figure, RangeBar } from "./tags";
import { frame, readTag, watchSingle, type Row } from "./tagstore";
import { Icon, Mark, narrowed, QualityMark, useRepeat } from "./ui";
import { WriteDialog } from "./write";

/** A sample or an interval. What is held is no sample: it is the value that another one has at an end of the range. */
interface Point { at: number; mid: number | null; lo: number | null; hi: number | null; text: string; quality: string; held?: boolean }

const spans: [Key, number][] = [["span.15m", 900], ["span.1h", 3600], ["span.8h", 28_800], ["span.24h", 86_400], ["span.7d", 604_800]];
const intervals: [string, number][] = [["1s", 1], ["5s", 5], ["10s", 10], ["30s", 30], ["1m", 60], ["5m", 300], ["10m", 600], ["30m", 1800], ["1h", 3600], ["6h", 21_600], ["1d", 86_400]];

/** What is asked for: stored samples of short ranges, aggregates of longer ones. */
function resolution(choice: string, seconds: number): string {
  if (choice !== "auto") {
    const chosen = intervals.find(([name]) => name === choice);
    return chosen && seconds / chosen[1] > 5000 ? resolution("auto", seconds) : choice;
  }
  return seconds <= 3600 ? "raw" : (intervals.find(([, s]) => seconds / s <= 400) ?? intervals[intervals.length - 1])[0];
}

/** The value that a tag has at the beginning of a range, whenever it was stored. */
async function heldAt(r: Row, from: number, signal: AbortSignal): Promise<Point | undefined> {
  if (r.dataType === "String" || r.dataType === "Bytes") return undefined;
  const start = new Date(from * 1000), end = new Date(start.getTime() + 1);
  const a = await get<Aggregates>("/api/v1/history/aggregates", { tag: r.name, start: start.toISOString(), end: end.toISOString(), interval: "1ms", function: ["timeAverage"], uncertain: true }, signal);
  const i = a.series[0]?.intervals[0];
  if (i?.timeAverage == null) return undefined;
  const text = r.dataType === "Bool" ? word("bool", String(i.timeAverage !== 0)) : decimal(i.timeAverage, decimalsOf(r));
  return { at: from, mid: i.timeAverage, lo: null, hi: null, text, quality: i.quality, held: true };
}

/** The points with one more where a value ends: where there is none that is good, and at the end of the range. */
function drawable(points: Point[], until: number): Point[] {
  const all: Point[] = [];
  for (const p of points) {
    const last = all[all.length - 1];
    if (p.mid === null && last && last.mid !== null) all.push({ ...last, at: p.at, held: true });
    all.push(p);
  }
  const last = all[all.length - 1];
  if (last && last.mid !== null && until > last.at) all.push({ ...last, at: until, held: true });
  return all;
}

/** The mean of what is drawn: of intervals, or of values by how long each holds. */
function meanOf(points: Point[], stepped: boolean): number {
  let sum = 0, time = 0;
  points.forEach((p, i) => {
    const weight = stepped ? (points[i + 1]?.at ?? p.at) - p.at : 1;
    if (p.mid === null) return;
    sum += p.mid * weight;
    time += weight;
  });
  return time > 0 ? sum / time : (points.find((p) => p.mid !== null)?.mid ?? NaN);
}

async function read(r: Row, from: number, to: number, interval: string, signal: AbortSignal): Promise<Point[]> {
  const start = new Date(from * 1000).toISOString(), end = new Date(to * 1000).toISOString();
  if (interval === "raw" || r.dataType === "String" || r.dataType === "Bytes") {
    const [h, before] = await Promise.all([get<History>(`/api/v1/tags/${encodeURIComponent(r.name)}/history`, { start, end, maxPoints: 2000 }, signal), heldAt(r, from, signal)]);
    const points: Point[] = h.points.map((p) => {
      const v = p.quality === "Bad" ? null : (numeric(p.value) ?? null);
      return { at: Date.parse(p.timestamp) / 1000, mid: v, lo: null, hi: null, text: value(p.value, r), quality: p.quality };
    });
    return drawable(before ? [before, ...points] : points, Math.min(to, Date.now() / 1000));
  }
  const a = await get<Aggregates>("/api/v1/history/aggregates", { tag: r.name, start, end, interval, function: ["timeAverage", "min", "max"], fill: "previous", uncertain: true }, signal);
  return (a.series[0]?.intervals ?? []).map((i) => ({
    at: (Date.parse(i.start) + Date.parse(i.end)) / 2000, mid: i.timeAverage ?? null, lo: numeric(i.min) ?? null, hi: numeric(i.max) ?? null,
    text: i.timeAverage == null ? "–" : decimal(i.timeAverage, decimalsOf(r)), quality: i.quality,
  }));
}

const columns = (points: Point[]): AlignedData => [points.map((p) => p.at), points.map((p) => p.mid), points.map((p) => p.lo), points.map((p) => p.hi)];

/** The trend of a tag beside its range, or beside other lines. */
export function Trend({ r, lines }: { r: Row; lines?: { at: number; name: string }[] }) {
  const [span, setSpan] = useState(900);
  const [zoom, setZoom] = useState<[number, number][]>([]);
  const [choice, setChoice] = useState("auto");
  const [points, setPoints] = useState<Point[]>();
  const [bounds, setBounds] = useState<[number, number]>([0, 1]);
  const [error, setError] = useState<unknown>();
  const [table, setTable] = useState(false);
  const [cursor, setCursor] = useState<number | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>();
  const at = zoom[zoom.length - 1];
  const drawn = r.dataType !== "String" && r.dataType !== "Bytes";
  const seconds = at ? at[1] - at[0] : span;
  const interval = resolution(choice, seconds);
  const stepped = interval === "raw" || r.dataType === "Bool";

  useEffect(() => {
    const control = new AbortController();
    let reading = false;
    const refresh = async () => {
      if (reading) return; // a slow engine is not asked more and more at once
      reading = true;
      const now = Date.now() / 1000;
      const [from, to] = at ?? [now - span, now];
      try {
        const found = await read(r, from, to, interval, AbortSignal.any([control.signal, AbortSignal.timeout(30_000)]));
        setBounds([from, to]);
        setPoints(found);
        setError(undefined);
      } catch (err) {
        if (!control.signal.aborted) setError(err);
      } finally {
        reading = false;
      }
    };
    void refresh();
    // What is zoomed in stands still.
    const timer = at ? undefined : setInterval(() => document.visibilityState === "visible" && void refresh(), Math.max(2000, (span / 300) * 1000));
    return () => { control.abort(); clearInterval(timer); };
  }, [r, span, at, interval]);

  useEffect(() => {
    if (!points || !drawn || table || !host.current) return;
    if (plot.current) return plot.current.set(columns(points), bounds, stepped);
    let gone = false;
    const e = host.current;
    void import("./chart").then(({ trend }) => {
      if (gone || plot.current) return;
      plot.current = trend(e, columns(points), bounds, {
        decimals: decimalsOf(r), bool: r.dataType === "Bool", stepped,
        limits: lines ?? ((r.maxValue ?? 0) > (r.minValue ?? 0) ? [{ at: r.minValue!, name: t("limit.low") }, { at: r.maxValue!, name: t("limit.high") }] : []),
        onZoom: (from, to) => setZoom((z) => [...z, [from, to]]),
        onCursor: setCursor,
      });
    });
    return () => void (gone = true);
  }, [points, bounds, table, drawn]);
  useEffect(() => () => { plot.current?.destroy(); plot.current = undefined; }, [theme.value, language.value, table]);

  const good = points?.filter((p) => p.mid !== null) ?? [];
  const lo = Math.min(...good.map((p) => p.lo ?? p.mid!)), hi = Math.max(...good.map((p) => p.hi ?? p.mid!));
  const mean = meanOf(points ?? [], interval === "raw");
  const shown = cursor !== null && points?.[cursor] ? points[cursor] : undefined;
  const d = decimalsOf(r);
  const figures = good.length > 0 && drawn;
  return (
    <section class="trend" aria-label={t("history")}>
      <div class="tools">
        <div class="segments" role="group" aria-label={t("span")}>
          {spans.map(([key, s]) => <button type="button" key={key} aria-pressed={!at && span === s} onClick={() => { setSpan(s); setZoom([]); }}>{t(key)}</button>)}
        </div>
        {drawn && (
          <select aria-label={t("interval")} value={choice} onChange={(e) => setChoice(e.currentTarget.value)}>
            <option value="auto">{t("interval.auto")}</option>
            <option value="raw">{t("interval.raw")}</option>
            {["1m", "10m", "1h", "1d"].map((i) => <option key={i} value={i}>{t("interval.mean", { interval: t(`interval.${i}` as Key) })}</option>)}
          </select>
        )}
        {at && <button type="button" onClick={() => setZoom((z) => z.slice(0, -1))}><Icon name="back" />{t("zoom.back")}</button>}
        <span class="spring" />
        {drawn && <button type="button" aria-pressed={table} onClick={() => setTable(!table)}>{table ? t("asPlot") : t("asTable")}</button>}
      </div>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      {drawn && !table ? (
        <>
          <div class="plot" ref={host} role="img" aria-label={figures ? t("trend.text", { name: r.name, n: good.length, lo: decimal(lo, d), hi: decimal(hi, d) }) : t("trend.none")} />
          {points && good.length === 0 && <p class="empty">{t("trend.none")}</p>}
          <p class="reading" aria-hidden="true">
            {shown ? (
              <><time>{full(shown.at * 1000)}</time> <b class="figure">{shown.text}</b> {r.unit} {shown.quality !== "Good" && <span>{word("quality", shown.quality)}</span>}</>
            ) : figures ? (
              <>{t("trend.stats", { lo: decimal(lo, d), mean: decimal(mean, d), hi: decimal(hi, d) })} {r.unit} <span class="quiet">{t("trend.hint")}</span></>
            ) : null}
          </p>
        </>
      ) : (
        <div class="scroll data" tabIndex={0} role="group" aria-label={t("asTable")}>
          <table class="plain">
            <thead><tr><th>{t("time")}</th><th class="end">{interval === "raw" || !drawn ? t("value") : t("mean")}</th>{drawn && interval !== "raw" && <><th class="end">{t("least")}</th><th class="end">{t("greatest")}</th></>}<th>{t("quality")}</th></tr></thead>
            <tbody>
              {(points ?? []).filter((p) => !p.held).reverse().slice(0, 500).map((p) => (
                <tr key={p.at}><td class="figure">{full(p.at * 1000)}</td><td class="end figure">{p.text}</td>{drawn && interval !== "raw" && <><td class="end figure">{p.lo === null ? "–" : decimal(p.lo, d)}</td><td class="end figure">{p.hi === null ? "–" : decimal(p.hi, d)}</td></>}<td>{word("quality", p.quality)}</td></tr>
              ))}
            </tbody>
          </table>
          {points?.length === 0 && <p class="empty">{t("trend.none")}</p>}
        </div>
      )}
    </section>
  );
}

function AlarmsOf({ name }: { name: string }) {
  void changed.value;
  const list = [...alarms.values()].filter((a) => a.tagName === name || a.source === name).sort(compare).slice(0, 5);
  if (list.length === 0) return null;
  return (
    <ul class="urgent">
      {list.map((a) => <li key={a.id}><a href={href("alarms", "active", a.id)}><Mark severity={a.severity} dim={!!a.acknowledgedAt} /><time>{when(a.triggeredAt)}</time><span>{a.message}</span><em>{word("state", stateOf(a))}</em></a></li>)}
    </ul>
  );
}

/** The last writes of a tag, newest first; nothing without any. */
function Writes({ r, dialog }: { r: Row; dialog: boolean }) {
  const [list, setList] = useState<Write[]>([]);
  useRepeat(() => void get<{ writes: Write[] }>("/api/v1/tags/writes", { tagName: r.name, pageSize: 5 }).then((a) => setList(a.writes), () => undefined), 5000, [r.name, dialog]);
  if (list.length === 0) return null;
  return (
    <table class="plain" aria-label={t("write.recent")}>
      <thead><tr><th>{t("write.recent")}</th><th class="end">{t("value")}</th><th>{t("username")}</th><th>{t("state")}</th></tr></thead>
      <tbody>{list.map((w) => <tr key={w.writeId}><td class="figure">{when(w.queuedAt)}</td><td class="end figure">{value(w.value, r)}</td><td>{w.requestedBy}</td><td title={w.error}>{word("write.state", w.state)}</td></tr>)}</tbody>
    </table>
  );
}

function Live({ r }: { r: Row }) {
  void frame.value;
  const ranged = (r.maxValue ?? 0) > (r.minValue ?? 0);
  return (
    <div class="reading-now">
      <p class="big"><Figure r={r} /><small>{r.unit}</small></p>
      {ranged && <div class="ranged"><RangeBar r={r} /><span class="figure">{decimal(r.minValue!)}</span><span class="figure">{decimal(r.maxValue!)}</span></div>}
      <p class={`q q${r.quality}`}><QualityMark quality={r.quality} />{word("quality", r.quality)}{r.qualityReason && r.quality !== "Good" ? ` · ${word("reason", r.qualityReason)}` : ""} <time class="quiet">{when(r.lastUpdated)}</time></p>
    </div>
  );
}

/** The row of a tag, asked for every ten seconds as long as it is not there, and why it is not. */
export function useTag(name: string): [Row | undefined, unknown] {
  const [r, setRow] = useState<Row>();
  const [error, setError] = useState<unknown>();
  const there = r?.name === name;
  useRepeat(() => {
    if (there) return;
    let gone = false;
    readTag(name).then((x) => { if (!gone) { setRow(x); setError(undefined); } }, (err: unknown) => gone || setError(err));
    return () => void (gone = true);
  }, 10_000, [name, there]);
  return there ? [r, undefined] : [undefined, error];
}

export function TagDetail({ name }: { name: string }) {
  const [r, error] = useTag(name);
  const [writing, setWriting] = useState(false);
  useEffect(() => {
    watchSingle(name);
    return () => watchSingle(undefined);
  }, [name]);
  return (
    <aside class="panel fill detail" aria-labelledby="detail-title">
      <header>
        <h2 id="detail-title" role="heading" aria-level={narrowed.value ? 1 : 2}>{name}</h2>
        <span class="spring" />
        {r?.accessMode === "ReadWrite" && may() && <button type="button" class="primary" onClick={() => setWriting(true)}>{t("write")}</button>}
        <a class="icon-button" href={href("tags")} aria-label={t("close")}><Icon name="close" /></a>
      </header>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      {r && (
        <div class="scroll body" tabIndex={0} role="group" aria-labelledby="detail-title">
          {r.description && <p class="about">{r.description}</p>}
          <Live r={r} />
          <AlarmsOf name={name} />
          <Trend r={r} />
          {r.accessMode === "ReadWrite" && <Writes r={r} dialog={writing} />}
          <dl>
            <dt>{t("driver")}</dt><dd>{r.driver}</dd>
            <dt>{t("address")}</dt><dd>{r.address}</dd>
            <dt>{t("dataType")}</dt><dd>{word("type", r.dataType)}</dd>
            <dt>{t("access")}</dt><dd>{word("access", r.accessMode)}</dd>
          </dl>
        </div>
      )}
      {writing && r && <WriteDialog r={r} onClose={() => setWriting(false)} />}
    </aside>
  );
}
