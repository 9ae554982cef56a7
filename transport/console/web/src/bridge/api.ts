import { signal } from "@preact/signals";
import { Problem, problem } from "../api";
import type { components } from "./api.gen";

type Schemas = components["schemas"];
export type Status = Schemas["BridgeStatus"];
export type AuthState = Schemas["AuthState"];
export type Monitoring = Schemas["Monitoring"];
export type TagPage = Schemas["TagPage"];
type Tokens = Schemas["Tokens"];

/** A check of /health, which everybody may read. */
export interface Check {
  status: "Healthy" | "Degraded" | "Unhealthy";
  description: string;
}

/** Who is signed in. The tokens are in memory only: a bridge is looked at for minutes, so a reload signs in again. */
export const session = signal<{ username: string; tokens: Tokens } | undefined>(undefined);
/** The session ended without being asked to. */
export const expired = signal(false);

let renewing: Promise<void> | undefined;

async function request(method: string, path: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const token = session.peek()?.tokens.accessToken;
  if (token) headers.Authorization = `Bearer ${token}`;
  return fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
}

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  let r = await request(method, path, body);
  if (r.status === 401 && session.peek()) {
    await renew();
    r = await request(method, path, body);
  }
  if (!r.ok) throw await problem(r);
  const text = await r.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** The checks by name; the answer is 503 while one of them is not well. */
export async function health(): Promise<Record<string, Check>> {
  const r = await fetch("/health", { headers: { Accept: "application/json" } });
  if (r.status !== 200 && r.status !== 503) throw await problem(r);
  return ((await r.json()) as { results: Record<string, Check> }).results;
}

export async function signIn(username: string, password: string): Promise<void> {
  const r = await fetch("/api/bridge/auth/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username, password }) });
  if (!r.ok) throw await problem(r);
  session.value = { username, tokens: (await r.json()) as Tokens };
  expired.value = false;
}

/** Renews the tokens once, however many calls ask for it: a refresh token can be used once. */
function renew(): Promise<void> {
  renewing ??= renewOnce().finally(() => (renewing = undefined));
  return renewing;
}

async function renewOnce(): Promise<void> {
  const s = session.peek();
  if (!s) return;
  const r = await fetch("/api/bridge/auth/refresh", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ refreshToken: s.tokens.refreshToken }) });
  if (r.ok) {
    session.value = { username: s.username, tokens: (await r.json()) as Tokens };
    return;
  }
  const p = await problem(r);
  if (r.status === 401) {
    session.value = undefined;
    expired.value = true;
  }
  throw p;
}

export async function signOut(): Promise<void> {
  await request("POST", "/api/bridge/auth/logout").catch(() => undefined);
  session.value = undefined;
  expired.value = false;
}

export const admin = (): boolean => !!session.value?.tokens.roles.includes("admin");
export { Problem };
