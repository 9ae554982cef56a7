import { signal } from "@preact/signals";
import type { HubConnection, IHttpConnectionOptions } from "@microsoft/signalr";
import { setSilent } from "./inflight";
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
/** When the engine was heard last before the link was lost. */
export const lastContact = signal(0);

let connection: HubConnection | undefined;
let running = false;
let names: string[] = [];
let throttle = 500;
let chosen: string[] | undefined; // what the engine has been told, undefined if it is not sure
let choosing: Promise<void> | undefined;
let heard = Date.now();
const connected = new Set<() => void>();
let onTags: (updates: TagUpdate[]) => void = () => {};
let onAlarms: (batch: { position: string; items: Transition[] }) => void = () => {};

const submodels = new Map<string, (v: SubmodelValues) => void>();

export const handleTags = (f: typeof onTags) => void (onTags = f);
export const handleAlarms = (f: typeof onAlarms) => void (onAlarms = f);

/** Calls f now, if there is a link, and each time that there is one again: what was missed has to be read anew. */
export function onLink(f: () => void): () => void {
  const own = () => f();
  connected.add(own);
  if (link.peek() === "live") f();
  return () => void connected.delete(own);
}

/** Calls f each time that there is a link again. */
export function onReturn(f: () => void): () => void {
  let first = link.peek() === "connecting";
  const own = () => {
    if (!first) f();
    first = false;
  };
  connected.add(own);
  return () => void connected.delete(own);
}

const retryUnknown = 3000; // ms; a tag may be there a moment later, such as those of a driver that is being started

/** Tells the engine whose values are to come, as often as that changes meanwhile. */
function choose(): Promise<void> {
  choosing ??= (async () => {
    while (connection && chosen !== names && (names.length || chosen)) {
      const c = connection, list = names;
      let unknown: string[] = [];
      try {
        ({ unknown } = await c.invoke<{ unknown: string[] }>("Tags", list, throttle));
      } catch (err) {
        if (c !== connection) continue; // another one is told anew
        if (!String(err).includes("HUB_TOO_MANY_INVOCATIONS")) throw err;
        await new Promise((done) => setTimeout(done, 1000));
        continue;
      }
      if (c !== connection) continue;
      chosen = list;
      if (unknown.length) setTimeout(() => { if (connection === c && chosen === list) { chosen = undefined; void rechoose(); } }, retryUnknown);
    }
  })().finally(() => (choosing = undefined));
  return choosing;
}
const rechoose = () => choose().catch(() => undefined); // it is tried again as long as the connection lasts

/** Replaces the tags whose values come; throttleMs is the least time between two of a tag. */
export function watch(tags: string[], throttleMs: number): void {
  names = tags;
  throttle = throttleMs;
  if (link.peek() === "live") void rechoose();
}

/** Calls f with the live values of a submodel, and failed with the code of an error; returns what ends it. */
export function followSubmodel(id: string, f: (v: SubmodelValues) => void, failed: (code: string) => void): () => void {
  submodels.set(id, f);
  const invoke = (throttleMs: number): void => void connection?.invoke("Submodel", id, throttleMs).catch((err) => {
    const code = /([A-Z]+(?:_[A-Z]+)+): /.exec(String(err))?.[1]; // none if the connection was lost: it is asked for again
    if (code === "HUB_TOO_MANY_INVOCATIONS") setTimeout(() => (throttleMs ? submodels.get(id) === f : !submodels.has(id)) && invoke(throttleMs), 1000);
    else if (code && throttleMs) failed(code);
  });
  const stop = onLink(() => invoke(500));
  return () => {
    stop();
    submodels.delete(id);
    invoke(0);
  };
}

export async function alarmsSince(position: string): Promise<string> {
  if (!connection) throw new Error("no link");
  const answer = await connection.invoke<{ position: string }>("Alarms", position);
  return answer.position;
}

const pause = (ms: number) => new Promise<void>((done) => {
  const timer = setTimeout(done, ms);
  wake = () => { clearTimeout(timer); done(); };
});
let wake = () => {};

