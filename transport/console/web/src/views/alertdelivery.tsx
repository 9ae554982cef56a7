import { useState } from "preact/hooks";
import { del, get, post, problemText } from "../api";
import type { components } from "../api.gen";
import { count, when } from "../format";
import { link } from "../hub";
import { may } from "../session";
import { Dialog, Mark, notify, useRepeat } from "../ui";
import { t } from "./alerttexts";

type Channel = components["schemas"]["ChannelStatus"];
type DeadLetter = components["schemas"]["DeadLetter"];

const path = "/api/v1/alerting";

/** A second step for what cannot be taken back. */
function Sure({ title, about, now, act, onClose }: { title: string; about: string; now: string; act: () => Promise<void>; onClose: () => void }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    await act().then(onClose, setError);
    setBusy(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <p>{about}</p>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <footer><span class="spring" /><button type="button" autofocus onClick={onClose}>{t("cancel")}</button><button class="strong" disabled={busy}>{now}</button></footer>
      </form>
    </Dialog>
  );
}

export function Channels() {
  const [list, setList] = useState<Channel[]>();
  const [error, setError] = useState<unknown>();
  const [testing, setTesting] = useState<Channel>();
  const read = () => get<Channel[]>(`${path}/channels`).then((l) => { setList(l); setError(undefined); }, setError);
  useRepeat(() => void read(), 5000, [link.value]);
  const test = async (name: string) => {
    const { success, message } = await post<components["schemas"]["ChannelTest"]>(`${path}/channels/${encodeURIComponent(name)}/test`);
    notify(success ? t("channels.tested", { name }) : t("channels.refused", { name, why: message ?? "" }), !success);
    void read();
  };
  const paused = (c: Channel) => c.pausedUntil && Date.parse(c.pausedUntil) > Date.now();
  return (
    <>
      <div class="tools"><span class="quiet counted" role="status">{list ? t("channels.count", { n: count(list.length) }) : t("loading")}</span></div>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="alerts-title">
        <table class="plain wide">
          <thead><tr><th>{t("dead.channel")}</th><th>{t("alerts.state")}</th><th class="end">{t("channels.sent")}</th><th class="end">{t("channels.failed")}</th><th>{t("channels.lastError")}</th><th><span class="sr">{t("alerts.actions")}</span></th></tr></thead>
          <tbody>
            {list?.map((c) => (
              <tr key={c.name}>
                <th scope="row">{c.name}</th>
                <td data-label={t("alerts.state")}><span class={`state${paused(c) ? " off" : ""}`}>{paused(c) ? t("channels.failing", { time: when(c.pausedUntil) }) : t("channels.ok")}</span></td>
                <td class="end figure" data-label={t("channels.sent")}>{count(c.sent)}</td>
                <td class="end figure" data-label={t("channels.failed")}>{count(c.failed)}</td>
                <td data-label={t("channels.lastError")} class="said">{c.lastError || "–"}</td>
                <td class="actions">{may() && <button type="button" aria-label={t("channels.testOf", { name: c.name })} onClick={() => setTesting(c)}>{t("channels.test")}</button>}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {list?.length === 0 && <p class="empty">{t("channels.none")}</p>}
      </div>
      {testing && <Sure title={t("channels.testOf", { name: testing.name })} about={t("channels.testAbout")} now={t("channels.test")} act={() => test(testing.name)} onClose={() => setTesting(undefined)} />}
    </>
  );
}

export function DeadLetters() {
  const [list, setList] = useState<DeadLetter[]>();
  const [total, setTotal] = useState(0);
  const [pages, setPages] = useState(1);
  const [channel, setChannel] = useState("");
  const [names, setNames] = useState<string[]>([]);
  const [error, setError] = useState<unknown>();
  const [discarding, setDiscarding] = useState<DeadLetter>();
  const read = async () => {
    try {
      const found: DeadLetter[] = [];
      for (let page = 1; page <= pages; page++) {
        const a = await get<components["schemas"]["DeadLetterList"]>(`${path}/deadletters`, { channel, page, pageSize: 100 });
        found.push(...a.deadLetters);
        setTotal(a.totalCount);
      }
      setList(found);
      setError(undefined);
    } catch (err) {
      setError(err);
    }
  };
  useRepeat(() => void read(), 10_000, [channel, pages, link.value]);
  useRepeat(() => void get<Channel[]>(`${path}/channels`).then((l) => setNames(l.map((c) => c.name)), () => undefined), 60_000);
  const of = (d: DeadLetter) => `${path}/deadletters/${encodeURIComponent(d.id)}`;
  const retry = async (d: DeadLetter) => {
    try {
      await post(`${of(d)}/retry`);
      notify(t("dead.retried"));
    } catch (err) {
      notify(problemText(err), true);
    }
    void read();
  };
  const discard = async (d: DeadLetter) => {
    await del(of(d));
    notify(t("dead.discarded"));
    void read();
  };
  return (
    <>
      <div class="tools">
        <select aria-label={t("dead.channel")} value={channel} onChange={(e) => { setPages(1); setChannel(e.currentTarget.value); }}>
          <option value="">{t("dead.all")}</option>{names.map((n) => <option key={n} value={n}>{n}</option>)}
        </select>
        <span class="quiet counted" role="status">{list ? t("alerts.count", { n: count(list.length), of: count(total) }) : t("loading")}</span>
      </div>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="alerts-title">
        <table class="plain wide">
          <thead><tr><th>{t("time")}</th><th>{t("severity")}</th><th>{t("alerts.title")}</th><th>{t("dead.channel")}</th><th>{t("dead.recipient")}</th><th class="end">{t("dead.attempts")}</th><th>{t("channels.lastError")}</th><th><span class="sr">{t("alerts.actions")}</span></th></tr></thead>
          <tbody>
            {list?.map((d) => (
              <tr key={d.id}>
                <th scope="row" class="figure">{when(d.createdAt)}</th>
                <td data-label={t("severity")}><Mark severity={d.severity === "Error" ? "Critical" : d.severity} dim /></td>
                <td class="said">{d.subject}</td>
                <td data-label={t("dead.channel")}>{d.channel}</td>
                <td data-label={t("dead.recipient")} class="said">{d.recipient || "–"}</td>
                <td class="end figure" data-label={t("dead.attempts")}>{count(d.attempts)}</td>
                <td data-label={t("channels.lastError")} class="said">{d.lastError}</td>
                <td class="actions">{may() && <>
                  <button type="button" aria-label={t("dead.retryOf", { subject: d.subject })} onClick={() => void retry(d)}>{t("dead.retry")}</button>
                  <button type="button" aria-label={t("dead.discardOf", { subject: d.subject })} onClick={() => setDiscarding(d)}>{t("dead.discard")}</button>
                </>}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {list?.length === 0 && <p class="empty">{t("dead.none")}</p>}
        {list && list.length < total && <p class="empty"><button type="button" onClick={() => setPages(pages + 1)}>{t("alerts.more")}</button></p>}
      </div>
      {discarding && <Sure title={t("dead.discardOf", { subject: discarding.subject })} about={t("dead.discardAbout")} now={t("dead.discard")} act={() => discard(discarding)} onClose={() => setDiscarding(undefined)} />}
    </>
  );
}
