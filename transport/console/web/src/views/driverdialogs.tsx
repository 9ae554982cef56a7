import { useRef, useState } from "preact/hooks";
import { del, post, Problem, problemText, put, refused } from "../api";
import { engines } from "../engines";
import { texts } from "../strings";
import { Dialog, notify } from "../ui";
import type en from "./drivers.en.json";
import { of, path, type Definition, type Driver, type DriverType } from "./drivers";
import { aboutOf, Settings, settingsOf, textsOf, type Texts } from "./driversettings";
import { Trial, type TrialResult } from "./drivertrial";

const t = texts<keyof typeof en>();

/** Why a request has failed, and that its outcome is not known where that is so. */
const why = (err: unknown) => (err instanceof Problem || err instanceof TypeError ? (refused(err) ? problemText(err) : t("drivers.unknown", { why: problemText(err) })) : (err as Error).message);
const inUse = (err: unknown) => err instanceof Problem && err.code === "TAG_IN_USE";

/** What is typed. Times are in milliseconds. */
interface Draft { id: string; type: string; enabled: boolean; ipAddress: string; port: string; pollIntervalMs: string; timeoutMs: string; backoffMaxMs: string; requires: string; settings: Texts }

/** Labels as they are typed: one a line, such as network=hall-1. */
const labelsOf = (typed: string) => Object.fromEntries(typed.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
  const at = line.indexOf("=");
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}));

const text = (n: number | undefined) => (n ? String(n) : "");

function draftOf(types: DriverType[], d?: Driver): Draft {
  const type = types.find((x) => x.name === d?.type) ?? types[0];
  return {
    id: d?.id ?? "", type: d?.type ?? type.name, enabled: d?.enabled ?? true, ipAddress: d?.ipAddress ?? "", port: text(d?.port),
    pollIntervalMs: text(d?.pollIntervalMs), timeoutMs: text(d?.timeoutMs), backoffMaxMs: text(d?.backoffMaxMs), requires: Object.entries(d?.requires ?? {}).map(([k, v]) => `${k}=${v}`).join("\n"), settings: textsOf(type, d?.settings ?? {}),
  };
}

function definitionOf(type: DriverType, d: Draft): Definition {
  const addressed = type.address === "none" ? {} : { ipAddress: d.ipAddress.trim(), port: Number(d.port) };
  return { id: d.id.trim(), type: type.name, enabled: d.enabled, ...addressed, pollIntervalMs: Number(d.pollIntervalMs), timeoutMs: Number(d.timeoutMs), backoffMaxMs: Number(d.backoffMaxMs), requires: labelsOf(d.requires), settings: settingsOf(type, d.settings) };
}

/** The members that drivers of all types have. */
function Common({ d, type, fixed, set }: { d: Draft; type: DriverType; fixed: boolean; set: (change: Partial<Draft>) => void }) {
  const time = (name: "pollIntervalMs" | "timeoutMs" | "backoffMaxMs", label: string, preset: number) => (
    <label>{label}<input type="number" min={0} max={86400000} step={1} value={d[name]} placeholder={t("drivers.default", { value: preset })} onInput={(e) => set({ [name]: e.currentTarget.value })} /></label>
  );
  return (
    <>
      {type.address !== "none" && <label>{t("drivers.ip")}<input value={d.ipAddress} required={type.address === "required"} maxLength={253} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => set({ ipAddress: e.currentTarget.value })} /></label>}
      {type.address !== "none" && <label>{t("drivers.port")}<input type="number" min={0} max={65535} step={1} value={d.port} placeholder={type.defaultPort ? t("drivers.default", { value: type.defaultPort }) : ""} onInput={(e) => set({ port: e.currentTarget.value })} /></label>}
      {time("pollIntervalMs", t("drivers.poll"), 1000)}
      {time("timeoutMs", t("drivers.timeout"), 5000)}
      {time("backoffMaxMs", t("drivers.backoff"), 10000)}
      {(engines.data.value?.bus || d.requires) && <label class="long">{t("drivers.requires")}<textarea rows={2} value={d.requires} placeholder={t("drivers.label")} spellcheck={false} onInput={(e) => set({ requires: e.currentTarget.value })} /></label>}
      <label class="choice"><span>{t(fixed ? "drivers.enabled" : "drivers.start")}</span><input type="checkbox" checked={d.enabled} onChange={(e) => set({ enabled: e.currentTarget.checked })} /></label>
    </>
  );
}

