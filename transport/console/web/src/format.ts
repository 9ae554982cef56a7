import { signal } from "@preact/signals";
import { language, word } from "./strings";
import type { Tag, Value } from "./api";

const formats = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

function number(decimals: number | undefined): Intl.NumberFormat {
  const key = `n${language.value}${decimals ?? ""}`;
  let f = formats.get(key) as Intl.NumberFormat | undefined;
  if (!f) {
    f = new Intl.NumberFormat(language.value, decimals === undefined ? { maximumFractionDigits: 3 } : { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    formats.set(key, f);
  }
  return f;
}

function date(key: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const k = `d${language.value}${key}`;
  let f = formats.get(k) as Intl.DateTimeFormat | undefined;
  if (!f) {
    f = new Intl.DateTimeFormat(language.value, { hourCycle: "h23", ...options });
    formats.set(k, f);
  }
  return f;
}

export const count = (n: number): string => number(0).format(n);
export const decimal = (n: number, decimals?: number): string => number(decimals).format(n);

const two = "2-digit" as const;
export const clock = (d: Date | number): string => date("c", { hour: two, minute: two, second: two }).format(d);
export const minutes = (d: Date | number): string => date("m", { hour: two, minute: two }).format(d);
export const day = (d: Date | number): string => date("D", { month: two, day: two }).format(d);
export const full = (d: Date | number): string => date("f", { year: "numeric", month: two, day: two, hour: two, minute: two, second: two }).format(d);

const today = signal(new Date().toDateString());
setInterval(() => (today.value = new Date().toDateString()), 5000);

/** The time of today, and the day too of another one. Components that call it follow the day. */
export function when(text: string | number | null | undefined): string {
  if (!text) return "–";
  const d = new Date(text);
  if (Number.isNaN(d.getTime()) || d.getFullYear() < 1971) return "–";
  return d.toDateString() === today.value ? clock(d) : `${day(d)} ${clock(d)}`;
}

export function numeric(v: Value | null | undefined): number | undefined {
  if (!v) return undefined;
  if (v.doubleValue !== undefined) return Number(v.doubleValue);
  if (v.int64Value !== undefined) return Number(v.int64Value);
  if (v.boolValue !== undefined) return v.boolValue ? 1 : 0;
  return undefined;
}

/** Decimals that suit the range of a tag: fixed, so that figures do not jump. */
export function decimalsOf(tag: Pick<Tag, "dataType" | "minValue" | "maxValue"> & { decimals?: number }): number {
  if (tag.decimals !== undefined) return tag.decimals;
  if (tag.dataType !== "Float") return 0;
  const span = (tag.maxValue ?? 0) - (tag.minValue ?? 0);
  if (span > 5000) return 0;
  if (span > 500) return 1;
  return span > 0 && span <= 1 ? 3 : 2;
}

/** A value with fixed decimals, or with an exponent if they would hide that it is not zero. */
function double(n: number, decimals: number): string {
  if (!Number.isFinite(n)) return String(n);
  return n !== 0 && Math.abs(n) < 0.5 * 10 ** -decimals ? n.toExponential(2) : decimal(n, decimals);
}

export function value(v: Value | null | undefined, tag: Pick<Tag, "dataType" | "minValue" | "maxValue">): string {
  if (!v) return "–";
  if (v.boolValue !== undefined) return word("bool", String(v.boolValue));
  if (v.doubleValue !== undefined) return double(Number(v.doubleValue), decimalsOf(tag));
  if (v.int64Value !== undefined) return number(0).format(typeof v.int64Value === "string" ? BigInt(v.int64Value) : v.int64Value);
  if (v.stringValue !== undefined) return v.stringValue;
  return v.bytesValue ?? "–";
}

/** A key by which names sort as people read them: tag2 before tag10. */
export const natural = (name: string): string => name.toLowerCase().replace(/\d+/g, (d) => d.padStart(12, "0"));
