import { signal } from "@preact/signals";
import { get, pages, type Tag } from "./api";
import { natural } from "./format";
import { handleTags, onLink, watch } from "./hub";

export interface Row extends Tag {
  key: string;
  text: string;
  /** When the value came, by the clock of this page; 0 as long as it is the one of the list. */
  live: number;
}

/** All tags by name, kept outside of components. */
export const rows = new Map<string, Row>();
/** The names in their natural order. */
export const ordered = signal<Row[]>([]);
export const total = signal(0);
export const state = signal<"none" | "loading" | "ready" | "failed">("none");
/** Grows with each frame in which a value has changed. */
export const frame = signal(0);

const row = (t: Tag): Row => ({ ...t, key: natural(t.name), text: `${t.name} ${t.description ?? ""} ${t.unit ?? ""}`.toLowerCase(), live: 0 });
/** The row of a tag, which stays the same object as long as the tag is there: views hold it. */
function merged(t: Tag): Row {
  const old = rows.get(t.name);
  if (!old) return row(t);
  if (t.lastUpdated < old.lastUpdated) t = { ...t, currentValue: old.currentValue, quality: old.quality, qualityReason: old.qualityReason, lastUpdated: old.lastUpdated };
  return Object.assign(old, row(t), { live: old.live });
}

const byKey = (a: Row, b: Row) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

let loading: AbortController | undefined;

/** Reads the list of tags; those shown before stay until the new list is there. */
export async function loadTags(): Promise<void> {
  loading?.abort();
  const control = (loading = new AbortController());
  state.value = "loading";
  const fresh: Row[] = [];
  const first = rows.size === 0;
  let shown = 0;
  try {
    total.value = await pages<Tag>("/api/v1/tags", {}, (a) => a.tags, (items, n) => {
      total.value = n;
      for (const i of items) {
        const r = merged(i);
        fresh.push(r);
        if (first) rows.set(i.name, r);
      }
      if (first && fresh.length > shown * 4) {
        shown = fresh.length;
        ordered.value = [...fresh].sort(byKey);
      }
    }, control.signal);
    rows.clear();
    for (const r of fresh) rows.set(r.name, r);
    ordered.value = fresh.sort(byKey);
    state.value = "ready";
  } catch (err) {
    if ((err as Error).name !== "AbortError") state.value = "failed";
  }
}

let pending = 0;
function touch(): void {
  pending ||= requestAnimationFrame(() => {
    pending = 0;
    frame.value++;
  });
}

/** A tag that is shown on its own, watched with the visible ones. */
let visible: string[] = [];
let single: string | undefined;
let sent = "";

function send(): void {
  const names = single && !visible.includes(single) ? [...visible, single] : visible;
  const key = names.join("\n");
  if (key === sent) return;
  sent = key;
  watch(names, 500);
}

export function watchVisible(names: string[]): void {
  visible = names.slice(0, 500);
  send();
}

export function watchSingle(name: string | undefined): void {
  single = name;
  send();
}

/** Called with each new value of the tag that is shown on its own. */
let listener: ((r: Row) => void) | undefined;
export const onSingle = (f: typeof listener): void => void (listener = f);

let started = false;
export function startTags(): void {
  if (started) return;
  started = true;
  handleTags((updates) => {
    for (const u of updates) {
      const r = rows.get(u.name);
      if (!r) continue;
      r.currentValue = u.value;
      r.quality = u.quality;
      r.qualityReason = u.qualityReason;
      r.lastUpdated = u.timestamp;
      r.live = performance.now();
      if (u.name === single) listener?.(r);
    }
    touch();
  });
  let before = false;
  onLink(() => {
    if (before && state.peek() !== "none") void loadTags(); // tags may have come and gone
    before = true;
  });
}

/** Reads one tag, for a view that was opened before the list is there. */
export async function readTag(name: string): Promise<Row> {
  const known = rows.get(name);
  if (known) return known;
  const answer = await get<{ tag: Tag }>(`/api/v1/tags/${encodeURIComponent(name)}`);
  const again = rows.get(name);
  if (again) return again;
  const r = row(answer.tag);
  rows.set(name, r);
  return r;
}

export function clearTags(): void {
  loading?.abort();
  rows.clear();
  ordered.value = [];
  total.value = 0;
  state.value = "none";
}
