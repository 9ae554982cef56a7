/** No answer came: of a change it is not known whether it was made. */
export class Unanswered extends Error {}

const waiting = new Set<AbortController>();
const patience = 8000; // ms for what is asked for while the engine is silent
let silent = false;

/** Tells whether the engine is silent. Browsers would wait for its answers for minutes, so they are given up when it becomes so. */
export function setSilent(on: boolean): void {
  silent = on;
  if (on) for (const c of [...waiting]) c.abort();
}

/** Calls f with a signal that ends with own, and when the engine is silent; f then fails with Unanswered. */
export async function answered<T>(f: (signal: AbortSignal) => Promise<T>, own?: AbortSignal): Promise<T> {
  const control = new AbortController();
  waiting.add(control);
  const timer = silent ? setTimeout(() => control.abort(), patience) : undefined;
  try {
    return await f(own ? AbortSignal.any([own, control.signal]) : control.signal);
  } catch (err) {
    if (!own?.aborted && (control.signal.aborted || err instanceof TypeError)) throw new Unanswered(String(err)); // a TypeError is what fetch fails with
    throw err;
  } finally {
    clearTimeout(timer);
    waiting.delete(control);
  }
}
