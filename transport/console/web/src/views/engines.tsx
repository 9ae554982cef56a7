import { useState } from "preact/hooks";
import { answer, get, problemText, refused } from "../api";
import { StateMark } from "../drivers";
import { engines, EngineState, isSilent, type Engine, type EngineList } from "../engines";
import { count, decimal, when } from "../format";
import { may } from "../session";
import { texts, word } from "../strings";
import { Dialog, notify, useRepeat } from "../ui";
import type en from "./engines.en.json";

const t = texts<keyof typeof en>();

const of = (e: Engine) => `/api/v1/engines/${encodeURIComponent(e.id)}`;
const seconds = (ms: number) => t("engines.ago", { s: decimal(ms / 1000, 1) });
/** How much work of which kinds there is. */
const amounts = (owned: Record<string, number>) => Object.entries(owned).map(([kind, k]) => `${word("work", kind)} ${count(k)}`).join(" · ");

/** Has an engine give its work away, or take work again. */
function DrainDialog({ e, onClose, onDone }: { e: Engine; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const what = e.draining ? "undrain" : "drain";
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await answer({ method: e.draining ? "DELETE" : "PUT", path: `${of(e)}/drain` });
      notify(t(`engines.${what}Done`, { name: e.name }));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t(`engines.${what}Of`, { name: e.name })} onClose={onClose}>
      <form method="dialog" onSubmit={(event) => void submit(event)}>
        <p>{t(`engines.${what}About`)}</p>
        {error ? <p class="error" role="alert">{refused(error) ? problemText(error) : t("engines.unknown", { why: problemText(error) })}</p> : null}
        <footer><span class="spring" /><button type="button" autofocus onClick={onClose}>{t("cancel")}</button><button class="strong" disabled={busy}>{t(`engines.${what}`)}</button></footer>
      </form>
    </Dialog>
  );
}

/** Work that no engine does, with why each of them cannot. */
function Unassigned({ list }: { list: EngineList }) {
  return (
    <div class="found">
      <h2 id="unassigned-title">{t("overview.unassigned", { n: count(list.unassignedCount) })}</h2>
      <table class="plain wide" aria-labelledby="unassigned-title">
        <thead><tr><th>{t("engines.work")}</th><th>{t("engines.unassignedSince")}</th><th>{t("engines.why")}</th></tr></thead>
        <tbody>
          {list.unassigned.map((w) => (
            <tr key={`${w.kind}/${w.id}`}>
              <th scope="row">{word("work", w.kind)} {w.id}</th>
              <td data-label={t("engines.unassignedSince")} class="figure">{when(w.since)}</td>
              <td data-label={t("engines.why")}>
                {w.reasons.map((r) => <small class="why" key={r.engineId}>{r.engineName}: {r.reason}</small>)}
                {w.reasons.length < list.engines.length && <small class="why">{t("engines.soon")}</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What an engine does, and what it cannot do. */
function Detail({ e }: { e: Engine }) {
  const [works, setWorks] = useState<Engine["works"]>();
  useRepeat(() => void get<Engine>(of(e)).then((x) => setWorks(x.works), () => undefined), 5000);
  const kinds = Object.keys(e.owned).sort();
  return (
    <>
      {kinds.map((kind) => <p key={kind}><b>{word("work", kind)}</b> {works?.filter((w) => w.kind === kind).map((w) => w.id).join(", ") ?? t("loading")}</p>)}
      {kinds.length === 0 && <p class="quiet">{t("engines.idle")}</p>}
      {e.unable.map((u) => <p key={`${u.kind}/${u.id}`}><b>{t("engines.cannot", { work: `${word("work", u.kind)} ${u.id}` })}</b> {u.reason}</p>)}
      {e.labels && <p class="quiet">{t("engines.labels")} {Object.entries(e.labels).map(([k, v]) => `${k}=${v}`).join(", ")}</p>}
      <p class="quiet">{t("engines.id")} {e.id} · {t("engines.since")} {when(e.startedAt)}{e.url && ` · ${e.url}`}</p>
    </>
  );
}

function Row({ e, shared, onDrain }: { e: Engine; shared: boolean; onDrain?: () => void }) {
  const [open, setOpen] = useState(false);
  const does = amounts(e.owned), silent = isSilent(e);
  return (
    <>
      <tr>
        <th scope="row"><button type="button" class="expand" aria-expanded={open} onClick={() => setOpen(!open)}>{e.name}</button>{e.self && shared && <> <em>{t("engines.self")}</em></>}</th>
        <td data-label={t("state")}><EngineState e={e} /></td>
        <td data-label={t("engines.does")}>{does || "–"}{e.unableCount > 0 && <small class="why">{t("engines.unable", { n: count(e.unableCount) })}</small>}</td>
        <td data-label={t("engines.heard")} class={`end figure${silent ? " late" : ""}`}>{shared ? seconds(e.lagMs) : "–"}</td>
        <td data-label={t("engines.values")} class="end figure">{e.valueLagMs === undefined ? "–" : seconds(e.valueLagMs)}</td>
        <td data-label={t("engines.host")}>{e.host ?? "–"}</td>
        <td data-label={t("engines.version")}>{e.version}</td>
        {onDrain && <td class="actions"><button type="button" aria-label={t(e.draining ? "engines.undrainOf" : "engines.drainOf", { name: e.name })} onClick={onDrain}>{t(e.draining ? "engines.undrain" : "engines.drain")}</button></td>}
      </tr>
      {open && <tr class="beneath"><td colSpan={8}><Detail e={e} /></td></tr>}
    </>
  );
}

export default function Engines() {
  useRepeat(() => void engines.read(), 2000);
  const [draining, setDraining] = useState<Engine>();
  const list = engines.data.value;
  const bus = list?.bus;
  const admin = may("Admin") && !!bus;
  const close = () => setDraining(undefined);
  return (
    <section class="panel fill" aria-labelledby="engines-title">
      <header class="tools">
        <h1 id="engines-title">{t("engines")}</h1>
        <span class="quiet" role="status">{list ? t("engines.count", { n: count(list.engines.length) }) : ""}</span>
        <span class="spring" />
        {bus && <span class={`state${bus.up ? "" : " off"}`}><StateMark good={bus.up} />{t(bus.up ? "engines.bus" : "engines.busDown", { kind: bus.kind, why: bus.error ?? "" })}</span>}
        {list && !bus && <span class="quiet">{t("engines.alone")}</span>}
      </header>
      {engines.error.value ? <p class="error" role="alert">{problemText(engines.error.value)}</p> : null}
      {list && !list.database.up && <p class="error" role="alert">{t("engines.database")}</p>}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="engines-title">
        {list && list.unassignedCount > 0 && <Unassigned list={list} />}
        <table class="plain wide" aria-labelledby="engines-title">
          <thead>
            <tr>
              <th>{t("name")}</th><th>{t("state")}</th><th>{t("engines.does")}</th><th class="end">{t("engines.heard")}</th><th class="end">{t("engines.values")}</th><th>{t("engines.host")}</th><th>{t("engines.version")}</th>
              {admin && <th><span class="sr">{t("engines.drain")}</span></th>}
            </tr>
          </thead>
          <tbody>{list?.engines.map((e) => <Row key={e.id} e={e} shared={!!bus} onDrain={admin ? () => setDraining(e) : undefined} />)}</tbody>
        </table>
        {!list && !engines.error.value && <p class="empty">{t("loading")}</p>}
      </div>
      {draining && <DrainDialog e={draining} onClose={close} onDone={() => { close(); void engines.read(); }} />}
    </section>
  );
}
