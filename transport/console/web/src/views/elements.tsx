import { useEffect, useRef, useState } from "preact/hooks";
import { answer, download, Problem, problemText, query } from "../api";
import { decimal } from "../format";
import { followSubmodel, link, type LiveProperty } from "../hub";
import { href } from "../route";
import { language, texts, word } from "../strings";
import { notify, QualityMark } from "../ui";
import { api, children, encoded, inLanguage, last, tagOf, type Element, type Page, type Reference, type Text } from "./aas";
import type en from "./elements.en.json";

const t = texts<keyof typeof en>();
const portion = 50; // elements of one level that are shown at once

const number = /^xs:(double|float|decimal|integer|int|long|short|byte|unsigned\w+|(non)?(positive|negative)Integer)$/i;

function shown(e: Element): string {
  const v = e.value;
  switch (e.modelType) {
    case "Property": {
      if (v === undefined || v === null) return "–";
      const n = Number(v);
      return e.valueType && number.test(e.valueType) && v !== "" && Number.isFinite(n) && Math.abs(n) < 2 ** 53 ? decimal(n) : String(v);
    }
    case "MultiLanguageProperty": return inLanguage(v as Text[] | undefined, language.value) || "–";
    case "Range": return `${e.min ?? "–"} … ${e.max ?? "–"}`;
    case "File": return String(v ?? "–");
    case "Blob": return e.contentType ?? "–";
    case "ReferenceElement": return last(v as Reference | undefined) || "–";
    case "RelationshipElement":
    case "AnnotatedRelationshipElement": return `${last(e.first) || "–"} → ${last(e.second) || "–"}`;
    case "Entity": return e.globalAssetId ?? e.entityType ?? "";
    default: return "";
  }
}

/** Live values by path. */
type Values = Map<string, LiveProperty>;

function ElementNode({ e, path, submodel, values }: { e: Element; path: string; submodel: string; values: Values }) {
  const [open, setOpen] = useState(false);
  const [most, setMost] = useState(portion);
  const list = children(e);
  const about = e.embeddedDataSpecifications?.[0]?.dataSpecificationContent;
  const name = inLanguage(e.displayName, language.value) || e.idShort || path.slice(path.lastIndexOf("["));
  const tag = tagOf(e);
  const live = values.get(path), q = live?.quality ?? "Good";
  const text = shown(live ? { ...e, value: live.value } : e);
  const reason = q === "Good" ? undefined : `${word("quality", q)} · ${word("reason", live?.qualityReason ?? "")}`;
  const save = () => void download(`${api}/submodels/${encoded(submodel)}/submodel-elements/${encodeURIComponent(path)}/attachment`, String(e.value).split("/").pop() || name).catch((err) => notify(problemText(err), true));
  return (
    <li>
      <div>
        {list.length > 0 ? (
          <button type="button" class="expand" aria-expanded={open} onClick={() => setOpen(!open)}>{name}</button>
        ) : <span class="leaf" title={inLanguage(e.description, language.value) || undefined}>{name}</span>}
        <span>
          {e.modelType === "File" && e.value ? <button type="button" class="link-like" onClick={save}>{text}</button> : <span class={`figure q${q}${live && link.value === "lost" ? " stale" : ""}`}>{text}</span>}
          {about?.unit && <span class="unit"> {about.unit}</span>}
          {reason && <span class={`q q${q}`}> <QualityMark quality={q} />{reason}</span>}
        </span>
        <small title={last(e.semanticId) || undefined}>{tag ? <a href={href("tags", tag)}>{t("elements.tag", { tag })}</a> : word("elements.type", e.modelType)}</small>
      </div>
      {open && (
        <ul>
          {list.slice(0, most).map((c, i) => <ElementNode key={c.idShort ?? i} e={c} path={e.modelType === "SubmodelElementList" ? `${path}[${i}]` : `${path}.${c.idShort}`} submodel={submodel} values={values} />)}
          {list.length > most && <li><button type="button" onClick={() => setMost(most + 200)}>{t("elements.more", { n: list.length - most })}</button></li>}
        </ul>
      )}
    </li>
  );
}

/** A submodel, whose elements are read when it is opened and when it was changed; live values come as they change. */
function Submodel({ id, opened }: { id: string; opened: boolean }) {
  const [open, setOpen] = useState(opened);
  const [name, setName] = useState("");
  const [list, setList] = useState<Element[]>();
  const [error, setError] = useState<unknown>();
  const [values, setValues] = useState<Values>(new Map());
  const cursors = useRef<(string | undefined)[]>([undefined]); // of the pages that are shown
  const next = useRef<string>();
  const path = `${api}/submodels/${encoded(id)}`;
  useEffect(() => {
    const control = new AbortController();
    answer({ method: "GET", path: `${path}/$metadata`, signal: control.signal }).then((r) => r.json()).then((m: { idShort?: string; displayName?: Text[] }) => setName(inLanguage(m.displayName, language.value) || m.idShort || ""), (err: unknown) => control.signal.aborted || setError(err));
    return () => control.abort();
  }, [id]);
  const read = async (signal?: AbortSignal) => {
    try {
      const all: Element[] = [];
      for (const cursor of cursors.current) {
        const r = await answer({ method: "GET", path: query(`${path}/submodel-elements`, { limit: portion, cursor }), signal });
        const page = (await r.json()) as Page<Element>;
        all.push(...page.result);
        next.current = page.paging_metadata?.cursor;
      }
      setList(all);
      setError(undefined);
    } catch (err) {
      if (!signal?.aborted) setError(err);
    }
  };
  useEffect(() => {
    if (!open) return;
    const control = new AbortController();
    void read(control.signal);
    let complete = false;
    const stop = followSubmodel(id, (v) => {
      if (v.removed || (v.complete && complete)) void read(control.signal); // it was changed, or the link was lost
      complete ||= v.complete;
      setValues((old) => {
        const now: Values = new Map(v.complete ? [] : old);
        for (const one of v.values) now.set(one.path, one);
        return now;
      });
    }, (code) => setError(new Problem(409, code, code)));
    return () => {
      control.abort();
      stop();
    };
  }, [id, open]);
  return (
    <li>
      <div><button type="button" class="expand" aria-expanded={open} onClick={() => setOpen(!open)}>{name || id}</button><span /><small>{t("elements.submodel")}</small></div>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      {open && (
        <ul>
          {list?.map((e, i) => <ElementNode key={e.idShort ?? i} e={e} path={e.idShort ?? ""} submodel={id} values={values} />)}
          {list?.length === 0 && <li class="quiet">{t("elements.none")}</li>}
          {next.current && <li><button type="button" onClick={() => { cursors.current.push(next.current); void read(); }}>{t("elements.next")}</button></li>}
        </ul>
      )}
    </li>
  );
}

export function SubmodelTree({ ids }: { ids: string[] }) {
  const [most, setMost] = useState(portion);
  if (ids.length === 0) return <p class="quiet">{t("elements.noSubmodels")}</p>;
  return (
    <ul class="tree">
      {ids.slice(0, most).map((id) => <Submodel key={id} id={id} opened={ids.length <= 4} />)}
      {ids.length > most && <li><button type="button" onClick={() => setMost(most + 200)}>{t("elements.more", { n: ids.length - most })}</button></li>}
    </ul>
  );
}
