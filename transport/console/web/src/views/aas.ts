import { get } from "../api";

/** What the console reads of documents of the metamodel; the rest of them is not looked at. */
export interface Reference { type: string; keys: { type: string; value: string }[] }
export interface Text { language: string; text: string }
export interface Element {
  modelType: string;
  idShort?: string;
  displayName?: Text[];
  description?: Text[];
  semanticId?: Reference;
  qualifiers?: { type: string; value?: string }[];
  embeddedDataSpecifications?: { dataSpecificationContent?: { unit?: string; preferredName?: Text[] } }[];
  valueType?: string;
  value?: unknown;
  min?: string;
  max?: string;
  contentType?: string;
  first?: Reference;
  second?: Reference;
  statements?: Element[];
  annotations?: Element[];
  entityType?: string;
  globalAssetId?: string;
}
export interface Shell {
  id: string;
  idShort?: string;
  description?: Text[];
  assetInformation: { assetKind?: string; globalAssetId?: string; assetType?: string; specificAssetIds?: { name: string; value: string }[] };
  submodels?: Reference[];
}
export interface Page<T> { result: T[]; paging_metadata?: { cursor?: string } }

export const api = "/api/v3.1";

/** An id as the standard's paths have it: base64url of UTF-8. */
export function encoded(id: string): string {
  let bytes = "";
  for (const b of new TextEncoder().encode(id)) bytes += String.fromCharCode(b);
  return btoa(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** The text in a language, else in English, else the first one. */
export const inLanguage = (list: Text[] | undefined, language: string): string => {
  const of = (l: string) => list?.find((x) => x.language.toLowerCase().split("-")[0] === l)?.text;
  return of(language) ?? of("en") ?? list?.[0]?.text ?? "";
};

export const last = (r: Reference | undefined): string => r?.keys[r.keys.length - 1]?.value ?? "";

/** The elements in an element. */
export function children(e: Element): Element[] {
  if (e.modelType === "SubmodelElementCollection" || e.modelType === "SubmodelElementList") return (e.value as Element[] | undefined) ?? [];
  return e.statements ?? e.annotations ?? [];
}

/** The tag that a Property has its value from. */
export const tagOf = (e: Element): string | undefined => e.qualifiers?.find((q) => q.type === "tag")?.value;

/** Shells page by page; with a text only those of which it is the id, the short id or the global asset id. */
export async function shells(text: string, cursor: string | undefined, signal: AbortSignal): Promise<Page<Shell>> {
  if (!text) return get<Page<Shell>>(`${api}/shells`, { limit: 100, cursor }, signal);
  const asset = encoded(JSON.stringify({ name: "globalAssetId", value: text }));
  const all = await Promise.all([
    /[:/]/.test(text) ? get<Shell>(`${api}/shells/${encoded(text)}`, {}, signal).then((s) => [s], () => []) : [], // ids are URIs
    get<Page<Shell>>(`${api}/shells`, { idShort: text, limit: 100 }, signal).then((p) => p.result),
    get<Page<Shell>>(`${api}/shells`, { assetIds: asset, limit: 100 }, signal).then((p) => p.result, () => []),
  ]);
  return { result: [...new Map(all.flat().map((s) => [s.id, s])).values()] };
}
