import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { alarms, changed, compare, failed, flood, isSuppressed, loaded, needsAck, severities, stateOf, summary } from "./alarmstore";
import { get, post, problemText, type Alarm, type Suppressed } from "./api";
import { AlarmDetail, alarmFigure, alarmLimit } from "./alarmdetail";
import { AcknowledgeDialog, ShelveDialog } from "./alarmdialogs";
import { count, when } from "./format";
import { go, href, route } from "./route";
import { t, word } from "./strings";
import { Grid, Mark, notify, phone, useRepeat, type Column } from "./ui";

const tabs = ["active", "suppressed", "history"] as const;
const holdFor = 4000; // ms that rows stand still after the pointer has moved over them or they were scrolled

/** Acknowledges occurrences and tells what came of it. */
export async function acknowledge(ids: string[], comment: string): Promise<void> {
  try {
    let done = 0;
    const errors: { code: string; message: string }[] = [];
    for (let i = 0; i < ids.length; i += 500) {
      const a = await post<{ acknowledged: string[]; errors: { code: string; message: string }[] }>("/api/v1/alarms:acknowledge", { alarmIds: ids.slice(i, i + 500), ...(comment ? { comment } : {}) });
      done += a.acknowledged.length;
      errors.push(...a.errors);
    }
    const first = errors[0] && (word("problem", errors[0].code) || errors[0].message);
    notify([t("ack.done", { n: count(done) }), errors.length ? t("ack.errors", { n: count(errors.length), why: first }) : ""].filter(Boolean).join(" "), errors.length > 0);
  } catch (err) {
    notify(problemText(err), true);
  }
}

export function Alarms() {
  const tab = (tabs as readonly string[]).includes(route.value[1]) ? (route.value[1] as (typeof tabs)[number]) : "active";
  const chosen = route.value[2];
  return (
    <div class={`alarms${chosen ? " split" : ""}`}>
      <section class="panel fill listing" aria-labelledby="alarms-title">
        <header class="tabs">
          <h1 id="alarms-title">{t("alarms")}</h1>
          <div class="segments" role="group" aria-label={t("view")}>
            {tabs.map((x) => <a key={x} href={href("alarms", x)} aria-current={x === tab ? "page" : undefined}>{t(`alarms.${x}`)}</a>)}
          </div>
          {flood.value && <span class="flag">{t("flood")}</span>}
        </header>
        {tab === "history" ? <Past chosen={chosen} /> : <Live key={tab} suppressed={tab === "suppressed"} chosen={chosen} />}
      </section>
      {chosen && <AlarmDetail key={chosen} id={chosen} tab={tab} />}
    </div>
  );
}

function columns(select: boolean, split: boolean): Column[] {
  return [
    ...(select ? [{ id: "select", title: "", width: "34px" }] : []),
    { id: "priority", title: t("priority.short"), width: "38px" },
    { id: "time", title: t("time"), width: "128px" },
    { id: "source", title: t("source"), width: split ? "minmax(120px, 1fr)" : "minmax(152px, 1.4fr)" },
    { id: "message", title: t("message"), width: "minmax(180px, 4fr)" },
    ...(split ? [] : [{ id: "value", title: t("valueLimit"), width: "minmax(90px, .8fr)", end: true }]),
    { id: "state", title: t("state"), width: "minmax(192px, .9fr)" },
    { id: "ack", title: select ? t(split ? "ack.short" : "ack") : t("ack.by"), width: select ? (split ? "54px" : "90px") : "minmax(110px, .8fr)" },
  ];
}

interface RowProps {
  a: Alarm;
  attributes: Record<string, unknown>;
  chosen: boolean;
  tab: string;
  split: boolean;
  selected?: boolean;
  until?: string; // of its shelving
  onSelect?: (id: string, range: boolean) => void;
  onAck?: (id: string) => void;
}

const acknowledgeOne = (id: string) => void acknowledge([id], "");

