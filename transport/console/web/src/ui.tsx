import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Quality } from "./api";
import { rank } from "./alarmstore";
import { onReturn } from "./hub";
import { t, word } from "./strings";

const narrow = matchMedia("(max-width: 699px)");
export const phone = signal(narrow.matches);
narrow.addEventListener("change", () => (phone.value = narrow.matches));

const single = matchMedia("(max-width: 1100px)");
/** A detail takes the place of its list. */
export const narrowed = signal(single.matches);
single.addEventListener("change", () => (narrowed.value = single.matches));

const folding = matchMedia("(max-width: 1250px)");
/** The views that are not everywhere are behind "More". */
export const folded = signal(folding.matches);
folding.addEventListener("change", () => (folded.value = folding.matches));

/** The mark of a priority: colour, shape and digit. */
export function Mark({ severity, dim, blink, label = true }: { severity: string; dim?: boolean; blink?: boolean; label?: boolean }) {
  const n = rank(severity);
  const shape = n === 1 ? <rect x="1.5" y="2.5" width="19" height="17" rx="1" /> : n === 2 ? <path d="M11 1.5 21 20H1z" /> : <circle cx="11" cy="11" r="9.2" />;
  const named = label ? { role: "img", "aria-label": t("priority", { n, severity: word("severity", severity) }) } : { "aria-hidden": true };
  return (
    <svg class={`mark p${n}${dim ? " dim" : ""}${blink ? " blink" : ""}`} viewBox="0 0 22 22" {...(named as object)}>
      {shape}
      <text x="11" y={n === 2 ? 18 : 15.5} text-anchor="middle">{n}</text>
    </svg>
  );
}

/** The mark of a quality that is not good, beside its text. */
export function QualityMark({ quality }: { quality: Quality }) {
  if (quality === "Good") return null;
  return (
    <svg class="qmark" viewBox="0 0 16 16" aria-hidden="true">
      {quality === "Bad" ? <path d="M3 3 13 13M13 3 3 13" /> : <path d="M5 6a3 3 0 1 1 4.5 2.6C8.4 9.3 8 9.7 8 11M8 13v1" />}
    </svg>
  );
}

export const icons = {
  overview: "M3 3h6v6H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 11h6v6H3z",
  tags: "M3 4h14M3 8h14M3 12h14M3 16h14",
  alarms: "M10 3a5 5 0 0 0-5 5v4l-2 3h14l-2-3V8a5 5 0 0 0-5-5M8 17h4",
  drivers: "M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.1M7 13.5h.1",
  shells: "M10 2l7 4v8l-7 4-7-4V6zM3 6l7 4 7-4M10 10v8",
  devices: "M4 8h12v8H4zM10 8V4M8 4h4M7.5 12h.1M12.5 12h.1",
  predictions: "M3 16h14M4 13l4-5 3 3 5-7M16 4v4M16 4h-4",
  alerts: "M3 5h14v10H3zM3 5l7 6 7-6",
  rules: "M4 5h7M4 10h12M4 15h5M14 3v4M8 13v4",
  configuration: "M3 4h14v12H3zM3 8h14M8 4v12M13 4v12",
  bridges: "M3 14V9a7 7 0 0 1 14 0v5M3 12h14M7 12v2M13 12v2",
  engines: "M4 3h12v6H4zM4 11h12v6H4zM7 6h3M7 14h3",
  audit: "M5 3h8l3 3v11H5zM8 9h5M8 12h5",
  users: "M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M3 17a7 7 0 0 1 14 0",
  more: "M4 10h.1M10 10h.1M16 10h.1",
  sound: "M3 8v4h3l4 3V5L6 8zM13 7a4 4 0 0 1 0 6M15 5a7 7 0 0 1 0 10",
  mute: "M3 8v4h3l4 3V5L6 8zM13 8l4 4M17 8l-4 4",
  theme: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
  out: "M8 4H4v12h4M9 10h8M14 7l3 3-3 3",
  close: "M5 5l10 10M15 5 5 15",
  check: "M4 10l4 4 8-8",
  back: "M12 4l-6 6 6 6",
};
export function Icon({ name }: { name: keyof typeof icons }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const e = ref.current!;
    e.showModal();
    if (!e.querySelector("[autofocus]")) e.querySelector<HTMLElement>("form :is(input, select, textarea):not(:disabled, :read-only:not(select, [type=checkbox], [type=file]))")?.focus();
    return () => {
      e.close(); // which gives the keyboard back to what has opened it
      if (document.activeElement === document.body) document.getElementById("main")?.focus();
    };
  }, []);
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || e.isComposing || !(e.target instanceof HTMLTextAreaElement)) return;
    e.preventDefault();
    if (!e.repeat) e.target.form?.querySelector<HTMLElement>("button:not([type=button])")?.click(); // nothing happens while it is disabled
  };
  return (
    <dialog ref={ref} aria-labelledby="dialog-title" onCancel={(e) => { e.preventDefault(); onClose(); }} onKeyDown={onKeyDown}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <button type="button" class="icon-button" aria-label={t("close")} onClick={onClose}><Icon name="close" /></button>
      </header>
      {children}
    </dialog>
  );
}

