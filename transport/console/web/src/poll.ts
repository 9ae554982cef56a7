import { signal, type Signal } from "@preact/signals";

/** The newest answer of a call that is repeated while a view shows it and when it came, with the error of the last call if it failed. */
export interface Polled<T> {
  data: Signal<T | undefined>;
  at: Signal<number>;
  error: Signal<unknown>;
  read: () => Promise<void>;
}

export function polled<T>(call: () => Promise<T>): Polled<T> {
  const data = signal<T | undefined>(undefined);
  const at = signal(0);
  const error = signal<unknown>(undefined);
  let busy = false;
  return {
    data,
    at,
    error,
    read: async () => {
      if (busy) return;
      busy = true;
      try {
        data.value = await call();
        at.value = Date.now();
        error.value = undefined;
      } catch (err) {
        error.value = err;
      } finally {
        busy = false;
      }
    },
  };
}
