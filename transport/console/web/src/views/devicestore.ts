import { signal } from "@preact/signals";
import { answer, get } from "../api";
import type { components } from "../api.gen";
import { session } from "../session";

export type Status = components["schemas"]["DeviceStatus"];
export type Record = components["schemas"]["DeviceCommandRecord"];
export type Zone = components["schemas"]["DeviceZone"];
export type Telemetry = NonNullable<Status["telemetry"]>;

/** What the devices last reported, by id. */
export const devices = signal<Map<string, Status> | undefined>(undefined);
export const stale = signal(false);
export const failure = signal<unknown>(undefined);

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const silent = 35_000; // the stream sends a comment every 15 s

async function read(signal: AbortSignal, came: () => void): Promise<void> {
  const r = await answer({ method: "GET", path: "/api/v1/devices/stream?throttleMs=500", headers: { Accept: "text/event-stream" }, signal });
  const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "", first = true;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    came();
    text += value;
    const events = text.split("\n\n");
    text = events.pop()!;
    const lines = events.flatMap((e) => e.split("\n")).filter((l) => l.startsWith("data:"));
    if (!lines.length) continue;
    const all = first ? new Map<string, Status>() : new Map(devices.peek());
    for (const l of lines) for (const s of (JSON.parse(l.slice(5)) as { devices: Status[] }).devices) all.set(s.device.deviceId, s);
    first = false;
    devices.value = all;
    stale.value = false;
    failure.value = undefined;
  }
}

/**
 * Follows the devices until the function that it returns is called. The stream takes one of the few connections that a browser opens to
 * a host, so it is there only while the page can be seen.
 */
export function follow(): () => void {
  let ended = false;
  let stop = new AbortController();
  const seen = () => document.visibilityState === "visible";
  const changed = () => { if (!seen()) stop.abort(); };
  document.addEventListener("visibilitychange", changed);
  const run = async () => {
    for (let tries = 0; !ended && session.peek(); tries++) {
      if (seen()) {
        stop = new AbortController();
        const own = stop;
        let timer = setTimeout(() => own.abort(), silent);
        try {
          await read(own.signal, () => {
            tries = 0;
            clearTimeout(timer);
            timer = setTimeout(() => own.abort(), silent);
          });
        } catch (err) {
          if (!own.signal.aborted) failure.value = err;
        }
        clearTimeout(timer);
        if (!ended) stale.value = true;
      }
      await pause(Math.min(5000, 300 * 2 ** tries) * (0.5 + Math.random()));
    }
  };
  void run();
  return () => {
    ended = true;
    document.removeEventListener("visibilitychange", changed);
    stop.abort();
  };
}

/** The zones by which commands are judged. */
export const zonesOf = (signal: AbortSignal) => get<components["schemas"]["DeviceZones"]>("/api/v1/device-zones", {}, signal).then((a) => a.zones);

export const commandsOf = (id: string, limit: number, before?: string) =>
  get<components["schemas"]["DeviceCommandPage"]>(`/api/v1/devices/${encodeURIComponent(id)}/commands`, { limit, before });

/** Whether a command may still change. */
export const pending = (r: Pick<Record, "state">): boolean => r.state === "Queued" || r.state === "Running";

let sent = 0;
/** An id that no other command has; pages of plain HTTP have no randomUUID. */
export function commandID(): string {
  const random = crypto.getRandomValues(new Uint32Array(3));
  return `console-${Date.now().toString(36)}-${[...random].map((n) => n.toString(36)).join("")}-${++sent}`;
}