/** It is not rendered again as long as what it is given stays the same, functions too. */
function AlarmRow({ a, attributes, chosen, tab, split, selected, until, onSelect, onAck }: RowProps) {
  const state = stateOf(a);
  const open = !a.acknowledgedAt && !isSuppressed(state);
  const stateText = [word("state", state), state === "Shelved" && until ? t("until", { time: when(until) }) : ""].filter(Boolean).join(" ");
  const all = {
    ...attributes,
    class: `${attributes.class} alarm${open ? " open" : ""}${chosen ? " chosen" : ""}${a.isActive ? "" : " returned"}`,
    "aria-selected": onSelect ? !!selected : chosen,
    onClick: () => go("alarms", tab, a.id),
  };
  const stop = (e: Event) => e.stopPropagation();
  const mark = <Mark severity={a.severity} dim={!open} blink={open && a.severity === "Critical" && a.isActive} />;
  const select = onSelect && (
    <span role="gridcell" class="pick" onClick={stop}>
      {open && <input type="checkbox" tabIndex={-1} checked={!!selected} aria-label={t("select.one", { source: a.source, message: a.message })} onClick={(e) => onSelect(a.id, e.shiftKey)} />}
    </span>
  );
  const ack = (
    <span role="gridcell" class="ackcell" onClick={stop}>
      {onAck ? (open ? <button type="button" tabIndex={-1} class="ack" onClick={() => onAck(a.id)}>{t("ack.short")}<span class="sr"> {a.source}: {a.message}</span></button> : <span class="quiet">{a.acknowledgedBy}</span>) : <span class="quiet">{a.acknowledgedBy ?? ""}</span>}
    </span>
  );
  if (phone.value) {
    return (
      <div {...all}>
        {select}
        <span role="gridcell">{mark}</span>
        <span role="gridcell" class="two"><b class="message">{a.message}</b><small>{a.source} · {when(a.triggeredAt)} · {stateText}</small></span>
        {ack}
      </div>
    );
  }
  const limit = alarmLimit(a);
  return (
    <div {...all}>
      {select}
      <span role="gridcell">{mark}</span>
      <span role="gridcell" class="figure time">{when(a.triggeredAt)}</span>
      <span role="gridcell" title={a.source}>{a.source}</span>
      <span role="gridcell" class="message" title={a.message}>{a.message}</span>
      {!split && <span role="gridcell" class="end figure">{alarmFigure(a)}{limit && <span class="quiet"> / {limit}</span>}</span>}
      <span role="gridcell" title={stateText}>{stateText}</span>
      {ack}
    </div>
  );
}

function Filters({ text, onText, severity, onSeverity }: { text: string; onText: (s: string) => void; severity: string; onSeverity: (s: string) => void }) {
  return (
    <>
      <input type="search" placeholder={t("alarms.search")} aria-label={t("alarms.search")} value={text} onInput={(e) => onText(e.currentTarget.value)} />
      <select aria-label={t("severity")} value={severity} onChange={(e) => onSeverity(e.currentTarget.value)}>
        <option value="">{t("severity.all")}</option>
        {severities.map((s, i) => <option key={s} value={s}>{i + 1} {word("severity", s)}</option>)}
      </select>
    </>
  );
}

/** A function that stays the same and calls the newest f. It is made here, where it keeps nothing of the first rendering, such as its list. */
function useSteady<A extends unknown[]>(f: (...a: A) => void): (...a: A) => void {
  const newest = useRef(f);
  newest.current = f;
  return useCallback((...a: A) => newest.current(...a), []);
}

