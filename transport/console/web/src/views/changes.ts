/** A member that differs between two values, by its path; undefined where one does not have it. */
export interface Change {
  path: string;
  before?: string;
  after?: string;
}

const most = 200;

function flatten(value: unknown, path: string, into: Map<string, string>): void {
  if (into.size >= most) return;
  if (value !== null && typeof value === "object" && Object.keys(value).length > 0) {
    for (const [k, v] of Object.entries(value)) flatten(v, Array.isArray(value) ? `${path}[${k}]` : path ? `${path}.${k}` : k, into);
  } else if (value !== undefined) {
    into.set(path, typeof value === "string" ? value : JSON.stringify(value));
  }
}

/** The members in which two values of JSON differ, at most some hundreds. */
export function changes(before: unknown, after: unknown): Change[] {
  const [old, now] = [new Map<string, string>(), new Map<string, string>()];
  flatten(before, "", old);
  flatten(after, "", now);
  const paths = [...new Set([...old.keys(), ...now.keys()])];
  return paths.filter((p) => old.get(p) !== now.get(p)).map((path) => ({ path, before: old.get(path), after: now.get(path) }));
}