const probeAfter = 2000; // ms behind an answer until the engine is asked for one
const silence = 4000; // ms without an answer after which what is shown is no longer current
const giveUp = 12_000; // ms after which another connection is made
const startLimit = 8000; // ms that a connection may take to be there

let asked = 0; // when the engine was asked whether it is there; 0 while it is not asked
let looked = Date.now();

function lose(): void {
  if (link.peek() === "lost") return;
  lastContact.value = heard;
  link.value = "lost";
  setSilent(true);
}

/** Called when there is a link, and when one that was lost is there again. */
function found(): void {
  asked = 0;
  heard = Date.now();
  link.value = "live";
  setSilent(false);
  for (const f of [...connected]) f();
}

/** Looks whether the engine still answers: a connection may be dead without an end, and a page may have slept. */
function look(): void {
  const now = Date.now();
  const slept = now - looked > 2 * silence;
  looked = now;
  if (!running) return;
  // What is shown, and what comes now, may be as old as the sleep was long; only an answer tells that it is not.
  if (slept && document.visibilityState === "visible") lose();
  const c = connection;
  if (!c) {
    if (now - heard > silence) lose();
    return;
  }
  if (chosen !== names && link.peek() === "live") void rechoose();
  if (asked && slept) asked = now; // what has come meanwhile is yet to be read
  if (!asked && (slept || now - heard >= probeAfter)) {
    asked = now;
    c.invoke("Ping").then(() => {
      if (connection !== c) return;
      asked = 0;
      heard = Date.now();
      if (link.peek() === "lost") found();
    }, () => undefined); // it has ended, which is told elsewhere
  } else if (asked && now - asked > giveUp) {
    asked = 0;
    connection = undefined;
    void c.stop();
  } else if (asked && now - asked > silence) lose();
}
setInterval(look, 1000);
document.addEventListener("visibilitychange", look);
addEventListener("online", () => wake());

/** Fails if p takes too long. */
const within = <T>(ms: number, p: Promise<T>): Promise<T> => new Promise((done, fail) => {
  const timer = setTimeout(() => fail(new Error("no answer")), ms);
  void p.then(done, fail).finally(() => clearTimeout(timer));
});

/** Keeps a link to the hub as long as somebody is signed in. */
export async function runHub(): Promise<void> {
  if (running) return;
  running = true;
  heard = Date.now();
  const { HubConnectionBuilder, LogLevel } = await import("@microsoft/signalr");
  for (let tries = 0; session.peek(); tries++) {
    const sockets: WebSocket[] = []; // which stop does not end while they are made
    class Socket extends WebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        super(url, protocols);
        sockets.push(this);
      }
    }
    const options: IHttpConnectionOptions & { WebSocket: typeof WebSocket } = { accessTokenFactory: () => session.peek()?.accessToken ?? "", timeout: startLimit, WebSocket: Socket };
    const c = new HubConnectionBuilder()
      .withUrl("/hubs/console", options)
      .configureLogging(LogLevel.None)
      .build();
    c.serverTimeoutInMilliseconds = 35_000;
    c.on("tags", (u: TagUpdate[]) => { heard = Date.now(); onTags(u); });
    c.on("alarms", (b: { position: string; items: Transition[] }) => { heard = Date.now(); onAlarms(b); });
    c.on("submodel", (v: SubmodelValues) => { heard = Date.now(); submodels.get(v.id)?.(v); });
    const closed = new Promise<void>((done) => c.onclose(() => done()));
    try {
      await within(startLimit, c.start());
      connection = c;
      chosen = undefined;
      await within(startLimit, choose());
      tries = 0;
      found();
      const stop = session.subscribe((s) => {
        if (!s) void c.stop();
      });
      await closed;
      stop();
    } catch (err) {
      for (const s of sockets) s.close();
      void c.stop();
      if (/401|Unauthorized/.test(String(err))) await renew();
    }
    connection = undefined;
    if (session.peek()) await pause(Math.min(4000, 250 * 2 ** tries) * (0.5 + Math.random()));
  }
  link.value = "connecting";
  setSilent(false);
  running = false;
}
