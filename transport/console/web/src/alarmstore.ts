import { computed, signal } from "@preact/signals";
import { get, pages, pageSize, type Alarm, type Analytics, type Severity } from "./api";
import { alarmsSince, handleAlarms, onLink, type Transition } from "./hub";

export const severities: Severity[] = ["Critical", "Warning", "Info"];
export const rank = (s: string): number => (s === "Critical" ? 1 : s === "Warning" ? 2 : 3);

export type State = "Unacknowledged" | "Acknowledged" | "ReturnedUnacknowledged" | "Shelved" | "SuppressedByDesign" | "OutOfService" | "Normal";

/** The state of an alarm after ISA-18.2. */
export function stateOf(a: Alarm): State {
  if (a.state && isSuppressed(a.state)) return a.state;
  if (a.isActive) return a.acknowledgedAt ? "Acknowledged" : "Unacknowledged";
  return a.acknowledgedAt ? "Normal" : "ReturnedUnacknowledged";
}

export const isSuppressed = (s: State): boolean => s === "Shelved" || s === "SuppressedByDesign" || s === "OutOfService";
export const needsAck = (a: Alarm): boolean => !a.acknowledgedAt && !isSuppressed(stateOf(a));

/** Unacknowledged first, then priority, then newest. */
export function compare(a: Alarm, b: Alarm): number {
  return Number(!!a.acknowledgedAt) - Number(!!b.acknowledgedAt) || rank(a.severity) - rank(b.severity) || (a.triggeredAt < b.triggeredAt ? 1 : a.triggeredAt > b.triggeredAt ? -1 : a.id < b.id ? -1 : 1);
}

/** Everything that is active or unacknowledged, by id. Kept outside of components; changed tells of changes. */
export const alarms = new Map<string, Alarm>();
/** Grows at most four times a second. */
export const changed = signal(0);
export const loaded = signal(false);
export const failed = signal(false);
export const flood = signal(false);

interface Summary {
  active: Record<Severity, number>;
  unacknowledged: Record<Severity, number>;
  returned: number;
  shelved: number;
  suppressed: number;
  gravest?: Alarm;
}
const none = (): Record<Severity, number> => ({ Critical: 0, Warning: 0, Info: 0 });

export const summary = computed<Summary>(() => {
  void changed.value;
  const s: Summary = { active: none(), unacknowledged: none(), returned: 0, shelved: 0, suppressed: 0 };
  for (const a of alarms.values()) {
    const state = stateOf(a);
    if (state === "Shelved") s.shelved++;
    else if (isSuppressed(state)) s.suppressed++;
    else {
      if (a.isActive) s.active[a.severity]++;
      if (!a.acknowledgedAt) {
        s.unacknowledged[a.severity]++;
        if (!a.isActive) s.returned++;
        if (!s.gravest || compare(a, s.gravest) < 0) s.gravest = a;
      }
    }
  }
  return s;
});

/** Called with each alarm that begins and asks for attention. */
const arrivals = new Set<(a: Alarm) => void>();
export function onArrival(f: (a: Alarm) => void): () => void {
  arrivals.add(f);
  return () => arrivals.delete(f);
}

let timer: ReturnType<typeof setTimeout> | undefined;
let touched = 0;
function touch(): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    touched = performance.now();
    changed.value++;
  }, touched + 250 - performance.now());
}

let position = "";
let held: Transition[] | undefined; // while the list is read

function put(a: Alarm): void {
  if (stateOf(a) === "Normal") alarms.delete(a.id);
  else alarms.set(a.id, a);
}

function announce(a: Alarm): void {
  if (needsAck(a) && a.isActive) for (const f of arrivals) f(a);
}

function apply(items: Transition[]): void {
  for (const i of items) {
    if (!i.alarm) continue; // a condition that never occurred was suppressed
    const fresh = !alarms.has(i.alarm.id);
    put(i.alarm);
    if (fresh) announce(i.alarm);
  }
  touch();
}

let reading: AbortController | undefined;

/** Rows move between pages while alarms come and go, so a list that changed while it was read is read again, a few times in a flood. */
const passes = 4;

async function readAll(): Promise<void> {
  reading?.abort();
  const control = (reading = new AbortController());
  const later: Transition[] = (held = []);
  position = await alarmsSince("");
  const list = new Map<string, Alarm>();
  for (let pass = 0; pass < passes; pass++) {
    const before = later.length;
    const total = await pages<Alarm>("/api/v1/alarms", { state: "all" }, (a) => a.alarms, (items) => items.forEach((a) => list.set(a.id, a)), control.signal);
    if (control.signal.aborted) return;
    if (total <= pageSize || later.length === before) break;
  }
  const known = loaded.peek() ? new Set(alarms.keys()) : undefined;
  alarms.clear();
  for (const a of list.values()) put(a);
  held = undefined;
  loaded.value = true;
  failed.value = false;
  // What began while there was no link is announced too, but not what a page finds when it is opened.
  if (known) for (const a of alarms.values()) if (!known.has(a.id)) announce(a);
  apply(later);
  changed.value++;
}

async function resume(): Promise<void> {
  try {
    if (position && !held) {
      try {
        await alarmsSince(position);
        return;
      } catch (err) {
        if (!String(err).includes("POSITION_GONE")) throw err;
      }
    }
    await readAll();
  } catch (err) {
    if ((err as Error).name === "AbortError") return;
    failed.value = true;
    held = undefined;
    position = "";
    setTimeout(() => void resume(), 5000);
  }
}

/** A flood is on as long as the last one ended less than its window of ten minutes ago. */
async function readFlood(): Promise<void> {
  const end = Date.now(), start = new Date(end - 3_600_000).toISOString();
  const a = await get<Analytics>("/api/v1/alarms/analytics", { start, end: new Date(end).toISOString() }).catch(() => undefined);
  if (a) flood.value = a.floods.some((f) => Date.parse(f.end) > end - 60_000);
}

let started = false;
export function startAlarms(): void {
  if (started) return;
  started = true;
  handleAlarms((batch) => {
    position = batch.position || position;
    if (held) held.push(...batch.items);
    else apply(batch.items);
  });
  onLink(() => void resume());
  void readFlood();
  setInterval(() => document.visibilityState === "visible" && void readFlood(), 60_000);
}

/** Forgets everything, for the next who signs in. */
export function clearAlarms(): void {
  reading?.abort();
  alarms.clear();
  position = "";
  held = undefined;
  loaded.value = false;
  changed.value++;
}
