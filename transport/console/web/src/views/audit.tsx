import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { download, get, problemText, query } from "../api";
import type { components } from "../api.gen";
import { count, full, when } from "../format";
import { texts, word } from "../strings";
import { notify, phone } from "../ui";
import type en from "./audit.en.json";
import { changes } from "./changes";

const t = texts<keyof typeof en>();
type Entry = components["schemas"]["AuditRecord"];
type Verification = components["schemas"]["AuditVerification"];

const path = "/api/v1/audit";
const page = 100;
const outcomes = ["succeeded", "refused", "failed", "pending", "unknown"];

interface Filter {
  actor: string;
  action: string;
  object: string;
  outcome: string;
  start: string;
  end: string;
}
const everything: Filter = { actor: "", action: "", object: "", outcome: "", start: "", end: "" };

/** The filter as the engine takes it: fields of local times are moments. */
const parameters = (f: Filter) => ({ ...f, start: f.start && new Date(f.start).toISOString(), end: f.end && new Date(f.end).toISOString() });

function Difference({ r }: { r: Entry }) {
  const list = changes(r.before, r.after);
  if (!list.length) return null;
  return (
    <table class="plain diff">
      <thead><tr><th>{t("audit.member")}</th><th>{t("audit.before")}</th><th>{t("audit.after")}</th></tr></thead>
      <tbody>{list.map((c) => <tr key={c.path}><th scope="row">{c.path || "–"}</th><td>{c.before ?? "–"}</td><td>{c.after ?? "–"}</td></tr>)}</tbody>
    </table>
  );
}

function Detail({ r }: { r: Entry }) {
  const facts: [string, string | undefined][] = [
    [t("audit.time"), full(new Date(r.time))], [t("audit.ended"), r.endedAt && full(new Date(r.endedAt))], [t("audit.actor"), r.principal || r.actor], [t("audit.role"), r.role && word("role", r.role)],
    [t("audit.address"), r.address], [t("audit.via"), r.via], [t("audit.object"), r.objects.join(", ")], [t("audit.code"), r.code], [t("audit.detail"), r.detail],
  ];
  return (
    <>
      <dl>{facts.filter(([, v]) => v).map(([k, v]) => <Fragment key={k}><dt>{k}</dt><dd>{v}</dd></Fragment>)}</dl>
      <Difference r={r} />
    </>
  );
}

export default function Audit() {
  const [draft, setDraft] = useState(everything);
  const [filter, setFilter] = useState(everything);
  const [list, setList] = useState<Entry[]>();
  const [total, setTotal] = useState(0);
  const [error, setError] = useState<unknown>();
  const [open, setOpen] = useState<number>();
  const [busy, setBusy] = useState(false);
  const [chain, setChain] = useState<Verification>();
  const asked = useRef(0);

  const read = async (f: Filter, after: Entry[] = []) => {
    const mine = ++asked.current;
    setBusy(true);
    try {
      const a = await get<components["schemas"]["AuditPage"]>(path, { ...parameters(f), pageSize: page, before: after.at(-1)?.id });
      if (mine !== asked.current) return;
      setList([...after, ...a.items]);
      setTotal(after.length + a.totalCount);
      setError(undefined);
    } catch (err) {
      if (mine === asked.current) setError(err);
    } finally {
      if (mine === asked.current) setBusy(false);
    }
  };
  useEffect(() => {
    void read(filter);
    return () => void asked.current++;
  }, [filter]);

  const field = (name: keyof Filter, type: string) => (
    <input type={type} class="short" placeholder={t(`audit.${name}` as "audit.actor")} aria-label={t(`audit.${name}` as "audit.actor")} value={draft[name]} onInput={(e) => setDraft({ ...draft, [name]: e.currentTarget.value })} />
  );
  const attempt = (what: Promise<unknown>) => void what.catch((err) => notify(problemText(err), true));
  return (
    <section class="panel fill" aria-labelledby="audit-title">
      <header class="tools">
        <h1 id="audit-title">{t("audit")}</h1>
        <span class="quiet counted" role="status">{list ? t("audit.count", { n: count(list.length), of: count(total) }) : t("loading")}</span>
        <button type="button" onClick={() => attempt(get<Verification>(`${path}/verification`).then(setChain))}>{t("audit.verify")}</button>
        <button type="button" onClick={() => attempt(download(query(`${path}/export`, parameters(filter)), "audit.csv"))}>{t("audit.export")}</button>
      </header>
      <details class="filter" open={!phone.value}>
        <summary>{t("audit.filter")}</summary>
        <form class="tools" onSubmit={(e) => { e.preventDefault(); setOpen(undefined); setFilter({ ...draft }); }}>
          {field("actor", "search")}{field("action", "search")}{field("object", "search")}
          <select aria-label={t("audit.outcome")} value={draft.outcome} onChange={(e) => setDraft({ ...draft, outcome: e.currentTarget.value })}>
            <option value="">{t("audit.allOutcomes")}</option>
            {outcomes.map((o) => <option key={o} value={o}>{word("audit.outcome", o)}</option>)}
          </select>
          <label class="choice"><span>{t("audit.start")}</span>{field("start", "datetime-local")}</label><label class="choice"><span>{t("audit.end")}</span>{field("end", "datetime-local")}</label>
          <button>{t("audit.find")}</button>
          <button type="button" onClick={() => { setDraft(everything); setFilter(everything); }}>{t("audit.clear")}</button>
        </form>
      </details>
      {chain && (
        <p class="say" role="status">
          {chain.intact ? t("audit.intact", { n: count(chain.entries) }) : t("audit.broken", { problem: chain.problem ?? "" })} <span class="figure hash">{t("audit.head", { seq: chain.head.seq, hash: chain.head.hash })}</span>
        </p>
      )}
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="audit-title">
        <table class="plain wide">
          <thead><tr><th>{t("audit.time")}</th><th>{t("audit.actor")}</th><th>{t("audit.action")}</th><th>{t("audit.object")}</th><th>{t("audit.outcome")}</th><th>{t("audit.address")}</th></tr></thead>
          <tbody>
            {list?.map((r) => (
              <Fragment key={r.id}>
                <tr>
                  <th scope="row"><button type="button" class="expand figure" aria-expanded={open === r.id} onClick={() => setOpen(open === r.id ? undefined : r.id)}>{when(r.time)}</button></th>
                  <td data-label={t("audit.actor")}>{r.actor}</td>
                  <td data-label={t("audit.action")}>{r.action}</td>
                  <td class="objects" data-label={t("audit.object")}>{r.objects.slice(0, 3).join(", ")}{r.objects.length > 3 && " …"}</td>
                  <td data-label={t("audit.outcome")}><span class={`state${r.outcome === "succeeded" ? "" : " off"}`}>{word("audit.outcome", r.outcome)}{r.code ? ` · ${r.code}` : ""}</span></td>
                  <td data-label={t("audit.address")}>{r.address ?? "–"}</td>
                </tr>
                {open === r.id && <tr class="beneath"><td colSpan={6}><Detail r={r} /></td></tr>}
              </Fragment>
            ))}
          </tbody>
        </table>
        {list?.length === 0 && <p class="empty">{t("audit.none")}</p>}
        {list && list.length < total && <p class="empty"><button type="button" disabled={busy} onClick={() => void read(filter, list)}>{t("audit.more")}</button></p>}
      </div>
    </section>
  );
}
