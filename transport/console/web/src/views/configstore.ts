import { signal } from "@preact/signals";
import { get } from "../api";
import type { components } from "../api.gen";
import { natural } from "../format";

export type Item = components["schemas"]["TagConfig"];
export type Field = Exclude<keyof Item, "warnings" | "warningCount">;

export const path = "/api/v1.0/config/tags";

/** How a member is typed. What may be null says "null" then, as in the spreadsheets; what is empty takes the driver's. */
interface FieldType {
  name: Field;
  width: string;
  kind: "text" | "number" | "boolean";
  choices?: readonly string[];
  nullable?: boolean;
}

export const fields: readonly FieldType[] = [
  { name: "tagId", width: "220px", kind: "text" },
  { name: "driverId", width: "110px", kind: "text" },
  { name: "address", width: "150px", kind: "text" },
  { name: "dataType", width: "90px", kind: "text", choices: ["Bool", "Int", "Float", "String", "Bytes"] },
  { name: "nativeType", width: "100px", kind: "text" },
  { name: "unit", width: "70px", kind: "text" },
  { name: "description", width: "minmax(220px, 1fr)", kind: "text" },
  { name: "minValue", width: "90px", kind: "number", nullable: true },
  { name: "maxValue", width: "90px", kind: "number", nullable: true },
  { name: "scalingFactor", width: "90px", kind: "number" },
  { name: "offset", width: "80px", kind: "number" },
  { name: "accessMode", width: "110px", kind: "text", choices: ["", "ReadOnly", "ReadWrite"] },
  { name: "intervalMs", width: "90px", kind: "number" },
  { name: "deadband", width: "90px", kind: "number", nullable: true },
  { name: "deadbandPercent", width: "120px", kind: "number", nullable: true },
  { name: "confirmWrites", width: "90px", kind: "boolean", choices: ["", "true", "false", "null"], nullable: true },
];

/** A line of the grid: the item as the engine has it, and as it is typed. */
export interface Line {
  key: number;
  base?: Item;
  item: Item;
  removed: boolean;
}

/** What is typed is kept while other views are open, until it is applied or discarded. */
export const lines = signal<Line[] | undefined>(undefined);
export const failure = signal<unknown>(undefined);
let keys = 0;

export const cellText = (item: Item, name: Field): string => {
  const v = item[name];
  return v === undefined ? "" : String(v);
};

/** The item with a member that is given as text, or undefined where the text does not fit. */
export function withText(item: Item, name: Field, text: string): Item | undefined {
  const f = fields.find((x) => x.name === name)!;
  const next: Record<string, unknown> = { ...item };
  text = text.trim();
  if (text === "") delete next[name];
  else if (text === "null" && f.nullable) next[name] = null;
  else if (f.choices && !f.choices.includes(text)) return undefined;
  else if (f.kind === "boolean") next[name] = text === "true";
  else if (f.kind === "number") {
    const n = Number(text);
    if (!Number.isFinite(n)) return undefined;
    next[name] = n;
  } else next[name] = text;
  return next as unknown as Item;
}

export const changedCell = (l: Line, name: Field): boolean => !!l.base && cellText(l.base, name) !== cellText(l.item, name);
export const changed = (l: Line): boolean => l.removed || !l.base || (l.item !== l.base && fields.some((f) => changedCell(l, f.name)));

function replace(key: number, f: (l: Line) => Line | undefined): void {
  lines.value = lines.peek()?.flatMap((l) => (l.key === key ? (f(l) ?? []) : l));
}

/** A text for a cell. */
export interface Typed { line: Line; name: Field; text: string }

/** Sets cells, all at once because there may be many, and returns how many texts did not fit. */
export function setCells(typed: Typed[]): number {
  const items = new Map<number, Item>();
  let refused = 0;
  for (const { line, name, text } of typed) {
    const item = withText(items.get(line.key) ?? line.item, name, text);
    if (item) items.set(line.key, item);
    else refused++;
  }
  if (items.size) lines.value = lines.peek()?.map((l) => (items.has(l.key) ? { ...l, item: items.get(l.key)! } : l));
  return refused;
}

export const setItem = (key: number, item: Item) => replace(key, (l) => ({ ...l, item }));

/** Marks a line as to be removed, or no longer; a new one is gone at once. */
export const toggleRemoved = (key: number) => replace(key, (l) => (l.base ? { ...l, removed: !l.removed } : undefined));

const empty = (): Line => ({ key: keys++, item: { tagId: "", driverId: "", dataType: "Float" }, removed: false });

export const addLine = () => void (lines.value = [empty(), ...(lines.peek() ?? [])]);

/** Adds n lines below another one, and returns them. */
export function addLines(below: Line, n: number): Line[] {
  const added = Array.from({ length: n }, empty);
  lines.value = lines.peek()?.flatMap((l) => (l.key === below.key ? [l, ...added] : l));
  return added;
}

/** Reads the configuration. Without discard, what is typed stays. */
export async function readConfig(discard: boolean): Promise<void> {
  try {
    const items = await get<Item[]>(path);
    const before = discard ? [] : (lines.peek() ?? []).filter(changed);
    const typed = new Map(before.filter((l) => l.base).map((l) => [l.base!.tagId, l]));
    items.sort((a, b) => (natural(a.tagId) < natural(b.tagId) ? -1 : 1));
    const there = new Set(items.map((i) => i.tagId));
    // What somebody else has removed meanwhile is added again, if it was changed here.
    const added = before.filter((l) => !l.base || (!l.removed && !there.has(l.base.tagId))).map((l) => ({ ...l, base: undefined }));
    lines.value = [...added, ...items.map((base) => ({ key: keys++, item: base, removed: false, ...typed.get(base.tagId), base }))];
    failure.value = undefined;
  } catch (err) {
    failure.value = err;
  }
}

/** What is to be sent: the items to add or change, and the tags whose items are to be removed. */
export function pending(list: Line[]): { items: Item[]; removed: string[] } {
  const c = list.filter(changed);
  return { items: c.filter((l) => !l.removed).map((l) => l.item), removed: c.filter((l) => l.removed).map((l) => l.base!.tagId) };
}

/** Forgets removals that are carried out. */
export const dropRemoved = () => void (lines.value = lines.peek()?.filter((l) => !l.removed));
