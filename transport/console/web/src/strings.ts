import { signal } from "@preact/signals";
import english from "texts:en";
import type en from "./en.json";

export type Key = keyof typeof en;
export type Language = "en" | "ko";

/** The texts by their keys. English is always there; another language is loaded when it is chosen. */
const all: Partial<Record<Language, Record<string, string>>> = { en: english };
const others: Partial<Record<Language, () => Promise<{ default: string[] }>>> = { ko: () => import("texts:ko") };

export const language = signal<Language>("en");

const stored = "otkit.language";

function preferred(): Language {
  const chosen = localStorage.getItem(stored);
  if (chosen === "en" || chosen === "ko") return chosen;
  return navigator.language.toLowerCase().startsWith("ko") ? "ko" : "en";
}

let wanted: Language;

/** Resolves to false if another language was chosen meanwhile. */
async function use(l: Language): Promise<boolean> {
  wanted = l;
  const values = all[l] ? undefined : (await others[l]!()).default;
  if (values) all[l] = Object.fromEntries(Object.keys(english).map((key, i) => [key, values[i]]));
  if (wanted !== l) return false;
  language.value = l;
  document.documentElement.lang = l;
  return true;
}

/** Shows the console in another language, and keeps the choice. It fails if the texts cannot be loaded. */
export async function setLanguage(l: Language): Promise<void> {
  if (await use(l)) localStorage.setItem(stored, l);
}

/** Resolves when the texts are there; English ones if those of the user's language cannot be loaded. */
export const ready: Promise<boolean> = use(preferred()).catch(() => use("en"));

/** Text of a key, with its {placeholders} filled, and that of one where n is 1. Components that call it follow the language. */
export function t(key: Key, values?: Record<string, string | number>): string {
  const of = all[language.value]!;
  const text = (String(values?.n) === "1" ? of[`${key}.one`] : undefined) ?? of[key] ?? key;
  return values ? text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? "")) : text;
}

type Filled<K> = (key: K, values?: Record<string, string | number>) => string;

/** Returns t for the keys of a view too, beside those that all views share. */
export const texts = <K extends string>() => t as Filled<K | Key>;

/** Text of a word of the API, such as a state; the word itself when it is unknown. */
export function word(group: string, value: string | null | undefined): string {
  if (!value) return "";
  return all[language.value]![`${group}.${value}`] ?? value;
}