export interface Column {
  id: string;
  title: string;
  width: string;
  end?: boolean;
  sort?: boolean;
}

interface GridProps {
  label: string;
  columns: Column[];
  count: number;
  rowHeight: number;
  busy?: boolean;
  /** The row that the keyboard is at. */
  active: number;
  onActive: (i: number) => void;
  onEnter?: (i: number) => void;
  onSpace?: (i: number) => void;
  /** Called with the rows that are there, some of them out of sight, when scrolling has stopped. */
  onRange?: (first: number, end: number) => void;
  /** Called with the rows that are wholly in sight, when scrolling has stopped. */
  onSight?: (first: number, end: number) => void;
  /** Called when somebody moves the pointer over the rows or scrolls them. */
  onPointer?: () => void;
  sorted?: { id: string; down: boolean };
  onSort?: (id: string) => void;
  selectable?: boolean;
  row: (i: number, attributes: Record<string, unknown>) => ComponentChildren;
  empty: ComponentChildren;
}

const stopped = 60; // ms without scrolling
const spare = { still: 4, scrolled: 16 }; // rows out of sight on either side, at least: they are there before the page can render what a scroll brings
const step = 4; // rows that come and go at once: fewer frames have to lay out and paint rows

/** A table of any length: only rows in sight are there. While it is scrolled, nothing but its rows is rendered. */
export function Grid(p: GridProps) {
  const ref = useRef<HTMLDivElement>(null);
  const latest = useRef(p);
  latest.current = p;
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const position = useRef(0); // of scrolling, as last seen
  const made = useRef<{ layout: string; rows: Map<number, Record<string, unknown>> }>({ layout: "", rows: new Map() });
  const head = 32;
  const [range, setRange] = useState<[number, number]>([0, 40]);
  const show = (more: number) => {
    const e = ref.current!, height = latest.current.rowHeight;
    const top = e.scrollTop / height, bottom = (e.scrollTop + e.clientHeight) / height;
    const first = Math.max(0, Math.floor((top - more) / step) * step), last = Math.ceil((bottom + more) / step) * step;
    setRange((r) => (r[0] === first && r[1] === last ? r : [first, last]));
    return { top, bottom, first, last };
  };
  const look = (more: number) => {
    if (!ref.current) return;
    show(more);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const { top, bottom, first, last } = show(spare.still);
      const { count, rowHeight, onRange, onSight } = latest.current;
      onRange?.(first, Math.min(last, count));
      onSight?.(Math.ceil(top), Math.min(count, Math.floor(bottom - (phone.value ? 0 : head / rowHeight))));
    }, stopped);
  };
  useLayoutEffect(() => {
    const still = () => {
      if (ref.current) position.current = ref.current.scrollTop; // a list that has become shorter is scrolled by nobody
      look(spare.still);
    };
    still();
    const o = new ResizeObserver(still);
    if (ref.current) o.observe(ref.current);
    return () => o.disconnect();
  }, [p.rowHeight, p.count]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const [first, last] = [range[0], Math.min(range[1], p.count)];

  const go = (i: number) => {
    const e = ref.current;
    if (!e || p.count === 0) return;
    i = Math.max(0, Math.min(p.count - 1, i));
    p.onActive(i);
    const top = i * p.rowHeight;
    const room = e.clientHeight - (phone.value ? 0 : head);
    if (top < e.scrollTop) e.scrollTop = top;
    else if (top + p.rowHeight > e.scrollTop + room) e.scrollTop = top + p.rowHeight - room;
  };
  const onScroll = () => {
    const now = ref.current!.scrollTop;
    if (now !== position.current) p.onPointer?.(); // the browser may tell of the same place twice
    position.current = now;
    look(spare.scrolled);
  };
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.target !== ref.current) return;
    const page = Math.max(1, Math.floor((ref.current!.clientHeight - head) / p.rowHeight) - 1);
    const moves: Record<string, number> = { ArrowDown: p.active + 1, ArrowUp: p.active - 1, PageDown: p.active + page, PageUp: p.active - page, Home: 0, End: p.count - 1 };
    if (e.key in moves) go(moves[e.key]);
    else if (e.key === "Enter" && p.active >= 0) p.onEnter?.(p.active);
    else if (e.key === " " && p.active >= 0) p.onSpace?.(p.active);
    else return;
    e.preventDefault();
  };
  // The head and the rows are as wide as the least widths of the columns.
  const least = p.columns.reduce((n, c) => n + Number(/\d+/.exec(c.width)![0]) + 8, 24);
  const minWidth = phone.value ? undefined : `${least}px`;
  const id = (i: number) => `${p.columns[0].id}-row-${i}`;
  const template = { gridTemplateColumns: p.columns.map((c) => c.width).join(" ") };
  // The attributes of a row stay the same object, so that a row that stays in sight is not rendered again.
  const layout = `${id(0)} ${p.rowHeight} ${phone.value || template.gridTemplateColumns}`;
  const before = made.current.layout === layout ? made.current.rows : undefined;
  const rows = new Map<number, Record<string, unknown>>();
  const shown = [];
  for (let i = first; i < last; i++) {
    const place = { top: `${i * p.rowHeight}px`, height: `${p.rowHeight}px` };
    const attributes = before?.get(i) ?? { id: id(i), role: "row", "aria-rowindex": i + 2, class: "row", style: phone.value ? place : { ...template, ...place } };
    rows.set(i, attributes);
    shown.push(p.row(i, i === p.active ? { ...attributes, class: "row active" } : attributes));
  }
  made.current = { layout, rows };
  return (
    <div
      class="grid" ref={ref} role="grid" tabIndex={0} aria-label={p.label} aria-rowcount={p.count + 1} aria-colcount={p.columns.length} aria-busy={p.busy}
      aria-multiselectable={p.selectable || undefined} aria-activedescendant={p.active >= first && p.active < last ? id(p.active) : undefined}
      onScroll={onScroll} onKeyDown={onKeyDown} onPointerMove={p.onPointer}
    >
      <div role="rowgroup" class="head" style={{ minWidth }}>
        <div role="row" aria-rowindex={1} class="row" style={template}>
          {p.columns.map((c) => (
            <span role="columnheader" key={c.id} class={c.end ? "end" : ""} aria-sort={c.sort ? (p.sorted?.id === c.id ? (p.sorted.down ? "descending" : "ascending") : "none") : undefined}>
              {c.sort ? (
                <button type="button" onClick={() => p.onSort?.(c.id)}>
                  {c.title}{p.sorted?.id === c.id && <i aria-hidden="true">{p.sorted.down ? "▼" : "▲"}</i>}
                </button>
              ) : (
                c.title || <span class="sr">{t("select")}</span>
              )}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="rows" style={{ height: `${p.count * p.rowHeight}px`, minWidth }}>{shown}</div>
      {p.count === 0 && <div class="empty" role="row"><span role="gridcell">{p.empty}</span></div>}
    </div>
  );
}

/** One short message at the foot of the page, read out politely. */
export const notice = signal<{ text: string; bad?: boolean } | undefined>(undefined);
let noticeTimer: ReturnType<typeof setTimeout> | undefined;
export function notify(text: string, bad = false): void {
  notice.value = { text, bad };
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (notice.value = undefined), bad ? 12_000 : 5_000);
}

/**
 * Calls f now and again and again while the page is seen, and at once when it is seen again or the engine is back; what a call returns
 * ends it, before the next one and with the view.
 */
export function useRepeat(f: () => void | (() => void), ms: number, deps: unknown[] = []): void {
  useEffect(() => {
    let end = f();
    const again = () => {
      if (document.visibilityState !== "visible") return;
      end?.();
      end = f();
    };
    const timer = setInterval(again, ms);
    document.addEventListener("visibilitychange", again);
    const stop = onReturn(again);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", again);
      stop();
      end?.();
    };
  }, deps);
}
