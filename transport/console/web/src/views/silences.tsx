import { useState } from "preact/hooks";
import { alarms, changed } from "../alarmstore";
import { del, get, post, problemText, put } from "../api";
import type { components } from "../api.gen";
import { count, when } from "../format";
import { link } from "../hub";
import { may, session } from "../session";
import { Dialog, Mark, notify, useRepeat } from "../ui";
import { t } from "./alerttexts";
import { matches } from "./pattern";

type Silence = components["schemas"]["AlertSilence"];

const path = "/api/v1.0/alert-silence";
const times = [15, 60, 240, 480, 1440] as const;
const most = 8; // alarms of the preview that are named

/** The active alarms that a silence would keep quiet. */
function Preview({ type, pattern }: { type: string; pattern: string }) {
  void changed.value;
  const found = [...alarms.values()].filter((a) => a.isActive && matches(pattern, a.source));
  return (
    <div role="status">
      {pattern === "*" && type === "*" && <p class="say">{t("silences.everything")}</p>}
      {type !== "*" && type !== "" && <p class="quiet">{t("silences.types", { type })}</p>}
      <p>{found.length ? t("silences.preview", { n: count(found.length) }) : t("silences.nothing")}</p>
      {found.length > 0 && <ul class="urgent chosenlist" tabIndex={0} aria-label={t("alarms")}>
        {found.slice(0, most).map((a) => <li key={a.id}><Mark severity={a.severity} /><b>{a.source}</b><span>{a.message}</span></li>)}
        {found.length > most && <li>{t("silences.andMore", { n: count(found.length - most) })}</li>}
      </ul>}
    </div>
  );
}

/** Begins a silence, or changes one. */
export function SilenceDialog({ source = "", silence, onClose, onDone }: { source?: string; silence?: Silence; onClose: () => void; onDone: () => void }) {
  const [pattern, setPattern] = useState(silence?.sourceIdPattern ?? source);
  const [type, setType] = useState(silence?.sourceType ?? "*");
  const [reason, setReason] = useState(silence?.reason ?? "");
  const [minutes, setMinutes] = useState(silence ? 0 : 60); // from now; 0 leaves the end of a silence as it is
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      const now = Date.now();
      const end = new Date(now + minutes * 60_000).toISOString();
      const q = { sourceType: type.trim(), sourceIdPattern: pattern.trim(), reason: reason.trim() };
      if (silence) await put(`${path}/${encodeURIComponent(silence.silenceId)}`, { ...q, endsAt: minutes ? end : silence.endsAt });
      else await post(path, { ...q, createdBy: session.value?.username, startsAt: new Date(now).toISOString(), endsAt: end });
      notify(t(silence ? "silences.changed" : "silences.added", { source: pattern.trim() }));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return (
    <Dialog title={silence ? t("silences.changeOf", { source: silence.sourceIdPattern }) : t("silences.title")} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <p class="quiet">{t("silences.about")}</p>
        <label>{t("silences.pattern")}<input value={pattern} required maxLength={512} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => setPattern(e.currentTarget.value)} /></label>
        <label>{t("silences.type")}<input value={type} required maxLength={128} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => setType(e.currentTarget.value)} /></label>
        <label>{t(silence ? "silences.fromNow" : "silences.for")}
          <select value={minutes} onChange={(e) => setMinutes(Number(e.currentTarget.value))}>{silence && <option value={0}>{t("silences.same", { time: when(silence.endsAt) })}</option>}{times.map((m) => <option key={m} value={m}>{t(`minutes.${m}`)}</option>)}</select>
        </label>
        <label>{t("silences.reason")}<textarea rows={2} required maxLength={2000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
        {pattern.trim() && <Preview type={type.trim()} pattern={pattern.trim()} />}
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" disabled={busy}>{t(silence ? "save" : "silences.start")}</button></footer>
      </form>
    </Dialog>
  );
}

