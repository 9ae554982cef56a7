import { signal } from "@preact/signals";
import type { HubConnection } from "@microsoft/signalr";
import { renew, session } from "./session";
import type { Alarm, Quality, Value } from "./api";

export interface TagUpdate {
  name: string;
  value: Value | null;
  quality: Quality;
  qualityReason?: string;
  timestamp: string;
}
export interface Transition {
  position: string;
  kind: string;
  at: string;
  by?: string;
  comment?: string;
  alarm: Alarm | null;
}

/** A Property that has the value of a tag. */
export interface LiveProperty {
  path: string;
  tagName: string;
  value?: string;
  quality?: Quality;
  qualityReason?: string;
  timestamp?: string;
}
/** Live values of a submodel: all, or those that changed. */
export interface SubmodelValues {
  id: string;
  complete: boolean;
  removed?: boolean;
  values: LiveProperty[];
}

/** How the link of live values is doing. */
export const link = signal<"connecting" | "live" | "lost">("connecting");

let connection: HubConnection | undefined;
let running = false;
let names: string[] = [];
let throttle = 500;
const connected = new Set<() => void>();
let onTags: (updates: TagUpdate[]) => void = () => {};
let onAlarms: (batch: { position: string; items: Transition[] }) => void = () => {};

const submodels = new Map<string, (v: SubmodelValues) => void>();

export const handleTags = (f: typeof onTags) => void (onTags = f);
export const handleAlarms = (f: typeof onAlarms) => void (onAlarms = f);

/** Calls f now, if there is a link, and each time that there is one again: what was missed has to be read anew. */
export function onLink(f: () => void): () => void {
  connected.add(f);
  if (link.peek() === "live") f();
  return () => connected.delete(f);
}

/** Replaces the tags whose values come; throttleMs is the least time between two of a tag. */
export function watch(tags: string[], throttleMs: number): void {
  names = tags;
  throttle = throttleMs;
  if (connection && link.peek() === "live") connection.invoke("Tags", names, throttle).catch(() => undefined);
}

/** Calls f with the live values of a submodel, and failed with the code of an error; returns what ends it. */
export function followSubmodel(id: string, f: (v: SubmodelValues) => void, failed: (code: string) => void): () => void {
  submodels.set(id, f);
  const invoke = (throttleMs: number): void => void connection?.invoke("Submodel", id, throttleMs).catch((err) => {
    const code = /([A-Z]+(?:_[A-Z]+)+): /.exec(String(err))?.[1]; // none if the connection was lost: it is asked for again
    if (code === "HUB_TOO_MANY_INVOCATIONS") setTimeout(() => (!throttleMs || submodels.get(id) === f) && invoke(throttleMs), 1000);
    else if (code && throttleMs) failed(code);
  });
  const stop = onLink(() => invoke(500));
  return () => {
    stop();
    submodels.delete(id);
    if (link.peek() === "live") invoke(0);
  };
}

export async function alarmsSince(position: string): Promise<string> {
  if (!connection) throw new Error("no link");
  const answer = await connection.invoke<{ position: string }>("Alarms", position);
  return answer.position;
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Keeps a link to the hub as long as somebody is signed in. */
export async function runHub(): Promise<void> {
  if (running) return;
  running = true;
  const { HubConnectionBuilder, LogLevel } = await import("@microsoft/signalr");
  for (let tries = 0; session.peek(); tries++) {
    const c = new HubConnectionBuilder()
      .withUrl("/hubs/console", { accessTokenFactory: () => session.peek()?.accessToken ?? "" })
      .configureLogging(LogLevel.None)
      .build();
    c.serverTimeoutInMilliseconds = 35_000;
    c.on("tags", (u: TagUpdate[]) => onTags(u));
    c.on("alarms", (b: { position: string; items: Transition[] }) => onAlarms(b));
    c.on("submodel", (v: SubmodelValues) => submodels.get(v.id)?.(v));
    const closed = new Promise<void>((done) => c.onclose(() => done()));
    try {
      await c.start();
      connection = c;
      let told: string[] = [];
      while (told !== names && names.length) await c.invoke("Tags", (told = names), throttle); // they may change meanwhile
      link.value = "live";
      tries = 0;
      for (const f of connected) f();
      const stop = session.subscribe((s) => {
        if (!s) void c.stop();
      });
      await closed;
      stop();
    } catch (err) {
      void c.stop();
      if (/401|Unauthorized/.test(String(err))) await renew();
    }
    connection = undefined;
    if (link.peek() === "live" || tries > 1) link.value = "lost";
    await pause(Math.min(10_000, 250 * 2 ** tries) * (0.5 + Math.random()));
  }
  link.value = "connecting";
  running = false;
}