/** Adds a driver, or changes one. What is typed can be tried before it is kept. */
export function DriverDialog({ types, driver, etag, onClose, onDone }: { types: DriverType[]; driver?: Driver; etag?: string; onClose: () => void; onDone: () => void }) {
  const [d, setDraft] = useState(() => draftOf(types, driver));
  const [error, setError] = useState<unknown>();
  const [trial, setTrial] = useState<TrialResult>();
  const [busy, setBusy] = useState<"test" | "save">();
  const [force, setForce] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const set = (change: Partial<Draft>) => { setDraft({ ...d, ...change }); setTrial(undefined); };
  const type = types.find((x) => x.name === d.type);
  const act = async (what: "test" | "save") => {
    if (!type || !form.current?.reportValidity()) return;
    setBusy(what);
    setError(undefined);
    setTrial(undefined);
    try {
      const definition = definitionOf(type, d);
      if (what === "test") return setTrial(await post<TrialResult>(`${path}/test`, definition));
      const saved = driver ? await put<Driver>(of(driver.id) + (force ? "?force=true" : ""), definition, etag) : await post<Driver>(path, definition);
      notify(t(driver ? "drivers.changed" : "drivers.added", { id: saved.id }));
      onDone();
    } catch (err) {
      setError(err);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <Dialog title={driver ? t("drivers.changeOf", { id: driver.id }) : t("drivers.add")} onClose={onClose}>
      <form ref={form} method="dialog" class="driver" autocomplete="off" onSubmit={(e) => { e.preventDefault(); void act("save"); }}>
        <label>{t("drivers.id")}<input value={d.id} required maxLength={128} readOnly={!!driver} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => set({ id: e.currentTarget.value })} /></label>
        <label>{t("driver.type")}<select value={d.type} onChange={(e) => set({ type: e.currentTarget.value, settings: {} })}>{types.map((x) => <option key={x.name} value={x.name}>{x.title}</option>)}</select></label>
        {type && aboutOf(type) && <p class="quiet">{aboutOf(type)}</p>}
        {type ? <Common d={d} type={type} fixed={!!driver} set={set} /> : <p class="error">{t("drivers.noType", { type: d.type })}</p>}
        {type && <Settings key={type.name} type={type} typed={d.settings} onChange={(settings) => set({ settings })} />}
        {trial && <Trial r={trial} />}
        {error ? <p class="error" role="alert" ref={(e) => e?.scrollIntoView({ block: "nearest" })}>{why(error)}</p> : null}
        {inUse(error) && <label class="choice"><span>{t("drivers.force")}</span><input type="checkbox" checked={force} onChange={(e) => setForce(e.currentTarget.checked)} /></label>}
        <footer>
          <button type="button" disabled={!!busy || !type} onClick={() => void act("test")}>{t(busy === "test" ? "drivers.testing" : "drivers.test")}</button>
          <span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" disabled={!!busy || !type}>{t("save")}</button>
        </footer>
      </form>
    </Dialog>
  );
}

export function RemoveDialog({ driver, etag, onClose, onDone }: { driver: Driver; etag?: string; onClose: () => void; onDone: () => void }) {
  const [tags, setTags] = useState(false);
  const [force, setForce] = useState(false);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      await del(`${of(driver.id)}?tags=${tags}&force=${force}`, etag);
      notify(t("drivers.removed", { id: driver.id }));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("drivers.removeOf", { id: driver.id })} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <p>{t("drivers.removeAbout")}</p>
        <label class="choice"><span>{t("drivers.removeTags")}</span><input type="checkbox" checked={tags} onChange={(e) => setTags(e.currentTarget.checked)} /></label>
        {error ? <p class="error" role="alert">{why(error)}</p> : null}
        {inUse(error) && <label class="choice"><span>{t("drivers.force")}</span><input type="checkbox" checked={force} onChange={(e) => setForce(e.currentTarget.checked)} /></label>}
        <footer><span class="spring" /><button type="button" autofocus onClick={onClose}>{t("cancel")}</button><button class="strong" disabled={busy}>{t("drivers.remove")}</button></footer>
      </form>
    </Dialog>
  );
}