function EndDialog({ s, onClose, onDone }: { s: Silence; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<unknown>();
  const submit = async (e: Event) => {
    e.preventDefault();
    try {
      await del(`${path}/${encodeURIComponent(s.silenceId)}`);
      notify(t("silences.ended", { source: s.sourceIdPattern }));
      onDone();
    } catch (err) {
      setError(err);
    }
  };
  return (
    <Dialog title={t("silences.endOf", { source: s.sourceIdPattern })} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <p>{t("silences.endAbout")}</p>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="strong">{t("silences.end")}</button></footer>
      </form>
    </Dialog>
  );
}

type Phase = "active" | "coming" | "over";
const phase = (s: Silence, now: number): Phase => (Date.parse(s.startsAt) > now ? "coming" : Date.parse(s.endsAt) <= now ? "over" : "active");
const order: Record<Phase, number> = { active: 0, coming: 1, over: 2 };

export function Silences() {
  const [list, setList] = useState<Silence[]>();
  const [error, setError] = useState<unknown>();
  const [shown, setShown] = useState(100);
  const [adding, setAdding] = useState(false);
  const [ending, setEnding] = useState<Silence>();
  const [changing, setChanging] = useState<Silence>();
  const read = () => get<Silence[]>(path).then((l) => { setList(l); setError(undefined); }, setError);
  useRepeat(() => void read(), 10_000, [link.value]);
  const now = Date.now();
  const sorted = [...(list ?? [])].sort((a, b) => order[phase(a, now)] - order[phase(b, now)] || (a.endsAt < b.endsAt ? 1 : -1));
  const done = () => {
    setAdding(false);
    setEnding(undefined);
    setChanging(undefined);
    void read();
  };
  return (
    <>
      <div class="tools">
        {may("Operator") && <button type="button" class="primary" onClick={() => setAdding(true)}>{t("silences.add")}</button>}
        <span class="quiet counted" role="status">{list ? t("silences.count", { n: count(list.filter((s) => phase(s, now) === "active").length) }) : t("loading")}</span>
      </div>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="alerts-title">
        <table class="plain wide">
          <thead><tr><th>{t("alerts.source")}</th><th>{t("alerts.state")}</th><th>{t("silences.reason")}</th><th>{t("silences.by")}</th><th>{t("silences.from")}</th><th>{t("silences.until")}</th><th><span class="sr">{t("alerts.actions")}</span></th></tr></thead>
          <tbody>
            {sorted.slice(0, shown).map((s) => (
              <tr key={s.silenceId}>
                <th scope="row">{s.sourceIdPattern}{s.sourceType !== "*" && <> <em>{s.sourceType}</em></>}</th>
                <td data-label={t("alerts.state")}>{t(`silences.${phase(s, now)}`)}</td>
                <td data-label={t("silences.reason")} class="said">{s.reason}</td>
                <td data-label={t("silences.by")}>{s.recordedBy || s.createdBy}</td>
                <td data-label={t("silences.from")} class="figure">{when(s.startsAt)}</td>
                <td data-label={t("silences.until")} class="figure">{when(s.endsAt)}</td>
                <td class="actions">{may("Operator") && phase(s, now) !== "over" && (
                  <>
                    <button type="button" aria-label={t("silences.changeOf", { source: s.sourceIdPattern })} onClick={() => setChanging(s)}>{t("silences.change")}</button>
                    <button type="button" aria-label={t("silences.endOf", { source: s.sourceIdPattern })} onClick={() => setEnding(s)}>{t("silences.end")}</button>
                  </>
                )}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {list?.length === 0 && <p class="empty">{t("silences.none")}</p>}
        {sorted.length > shown && <p class="empty"><button type="button" onClick={() => setShown(shown + 100)}>{t("alerts.more")}</button></p>}
      </div>
      {adding && <SilenceDialog onClose={() => setAdding(false)} onDone={done} />}
      {changing && <SilenceDialog silence={changing} onClose={() => setChanging(undefined)} onDone={done} />}
      {ending && <EndDialog s={ending} onClose={() => setEnding(undefined)} onDone={done} />}
    </>
  );
}