/** The list of now. It stands still while it is paused or scrolled or the pointer moves over it; the rows in it stay up to date. */
function Live({ suppressed, chosen }: { suppressed: boolean; chosen?: string }) {
  const [text, setText] = useState("");
  const [severity, setSeverity] = useState("");
  const [paused, setPaused] = useState(false);
  const [selection, setSelection] = useState<Set<string>>(new Set());
  const [at, setAt] = useState<string>(); // the alarm that the keyboard is at, wherever its row moves to
  const [dialog, setDialog] = useState<{ kind: "ack" | "shelve"; list: Alarm[] }>(); // of the alarms that it was opened for
  const [sight, setSight] = useState<[number, number]>([0, 0]);
  const frozen = useRef<Alarm[]>([]);
  const moved = useRef(0);
  const last = useRef(-1);
  const [, again] = useState(0);
  const version = changed.value;
  const [ends, setEnds] = useState<Map<number, string>>(new Map()); // of what is shelved, by code
  useRepeat(() => {
    if (suppressed) void get<Suppressed[]>("/api/v1/alarms/suppressed").then((l) => setEnds(new Map(l.flatMap((s) => (s.shelvedUntil ? [[s.code, s.shelvedUntil]] : [])))), () => undefined);
  }, 10_000, [suppressed, version]);

  const fresh = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return [...alarms.values()].filter((a) => {
      if (isSuppressed(stateOf(a)) !== suppressed || (severity && a.severity !== severity)) return false;
      if (!words.length) return true;
      const all = `${a.source} ${a.message} ${a.tagName ?? ""} ${Object.values(a.labels ?? {}).join(" ")}`.toLowerCase();
      return words.every((w) => all.includes(w));
    }).sort(compare);
  }, [version, text, severity, suppressed]);

  const filter = `${text}\n${severity}`;
  const filterBefore = useRef(filter);
  const still = (paused || selection.size > 0 || Date.now() - moved.current < holdFor) && filterBefore.current === filter && frozen.current.length > 0;
  let list = fresh;
  let held = 0;
  if (still) {
    list = frozen.current.map((a) => alarms.get(a.id) ?? (stateOf(a) === "Normal" ? a : { ...a, isActive: false, acknowledgedAt: a.acknowledgedAt ?? a.triggeredAt }));
    const before = new Set(list.map((a) => a.id));
    held = fresh.filter((a) => !before.has(a.id)).length;
  }
  frozen.current = list;
  filterBefore.current = filter;
  useEffect(() => {
    if (!still || paused || selection.size > 0) return;
    const timer = setTimeout(() => again((n) => n + 1), moved.current + holdFor - Date.now());
    return () => clearTimeout(timer);
  });

  const selected = list.filter((a) => selection.has(a.id) && needsAck(a));
  const pick = (id: string, range: boolean) => {
    const i = list.findIndex((a) => a.id === id);
    if (i < 0) return;
    const next = new Set(selection);
    const on = !next.has(id);
    const from = range && last.current >= 0 ? Math.min(last.current, i) : i, to = range && last.current >= 0 ? Math.max(last.current, i) : i;
    for (let k = from; k <= to; k++) if (needsAck(list[k])) on ? next.add(list[k].id) : next.delete(list[k].id);
    last.current = i;
    setSelection(next);
  };
  const onSelect = useSteady(pick);
  // Only what can be read is chosen: never what is out of sight.
  const inSight = () => list.slice(...sight).filter(needsAck);
  const pickSight = () => setSelection(new Set(selected.length ? [] : inSight().map((a) => a.id)));
  // The button that has opened the dialog may be of no use any more.
  const done = () => { setDialog(undefined); setSelection(new Set()); setTimeout(() => document.querySelector<HTMLElement>(".alarms .grid")?.focus({ preventScroll: true })); };
  const active = at === undefined ? -1 : list.findIndex((a) => a.id === at);
  const one = active < 0 ? undefined : list[active];
  const target = selected.length ? selected : one && needsAck(one) ? [one] : [];
  return (
    <>
      <div class="tools">
        {!suppressed && <button type="button" class="primary" disabled={target.length === 0} onClick={() => setDialog({ kind: "ack", list: target })}>{selected.length ? t("ack.n", { n: count(selected.length) }) : t("ack")}</button>}
        {!suppressed && <button type="button" onClick={pickSight} disabled={selected.length === 0 && inSight().length === 0}>{selected.length ? t("select.none") : t("select.visible")}</button>}
        {!suppressed && <button type="button" disabled={!(selected.length === 1 || (selected.length === 0 && one))} onClick={() => setDialog({ kind: "shelve", list: selected.length ? selected : one ? [one] : [] })}>{t("shelve")}</button>}
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>{paused ? t("resume") : t("pause")}</button>
        {still && held > 0 && <button type="button" class="held" onClick={(e) => { e.currentTarget.closest("section")!.querySelector<HTMLElement>(".grid")!.focus(); setPaused(false); setSelection(new Set()); moved.current = 0; again((n) => n + 1); }}>{t("held", { n: count(held) })}</button>}
        <span class="spring" />
        <Filters text={text} onText={setText} severity={severity} onSeverity={setSeverity} />
        <span class="quiet counted" role="status">{t("alarms.count", { n: count(list.length) })}{!suppressed && summary.value.returned > 0 ? ` · ${t("alarms.returned", { n: count(summary.value.returned) })}` : ""}</span>
      </div>
      {failed.value && <p class="error" role="alert">{t("alarms.failed")}</p>}
      <Grid
        label={t(suppressed ? "alarms.suppressed" : "alarms.active")} columns={columns(!suppressed, !!chosen)} count={list.length} rowHeight={phone.value ? 84 : 30} busy={!loaded.value} selectable={!suppressed}
        active={active} onActive={(i) => { moved.current = Date.now(); setAt(list[i]?.id); }} onEnter={(i) => go("alarms", suppressed ? "suppressed" : "active", list[i].id)} onSpace={(i) => !suppressed && needsAck(list[i]) && pick(list[i].id, false)}
        onPointer={() => (moved.current = Date.now())}
        onSight={(first, end) => setSight((s) => (s[0] === first && s[1] === end ? s : [first, end]))}
        row={(i, attributes) => (
          <AlarmRow
            key={list[i].id} a={list[i]} attributes={attributes} chosen={list[i].id === chosen} split={!!chosen} tab={suppressed ? "suppressed" : "active"} selected={selection.has(list[i].id)} until={ends.get(list[i].code)}
            onSelect={suppressed ? undefined : onSelect} onAck={suppressed ? undefined : acknowledgeOne}
          />
        )}
        empty={loaded.value ? (text || severity ? t("alarms.noneFound") : t(suppressed ? "alarms.noneSuppressed" : "alarms.none")) : t("loading")}
      />
      {dialog?.kind === "ack" && <AcknowledgeDialog list={dialog.list} onClose={() => setDialog(undefined)} onDone={(comment) => { const ids = dialog.list.map((a) => a.id); done(); void acknowledge(ids, comment); }} />}
      {dialog?.kind === "shelve" && dialog.list[0] && <ShelveDialog a={dialog.list[0]} onClose={() => setDialog(undefined)} onDone={done} />}
    </>
  );
}

