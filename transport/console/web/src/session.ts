import { signal } from "@preact/signals";
import { Problem, problem } from "./api";

export interface Session {
  accessToken: string;
  expiresIn: number;
  roles: string[];
  username: string;
  name?: string;
}

/** The session of this tab: undefined until it is known, null when nobody is signed in. The token is nowhere else. */
export const session = signal<Session | null | undefined>(undefined);
/** The session ended without being asked to. */
export const expired = signal(false);
/** The engine could not be reached to renew the session. */
export const unreachable = signal(false);

const path = "/console/session";
const patience = 10_000; // ms for an answer
/** Whose cookie this browser may have: without the mark nothing is asked, and the sign-in is there at once. */
const mark = "otkit.signedin";
let timer: ReturnType<typeof setTimeout> | undefined;
let renewing: Promise<boolean> | undefined;

function accept(s: Session): void {
  session.value = s;
  expired.value = unreachable.value = false;
  localStorage.setItem(mark, s.username);
  clearTimeout(timer);
  // Early, and not together with other tabs.
  timer = setTimeout(() => void renew(), s.expiresIn * 1000 * (0.7 + 0.15 * Math.random()));
}

export async function signIn(username: string, password: string): Promise<void> {
  const r = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username, password }), signal: AbortSignal.timeout(patience) });
  if (!r.ok) throw await problem(r);
  accept((await r.json()) as Session);
}

/** Takes up the session of an earlier page. */
export function startSession(): void {
  if (localStorage.getItem(mark)) void renew();
  else session.value = null;
}

/** Renews the session with its cookie and reports whether there is one; simultaneous calls share the answer. */
export function renew(): Promise<boolean> {
  renewing ??= renewOnce().finally(() => (renewing = undefined));
  return renewing;
}

async function renewOnce(): Promise<boolean> {
  try {
    const r = await fetch(path, { method: "PUT", signal: AbortSignal.timeout(patience) });
    if (r.status === 401 || r.status === 403) {
      signedOut();
      return false;
    }
    if (!r.ok) throw await problem(r);
    accept((await r.json()) as Session);
    return true;
  } catch (err) {
    unreachable.value = true;
    clearTimeout(timer);
    timer = setTimeout(() => void renew(), err instanceof Problem && err.status === 429 ? 10_000 : 3_000);
    return false;
  }
}

export function signedOut(): void {
  clearTimeout(timer);
  localStorage.removeItem(mark);
  if (session.peek()) expired.value = true;
  session.value = null;
  unreachable.value = false;
}

// Tabs share the cookie, so they share what becomes of it: who signs out in one, or in as another, does so in all.
addEventListener("storage", (e) => {
  const s = session.peek();
  if (e.key !== mark || e.newValue === (s?.username ?? null)) return;
  clearTimeout(timer);
  session.value = null;
  if (e.newValue !== null) void renew();
});

export async function signOut(): Promise<void> {
  const s = session.peek();
  await fetch(path, { method: "DELETE", headers: s ? { Authorization: `Bearer ${s.accessToken}` } : {}, signal: AbortSignal.timeout(patience) }).catch(() => undefined);
  signedOut();
  expired.value = false;
}

export const may = (...roles: string[]): boolean => (session.value?.roles ?? []).some((r) => r === "Admin" || roles.includes(r));
