import { computed, signal } from "@preact/signals";
import { get, pages, pageSize, type Alarm, type Analytics, type Severity } from "./api";
import { alarmsSince, handleAlarms, link, onLink, type Transition } from "./hub";

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
/** There was no link, and what happened meanwhile is not read yet. */
export const behind = signal(false);

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
  for (const f of arrivals) f(a);
}

function apply(items: Transition[]): void {
  const waiting = new Map<string, boolean>(); // whether alarms needed attention before, by id
  for (const i of items) {
    if (!i.alarm) continue; // a condition that never occurred was suppressed
    const old = alarms.get(i.alarm.id);
    if (!waiting.has(i.alarm.id)) waiting.set(i.alarm.id, !!old && needsAck(old));
    put(i.alarm);
  }
  // What came and was acknowledged within the batch, such as while there was no link, needs no attention any more.
  for (const [id, before] of waiting) {
    const a = alarms.get(id);
    if (a && !before && needsAck(a)) announce(a);
  }
  touch();
}

let reading: AbortController | undefined;

/** Rows move between pages while alarms come and go, so a list that changed while it was read is read again, a few times in a flood. */
const passes = 4;

async function readAll(control: AbortController): Promise<void> {
  const later: Transition[] = (held = []);
  position = await alarmsSince("");
  const list = new Map<string, Alarm>();
  for (let pass = 0; pass < passes; pass++) {
    const before = later.length;
    const total = await pages<Alarm>("/api/v1/alarms", { state: "all" }, (a) => a.alarms, (items) => items.forEach((a) => list.set(a.id, a)), control.signal);
    if (control.signal.aborted) return;
    if (total <= pageSize || later.length === before) break;
  }
  const known = loaded.peek() ? new Map(alarms) : undefined;
  alarms.clear();
  for (const a of list.values()) put(a);
  held = undefined;
  loaded.value = true;
  failed.value = false;
  apply(later);
  // What began while there was no link is announced too, but not what a page finds when it is opened.
  if (known) for (const a of alarms.values()) if (needsAck(a) && !needsAckOf(known.get(a.id))) announce(a);
  changed.value++;
}

const needsAckOf = (a: Alarm | undefined): boolean => !!a && needsAck(a);

let again: ReturnType<typeof setTimeout> | undefined;

/** Takes up what happened since the last position, or reads everything; a newer call ends an older one. */
async function resume(): Promise<void> {
  clearTimeout(again);
  const unread = held !== undefined; // the older call has not read everything
  reading?.abort();
  const control = (reading = new AbortController());
  try {
    if (position && !unread) {
      try {
        await alarmsSince(position);
        if (!control.signal.aborted) behind.value = failed.value = false;
        return;
      } catch (err) {
        if (control.signal.aborted) return;
        if (!String(err).includes("POSITION_GONE")) throw err;
      }
    }
    await readAll(control);
    if (!control.signal.aborted) behind.value = false;
  } catch {
    if (control.signal.aborted) return; // a newer one has begun
    failed.value = true;
    held = undefined;
    position = "";
    again = setTimeout(() => void resume(), 5000);
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
  link.subscribe((l) => { if (l === "lost" && loaded.peek()) behind.value = true; });
  onLink(() => void resume());
  void readFlood();
  setInterval(() => document.visibilityState === "visible" && void readFlood(), 60_000);
}

/** Forgets everything, for the next who signs in. */
export function clearAlarms(): void {
  reading?.abort();
  alarms.clear();
  position = "";
  clearTimeout(again);
  held = undefined;
  loaded.value = failed.value = behind.value = false;
  changed.value++;
}