const spans = [1, 8, 24, 168, 744];

/** Alarms of a range of time, read by the page as they come into sight. */
function Past({ chosen }: { chosen?: string }) {
  const [text, setText] = useState("");
  const [severity, setSeverity] = useState("");
  const [hours, setHours] = useState(24);
  const [active, setActive] = useState(-1);
  const [total, setTotal] = useState(0);
  const [busy, setBusy] = useState(true);
  const [error, setError] = useState<unknown>();
  const [, again] = useState(0);
  const found = useRef<{ start: string; end: string; pages: Map<number, Alarm[]>; asked: Set<number>; control: AbortController }>();
  const size = 100;

  const load = async (page: number) => {
    const f = found.current;
    if (!f || f.asked.has(page)) return;
    f.asked.add(page);
    try {
      const a = await get<{ alarms: Alarm[]; totalCount: number }>("/api/v1/alarms/history", { start: f.start, end: f.end, severityFilter: severity, text, page, pageSize: size }, f.control.signal);
      f.pages.set(page, a.alarms);
      setTotal(a.totalCount);
      setError(undefined);
      again((n) => n + 1);
    } catch (err) {
      f.asked.delete(page);
      if (!f.control.signal.aborted) setError(err);
    } finally {
      if (!f.control.signal.aborted) setBusy(false);
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => {
      const now = Date.now();
      found.current = { start: new Date(now - hours * 3_600_000).toISOString(), end: new Date(now + 60_000).toISOString(), pages: new Map(), asked: new Set(), control: new AbortController() };
      setBusy(true);
      void load(1);
    }, text ? 200 : 0);
    return () => { clearTimeout(timer); found.current?.control.abort(); };
  }, [text, severity, hours]);
  const at = (i: number) => found.current?.pages.get(Math.floor(i / size) + 1)?.[i % size];
  return (
    <>
      <div class="tools">
        <select aria-label={t("span")} value={hours} onChange={(e) => setHours(Number(e.currentTarget.value))}>
          {spans.map((h) => <option key={h} value={h}>{t(`hours.${h}` as "hours.1")}</option>)}
        </select>
        <span class="spring" />
        <Filters text={text} onText={setText} severity={severity} onSeverity={setSeverity} />
        <span class="quiet counted" role="status">{t("alarms.count", { n: count(total) })}</span>
      </div>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <Grid
        key={`${text}\n${severity}\n${hours}`} label={t("alarms.history")} columns={columns(false, !!chosen)} count={total} rowHeight={phone.value ? 84 : 30} busy={busy} active={active} onActive={setActive}
        onEnter={(i) => { const a = at(i); if (a) go("alarms", "history", a.id); }}
        onRange={(first, last) => { for (let p = Math.floor(first / size) + 1; p <= Math.floor(Math.max(first, last - 1) / size) + 1 && p <= Math.ceil(total / size); p++) void load(p); }}
        row={(i, attributes) => {
          const a = at(i);
          return a ? <AlarmRow key={a.id} a={a} attributes={attributes} chosen={a.id === chosen} split={!!chosen} tab="history" /> : <div key={i} {...attributes}><span role="gridcell" class="quiet">…</span></div>;
        }}
        empty={busy ? t("loading") : t("alarms.noneFound")}
      />
    </>
  );
}
