import { signal } from "@preact/signals";
import en from "./en.json";
import ko from "./ko.json";

export type Key = keyof typeof en;
export type Language = "en" | "ko";

const all: Record<Language, Record<string, string>> = { en: { ...en }, ko: { ...ko } };

function initial(): Language {
  const stored = localStorage.getItem("otkit.language");
  if (stored === "en" || stored === "ko") return stored;
  return navigator.language.toLowerCase().startsWith("ko") ? "ko" : "en";
}

export const language = signal<Language>(initial());
document.documentElement.lang = language.value;

export function setLanguage(l: Language): void {
  language.value = l;
  localStorage.setItem("otkit.language", l);
  document.documentElement.lang = l;
}

/** Text of a key, with its {placeholders} filled, and that of one where n is 1. Components that call it follow the language. */
export function t(key: Key, values?: Record<string, string | number>): string {
  const of = all[language.value];
  const text = (String(values?.n) === "1" ? of[`${key}.one`] : undefined) ?? of[key] ?? key;
  return values ? text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? "")) : text;
}

type Filled<K> = (key: K, values?: Record<string, string | number>) => string;

/** Adds the texts of a view, which come with it, and returns t for its keys and those that all views share. */
export function texts<K extends string>(en: Record<K, string>, ko: Record<K, string>): Filled<K | Key> {
  Object.assign(all.en, en);
  Object.assign(all.ko, ko);
  return t as Filled<K | Key>;
}

/** Text of a word of the API, such as a state; the word itself when it is unknown. */
export function word(group: string, value: string | null | undefined): string {
  if (!value) return "";
  return all[language.value][`${group}.${value}`] ?? value;
}
