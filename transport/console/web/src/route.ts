import { signal } from "@preact/signals";

const parse = (): string[] => location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map((s) => {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
});

/** The parts of the address behind #/. */
export const route = signal<string[]>(parse());
addEventListener("hashchange", () => (route.value = parse()));

export const href = (...parts: string[]): string => "#/" + parts.map(encodeURIComponent).join("/");
export const go = (...parts: string[]): void => void (location.hash = href(...parts));
