import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, pages, type Aggregates, type Quality } from "./api";
import { drivers } from "./drivers";
import { count, numeric, value, when } from "./format";
import { link } from "./hub";
import { go, route } from "./route";
import { t, word } from "./strings";
import { TagDetail } from "./tagdetail";
import { frame, loadTags, ordered, rows, state, total, watchVisible, type Row } from "./tagstore";
import { Grid, phone, QualityMark, useRepeat, type Column } from "./ui";

/** The last quarter of an hour of tags in sight, by name. */
const sparks = new Map<string, { at: number; points: (number | null)[] }>();
const sparkled = signal(0);
const sparkSpan = 15 * 60_000;

async function readSparks(names: string[]): Promise<void> {
  const old = Date.now() - 30_000;
  const due = names.filter((n) => {
    const r = rows.get(n);
    return r && r.dataType !== "String" && r.dataType !== "Bytes" && (sparks.get(n)?.at ?? 0) < old;
  }).slice(0, 100);
  if (due.length === 0) return;
  const end = Date.now();
  for (const n of due) sparks.set(n, { at: end, points: sparks.get(n)?.points ?? [] });
  const a = await get<Aggregates>("/api/v1/history/aggregates", {
    tag: due, start: new Date(end - sparkSpan).toISOString(), end: new Date(end).toISOString(), interval: "30s", function: ["timeAverage"],
  }).catch(() => undefined);
  for (const s of a?.series ?? []) sparks.set(s.tagName, { at: end, points: s.intervals.map((i) => i.timeAverage ?? null) });
  if (sparks.size > 2000) for (const [n, s] of sparks) if (s.at < old) sparks.delete(n);
  sparkled.value++;
}

function Spark({ name }: { name: string }) {
  void sparkled.value;
  const points = sparks.get(name)?.points ?? [];
  const good = points.filter((p) => p !== null);
  if (good.length < 2) return null;
  const lo = Math.min(...good), hi = Math.max(...good), span = hi - lo || 1;
  let path = "";
  let pen = false;
  points.forEach((p, i) => {
    if (p === null) return void (pen = false);
    path += `${pen ? "L" : "M"}${((i / (points.length - 1)) * 96 + 2).toFixed(1)} ${(hi === lo ? 10 : 18 - ((p - lo) / span) * 16).toFixed(1)}`;
    pen = true;
  });
  return <svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true"><path d={path} /></svg>;
}

/** Where a value is within the range of its tag. */
export function RangeBar({ r }: { r: Row }) {
  const v = numeric(r.currentValue), lo = r.minValue ?? 0, hi = r.maxValue ?? 0;
  if (v === undefined || hi <= lo || r.dataType === "Bool") return null;
  const at = ((v - lo) / (hi - lo)) * 100;
  const out = at < 0 || at > 100;
  return <span class={`range${out ? " out" : ""}`} aria-hidden="true"><i style={{ left: `${Math.max(0, Math.min(100, at))}%` }} /></span>;
}

export function Figure({ r }: { r: Row }) {
  void frame.value;
  const bool = r.currentValue?.boolValue;
  return <span class={`figure q${r.quality}${link.value === "lost" ? " stale" : ""}`}>{bool === undefined ? value(r.currentValue, r) : word("bool", String(bool))}</span>;
}

function qualityText(r: Row): string {
  return r.quality === "Good" ? word("quality", "Good") : r.qualityReason ? `${word("quality", r.quality)} · ${word("reason", r.qualityReason)}` : word("quality", r.quality);
}

function TagRow({ r, attributes, chosen, split }: { r: Row; attributes: Record<string, unknown>; chosen: boolean; split: boolean }) {
  void frame.value;
  const a = { ...attributes, class: `${attributes.class}${chosen ? " chosen" : ""}`, "aria-selected": chosen, onClick: () => go("tags", r.name) };
  if (phone.value) {
    return (
      <div {...a}>
        <span role="gridcell" class="two"><b>{r.name}</b><small class={`q q${r.quality}`}><QualityMark quality={r.quality} />{r.quality === "Good" ? r.description || r.driver : qualityText(r)}</small></span>
        <span role="gridcell" class="two end"><span><Figure r={r} /> <i class="unit">{r.unit}</i></span><RangeBar r={r} /></span>
      </div>
    );
  }
  return (
    <div {...a}>
      <span role="gridcell" class="name" title={r.description || r.name}>{r.name}</span>
      <span role="gridcell" class="end"><Figure r={r} /></span>
      <span role="gridcell" class="unit">{r.unit}</span>
      <span role="gridcell"><RangeBar r={r} /></span>
      {!split && <span role="gridcell"><Spark name={r.name} /></span>}
      <span role="gridcell" class={`q q${r.quality}`} title={r.qualityReason}><QualityMark quality={r.quality} />{qualityText(r)}</span>
      {!split && <span role="gridcell" class="end figure time">{when(r.lastUpdated)}</span>}
    </div>
  );
}

const grade = (q: Quality): number => (q === "Bad" ? 0 : q === "Uncertain" ? 1 : 2);
const orders: Record<string, (a: Row, b: Row) => number> = {
  name: () => 0, // as they come
  value: (a, b) => (numeric(a.currentValue) ?? -Infinity) - (numeric(b.currentValue) ?? -Infinity),
  quality: (a, b) => grade(a.quality) - grade(b.quality),
  time: (a, b) => (a.lastUpdated < b.lastUpdated ? -1 : a.lastUpdated > b.lastUpdated ? 1 : 0),
};

