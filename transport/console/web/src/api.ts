import type { components } from "./api.gen";
import { answered, Unanswered } from "./inflight";
import { renew, session, signedOut, unreachable } from "./session";
import { word } from "./strings";

type Schemas = components["schemas"];
export type Value = Schemas["TagValue"];
export type Tag = Schemas["Tag"];
export type Quality = Schemas["Quality"];
export type Severity = Schemas["AlarmSeverity"];
export type DriverStatus = Schemas["DriverStatus"];
export type Write = Schemas["Write"];
export type AlarmEvent = Schemas["AlarmEvent"];
export type Analytics = Schemas["AlarmAnalytics"];
export type TrendPoint = Schemas["AlarmTrendPoint"];
export type Binding = Schemas["BridgeBinding"];
export type Device = Schemas["Device"];
export type Suppressed = Schemas["SuppressedAlarm"];
export type Aggregates = Schemas["HistoryAggregates"];
export type History = Schemas["TagHistory"];

export type Alarm = Schemas["AlarmInfo"];

/** What the engine answered instead of doing what was asked. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly fields: { field: string; message: string }[] = [],
  ) {
    super(detail);
  }
}

/** The text of an error in the language of the console where its code is known. */
export function problemText(err: unknown): string {
  if (!(err instanceof Problem)) return word("problem", err instanceof Unanswered && err.message === change ? "UNANSWERED" : "NETWORK");
  const known = word("problem", err.code);
  const own = known !== err.code ? known : err.detail || err.code || word("problem", "OTHER");
  return [own, ...err.fields.map((f) => `${f.field} ${f.message}`.trim())].join(" · ");
}

/** A UUID; pages of plain HTTP have no randomUUID. */
export function newID(): string {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  const hex = [...b].map((x) => x.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Whether an error says that nothing was done. Of any other one, such as a lost connection, it is not known. */
export const refused = (err: unknown): boolean => err instanceof Problem && err.code !== "" && err.code !== "WRITE_UNANSWERED" && (err.status < 500 || err.status === 503);

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

interface Request {
  method: string;
  path: string;
  /** Sent as JSON, but for a Blob or FormData, which says itself what it is. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

async function send({ method, path, body, headers, signal }: Request): Promise<Response> {
  const own = body instanceof Blob || body instanceof FormData;
  const all: Record<string, string> = { Accept: "application/json", Authorization: `Bearer ${session.peek()?.accessToken ?? ""}`, ...headers };
  if (body !== undefined && !own) all["Content-Type"] = "application/json";
  return fetch(path, { method, headers: all, body: own ? body : body === undefined ? undefined : JSON.stringify(body), signal });
}

/** The answer to a request with the session's token, which is renewed where it has to be; a Problem unless it is well. */
export const answer = (q: Request): Promise<Response> => asked(q, (r) => Promise.resolve(r));

async function answerOnce(q: Request): Promise<Response> {
  let r = await send(q);
  if (r.status === 401 && (await renew())) r = await send(q);
  for (let tries = 0; r.status === 429 && q.method === "GET" && tries < 5; tries++) {
    await pause(1000 * Math.max(1, Number(r.headers.get("Retry-After")) || 1) + Math.random() * 500);
    r = await send(q);
  }
  if (r.status === 401 && !unreachable.peek()) signedOut();
  if (!r.ok) throw await problem(r);
  return r;
}

const change = "change";

/** What take makes of the answer to a request. Files take their time, even if the line is too busy for anything else. */
async function asked<T>(q: Request, take: (r: Response) => Promise<T>): Promise<T> {
  const f = async (signal?: AbortSignal) => take(await answerOnce({ ...q, signal }));
  if (q.body instanceof Blob || q.body instanceof FormData) return f(q.signal);
  try {
    return await answered(f, q.signal);
  } catch (err) {
    throw err instanceof Unanswered && q.method !== "GET" ? new Unanswered(change) : err;
  }
}

async function call<T>(q: Request): Promise<T> {
  const text = await asked(q, (r) => r.text());
  return (text ? JSON.parse(text) : undefined) as T;
}

export async function problem(r: Response): Promise<Problem> {
  interface Body { code?: string; detail?: string; reason?: string; title?: string; errors?: { field: string; message: string }[]; errorCode?: string; message?: string; messages?: { code?: string; text: string }[] }
  const p = (await r.json().catch(() => ({}))) as Body;
  // Shells answer with errors of their own kinds: those of the standard's API, and a code with a message. Refused commands have a reason.
  const m = p.messages;
  return new Problem(r.status, p.code ?? p.errorCode ?? m?.[0]?.code ?? "", p.detail ?? p.reason ?? p.message ?? m?.map((x) => x.text).join(" · ") ?? p.title ?? r.statusText, p.errors ?? []);
}

type Query = Record<string, string | number | boolean | string[] | undefined>;

export function query(path: string, q: Query): string {
  const params = new URLSearchParams();
  for (const [k, v] of Object.entries(q)) {
    if (v === undefined || v === "") continue;
    for (const one of Array.isArray(v) ? v : [String(v)]) params.append(k, one);
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

export const get = <T>(path: string, q: Query = {}, signal?: AbortSignal) => call<T>({ method: "GET", path: query(path, q), signal });
export const post = <T>(path: string, body?: unknown) => call<T>({ method: "POST", path, body });
/** Changes what still is as the ETag has it; anything without one. */
export const put = <T>(path: string, body: unknown, etag?: string) => call<T>({ method: "PUT", path, body, headers: etag ? { "If-Match": etag } : undefined });
export const del = <T = void>(path: string, etag?: string) => call<T>({ method: "DELETE", path, headers: etag ? { "If-Match": etag } : undefined });

/** A resource and its ETag. */
export async function getTagged<T>(path: string): Promise<{ value: T; etag?: string }> {
  return asked({ method: "GET", path }, async (r) => ({ value: (await r.json()) as T, etag: r.headers.get("ETag") ?? undefined }));
}

/** Saves what a path answers as a file. */
export async function download(path: string, name: string, media = "*/*"): Promise<void> {
  const r = await answer({ method: "GET", path, headers: { Accept: media } });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await r.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Of the lists that are read as a whole. */
export const pageSize = 500;

/** All pages of a list, four at a time; each is handed over as it comes. */
export async function pages<T>(path: string, q: Query, items: (answer: any) => T[], take: (items: T[], total: number) => void, signal?: AbortSignal): Promise<number> {
  const first = await get<{ totalCount: number }>(path, { ...q, page: 1, pageSize }, signal);
  take(items(first), first.totalCount);
  const last = Math.ceil(first.totalCount / pageSize);
  let next = 2;
  const worker = async () => {
    while (next <= last) {
      const page = next++;
      take(items(await get(path, { ...q, page, pageSize }, signal)), first.totalCount);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return first.totalCount;
}
