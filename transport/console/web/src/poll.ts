import { signal, type Signal } from "@preact/signals";

/** The newest answer of a call that is repeated while a view shows it, with the error of the last one that failed. */
export interface Polled<T> {
  data: Signal<T | undefined>;
  error: Signal<unknown>;
  read: () => Promise<void>;
}

export function polled<T>(call: () => Promise<T>): Polled<T> {
  const data = signal<T | undefined>(undefined);
  const error = signal<unknown>(undefined);
  let busy = false;
  return {
    data,
    error,
    read: async () => {
      if (busy) return;
      busy = true;
      try {
        data.value = await call();
        error.value = undefined;
      } catch (err) {
        error.value = err;
      } finally {
        busy = false;
      }
    },
  };
}