export function Tags() {
  const [text, setText] = useState("");
  const [driver, setDriver] = useState("");
  const [quality, setQuality] = useState("");
  const [sorted, setSorted] = useState({ id: "name", down: false });
  const [names, setNames] = useState<Set<string>>();
  const [active, setActive] = useState(-1);
  const [range, setRange] = useState<[number, number]>([0, 0]);
  const chosen = route.value[1];

  useEffect(() => {
    if (state.peek() === "none" || state.peek() === "failed") void loadTags();
    void drivers.read();
    return () => watchVisible([]);
  }, []);

  // The qualities of tags out of sight are those of the engine's list, asked for again and again while they are the filter.
  useRepeat(() => {
    if (!quality) return setNames(undefined);
    void (async () => {
      const found = new Set<string>();
      await pages<Row>("/api/v1/tags", { quality }, (a) => a.tags, (items) => {
        for (const i of items) {
          const r = rows.get(i.name);
          if (r) Object.assign(r, { quality: i.quality, qualityReason: i.qualityReason, currentValue: i.currentValue, lastUpdated: i.lastUpdated });
          if (i.quality === quality) found.add(i.name);
        }
      }).then(() => setNames(found), () => undefined);
    })();
  }, 10_000, [quality]);

  const all = ordered.value;
  const list = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let l = all;
    if (words.length || driver || quality) l = l.filter((r) => (!driver || r.driver === driver) && (!quality || (names ? names.has(r.name) : r.quality === quality)) && words.every((w) => r.text.includes(w)));
    if (sorted.id !== "name") l = [...l].sort(orders[sorted.id]);
    if (sorted.down) l = [...l].reverse();
    return l;
  }, [all, text, driver, quality, names, sorted]);

  const sight = useMemo(() => list.slice(...range).map((r) => r.name), [list, range]);
  useEffect(() => {
    const timer = setTimeout(() => watchVisible(sight), 60);
    return () => clearTimeout(timer);
  }, [sight.join("\n")]);
  useRepeat(() => { const timer = setTimeout(() => void readSparks(sight), 200); return void timer; }, 30_000, [sight.join("\n")]);

  const columns: Column[] = [
    { id: "name", title: t("name"), width: "minmax(150px, 2.2fr)", sort: true },
    { id: "value", title: t("value"), width: "minmax(84px, 1fr)", end: true, sort: true },
    { id: "unit", title: t("unit"), width: "54px" },
    { id: "range", title: t("range"), width: "76px" },
    ...(chosen ? [] : [{ id: "spark", title: t("tags.trend"), width: "104px" }]),
    { id: "quality", title: t("quality"), width: "minmax(96px, 1.3fr)", sort: true },
    ...(chosen ? [] : [{ id: "time", title: t("time"), width: "112px", end: true, sort: true }]),
  ];
  const open = (i: number) => list[i] && go("tags", list[i].name);
  const filtered = !!(text || driver || quality);
  return (
    <div class={`tags${chosen ? " split" : ""}`}>
      <section class="panel fill listing" aria-labelledby="tags-title">
        <header class="tools">
          <h1 id="tags-title">{t("tags")}</h1>
          <input type="search" placeholder={t("tags.search")} aria-label={t("tags.search")} value={text} onInput={(e) => { setText(e.currentTarget.value); setActive(-1); }} />
          <select aria-label={t("driver")} value={driver} onChange={(e) => setDriver(e.currentTarget.value)}>
            <option value="">{t("tags.allDrivers")}</option>
            {drivers.data.value?.map((d) => <option key={d.driverId} value={d.driverId}>{d.driverId}</option>)}
          </select>
          <select aria-label={t("quality")} value={quality} onChange={(e) => setQuality(e.currentTarget.value)}>
            <option value="">{t("tags.allQualities")}</option>
            {["Good", "Uncertain", "Bad"].map((q) => <option key={q} value={q}>{word("quality", q)}</option>)}
          </select>
          <span class="quiet counted" role="status">{state.value === "failed" ? t("tags.failed") : t("tags.count", { n: count(list.length), of: count(total.value) })}</span>
          {state.value === "failed" && <button type="button" onClick={() => void loadTags()}>{t("again")}</button>}
        </header>
        <Grid
          label={t("tags")} columns={columns} count={list.length} rowHeight={phone.value ? 56 : 28} busy={state.value === "loading"}
          active={active} onActive={setActive} onEnter={open} sorted={sorted}
          onSort={(id) => setSorted((s) => ({ id, down: s.id === id ? !s.down : false }))}
          onRange={(first, end) => setRange([first, end])}
          row={(i, attributes) => <TagRow key={list[i].name} r={list[i]} attributes={attributes} chosen={list[i].name === chosen} split={!!chosen} />}
          empty={state.value === "loading" ? t("loading") : filtered ? t("tags.noneFound") : t("tags.none")}
        />
      </section>
      {chosen && <TagDetail key={chosen} name={chosen} />}
    </div>
  );
}
