import { useState } from "preact/hooks";
import { post, problemText, type Alarm } from "./api";
import { count } from "./format";
import { t } from "./strings";
import { Dialog, Mark, notify, phone } from "./ui";

export function AcknowledgeDialog({ list, onClose, onDone }: { list: Alarm[]; onClose: () => void; onDone: (comment: string) => void }) {
  const [comment, setComment] = useState("");
  return (
    <Dialog title={t("ack.title", { n: count(list.length) })} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => { e.preventDefault(); onDone(comment.trim()); }}>
        <ul class="urgent chosenlist" tabIndex={0} aria-label={t("alarms")}>
          {list.map((a) => <li key={a.id}><Mark severity={a.severity} /><b>{a.source}</b><span>{a.message}</span></li>)}
        </ul>
        <label>{t("comment.optional")}<textarea rows={3} maxLength={4096} value={comment} onInput={(e) => setComment(e.currentTarget.value)} /></label>
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" title={t("ack.keys")} aria-keyshortcuts="Control+Enter" autofocus={phone.value}>{t("ack")}</button></footer>
      </form>
    </Dialog>
  );
}

export function CommentDialog({ a, onClose, onDone }: { a: Alarm; onClose: () => void; onDone: () => void }) {
  const [comment, setComment] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      await post(`/api/v1/alarms/${encodeURIComponent(a.id)}/comment`, { comment: comment.trim() });
      notify(t("comment.done"));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("comment.add")} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <ul class="urgent"><li><Mark severity={a.severity} /><b>{a.source}</b><span>{a.message}</span></li></ul>
        <label>{t("comment")}<textarea rows={3} required maxLength={4096} value={comment} onInput={(e) => setComment(e.currentTarget.value)} /></label>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" disabled={busy}>{t("save")}</button></footer>
      </form>
    </Dialog>
  );
}

const times = [15, 60, 240, 480, 1440];

export function ShelveDialog({ a, onClose, onDone }: { a: Alarm; onClose: () => void; onDone: () => void }) {
  const [minutes, setMinutes] = useState(60);
  const [comment, setComment] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      await post(`/api/v1/alarms/${a.code}/shelve`, { minutes, ...(comment.trim() ? { comment: comment.trim() } : {}) });
      notify(t("shelve.done", { source: a.source }));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("shelve.title")} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <ul class="urgent"><li><Mark severity={a.severity} /><b>{a.source}</b><span>{a.message}</span></li></ul>
        <p class="quiet">{t("shelve.about")}</p>
        <label>{t("shelve.for")}
          <select value={minutes} onChange={(e) => setMinutes(Number(e.currentTarget.value))}>{times.map((m) => <option key={m} value={m}>{t(`minutes.${m}` as "minutes.15")}</option>)}</select>
        </label>
        <label>{t("comment.optional")}<textarea rows={2} maxLength={4096} value={comment} onInput={(e) => setComment(e.currentTarget.value)} /></label>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" disabled={busy}>{t("shelve")}</button></footer>
      </form>
    </Dialog>
  );
}
