import { useEffect, useState } from "preact/hooks";
import { post, Problem, problemText, query, refused } from "../api";
import type { components } from "../api.gen";
import { count } from "../format";
import { may } from "../session";
import { texts } from "../strings";
import { Dialog, notify } from "../ui";
import type en from "./configuration.en.json";
import { dropRemoved, path, type Item } from "./configstore";

const t = texts<keyof typeof en>();
type Answer = components["schemas"]["ImportAnswer"];

const most = 200; // differences of a kind that are listed

const sheets: Record<string, string> = { csv: "text/csv", xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", json: "application/json" };
const inUse = (err: unknown) => err instanceof Problem && err.code === "TAG_IN_USE";
const figure = (v: unknown) => (v === null || v === undefined || v === "" ? "–" : String(v));

/** Why a request has failed, with each place of a file on a line of its own, and that its outcome is not known where that is so. */
function Failure({ err }: { err: unknown }) {
  const places = err instanceof Problem ? err.fields : [];
  const text = err instanceof Problem ? problemText(new Problem(err.status, err.code, err.detail)) : problemText(err);
  return (
    <div class="error" role="alert">
      <p>{refused(err) ? text : t("config.unknown", { why: text })}</p>
      {places.length > 0 && <div class="scroll places" tabIndex={0} role="group" aria-label={t("config.places")}><ul>{places.map((f, i) => <li key={i}>{f.field}: {f.message}</li>)}</ul></div>}
    </div>
  );
}

/** What an import would do. */
function Diff({ a, removed }: { a: Answer; removed: string[] }) {
  const gone = [...removed, ...(a.removed ?? [])];
  const more = (n: number) => n > most && <li class="quiet">{t("config.andMore", { n: count(n - most) })}</li>;
  return (
    <div class="diff" role="status">
      <p><b>{t("config.summary", { added: count(a.added.length), changed: count(a.changed.length), removed: count(gone.length) })}</b></p>
      <div class="scroll" tabIndex={0} role="group" aria-label={t("config.differences")}><ul>
        {a.added.slice(0, most).map((i) => <li key={i.tagId}><b>+ {i.tagId}</b> {i.driverId} {i.address} {i.dataType} {i.unit}</li>)}{more(a.added.length)}
        {a.changed.slice(0, most).map((c) => <li key={c.tagId}><b>{c.tagId}</b> {c.fields.map((f) => <span key={f.field}>{f.field} <del>{figure(f.old)}</del> <ins>{figure(f.new)}</ins></span>)}</li>)}{more(a.changed.length)}
        {gone.slice(0, most).map((id) => <li key={id}><b>− {id}</b></li>)}{more(gone.length)}
      </ul></div>
      {!!a.warningCount && <p>{t("config.warnings", { n: count(a.warningCount) })}</p>}
      {a.warnings && <div class="scroll places" tabIndex={0} role="group" aria-label={t("config.places")}><ul>{a.warnings.map((w, i) => <li key={i}>{w.tagId} {w.member}: {w.message}</li>)}</ul></div>}
    </div>
  );
}

function Force({ on, onChange }: { on: boolean; onChange: (on: boolean) => void }) {
  return <label class="choice"><span>{t("config.force")}</span><input type="checkbox" checked={on} onChange={(e) => onChange(e.currentTarget.checked)} /></label>;
}

/** Shows what was typed in the grid would change, and applies it. */
export function ReviewDialog({ items, removed, onClose, onDone }: { items: Item[]; removed: string[]; onClose: () => void; onDone: () => void }) {
  const [answer, setAnswer] = useState<Answer>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [force, setForce] = useState(false);
  useEffect(() => {
    if (items.length === 0) setAnswer({ dryRun: true, count: 0, added: [], changed: [], unchanged: [] });
    else void post<Answer>(`${path}/import?dryRun=true`, items).then(setAnswer, setError);
  }, []);
  const apply = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      if (removed.length > 0) {
        await post(`${path}/remove`, { tagIds: removed, force });
        dropRemoved();
      }
      if (items.length > 0) await post(`${path}/bulk`, items);
      notify(t("config.applied"));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("config.review")} onClose={onClose}>
      <form method="dialog" class="config" onSubmit={(e) => void apply(e)}>
        {answer ? <Diff a={answer} removed={removed} /> : !error && <p role="status">{t("config.comparing")}</p>}
        {error ? <Failure err={error} /> : null}
        {inUse(error) && <Force on={force} onChange={setForce} />}
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" disabled={busy || !answer}>{t("config.apply")}</button></footer>
      </form>
    </Dialog>
  );
}

/** Reads a spreadsheet, shows what it would change, and applies it. */
export function ImportDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [file, setFile] = useState<File>();
  const [mode, setMode] = useState("upsert");
  const [answer, setAnswer] = useState<Answer>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [force, setForce] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    if (!file) return;
    setBusy(true);
    setError(undefined);
    const media = sheets[file.name.split(".").pop()?.toLowerCase() ?? ""] ?? sheets.csv;
    try {
      const a = await post<Answer>(query(`${path}/import`, { mode, dryRun: !answer, ...(answer && force && { force }) }), new Blob([file], { type: media }));
      if (!answer) return setAnswer(a);
      notify(t("config.imported", { n: count(a.count) }));
      onDone();
    } catch (err) {
      setError(err);
    } finally {
      setBusy(false);
    }
  };
  const anew = () => { setAnswer(undefined); setError(undefined); setForce(false); };
  return (
    <Dialog title={t("config.import")} onClose={onClose}>
      <form method="dialog" class="config" onSubmit={(e) => void submit(e)}>
        <label>{t("config.file")}<input type="file" required accept=".csv,.xlsx,.json" onChange={(e) => { setFile(e.currentTarget.files?.[0]); anew(); }} /></label>
        <label>{t("config.mode")}
          <select value={mode} onChange={(e) => { setMode(e.currentTarget.value); anew(); }}>
            <option value="upsert">{t("config.upsert")}</option>
            {may("Admin") && <option value="replace">{t("config.replace")}</option>}
          </select>
        </label>
        {answer && <Diff a={answer} removed={[]} />}
        {error ? <Failure err={error} /> : null}
        {inUse(error) && <Force on={force} onChange={setForce} />}
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" disabled={busy || !file}>{t(answer ? "config.apply" : busy ? "config.comparing" : "config.compare")}</button></footer>
      </form>
    </Dialog>
  );
}

/** Asks before typed changes are thrown away. */
export function DiscardDialog({ n, onClose, onDone }: { n: number; onClose: () => void; onDone: () => void }) {
  return (
    <Dialog title={t("config.discard")} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => { e.preventDefault(); onDone(); }}>
        <p>{t("config.discardAbout", { n: count(n) })}</p>
        <footer><span class="spring" /><button type="button" autofocus onClick={onClose}>{t("cancel")}</button><button class="strong">{t("config.discardNow")}</button></footer>
      </form>
    </Dialog>
  );
}
