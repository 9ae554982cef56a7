import { useEffect, useRef, useState } from "preact/hooks";
import { acknowledge } from "./alarms";
import { AcknowledgeDialog, CommentDialog, ShelveDialog } from "./alarmdialogs";
import { alarms, changed, isSuppressed, needsAck, stateOf } from "./alarmstore";
import { get, pages, post, problemText, type Alarm, type AlarmEvent, type Value } from "./api";
import { decimal, full, when } from "./format";
import { href } from "./route";
import { may } from "./session";
import { t, word } from "./strings";
import { rows } from "./tagstore";
import { Icon, Mark, narrowed, notify } from "./ui";

function figure(v: unknown): string {
  if (v === null || v === undefined) return "";
  if (typeof v === "object") {
    const x = v as NonNullable<Value>;
    return figure(x.doubleValue ?? x.int64Value ?? x.boolValue ?? x.stringValue);
  }
  if (typeof v === "boolean") return word("bool", String(v));
  return typeof v === "number" || /^-?[\d.]+(e[+-]?\d+)?$/i.test(String(v)) ? decimal(Number(v)) : String(v);
}
export const alarmFigure = (a: Alarm): string => figure(a.value);
export const alarmLimit = (a: Alarm): string => figure(a.limit);

type Dialogs = "ack" | "shelve" | "comment";

export function AlarmDetail({ id, tab }: { id: string; tab: string }) {
  void changed.value;
  const known = alarms.get(id);
  const [old, setOld] = useState<Alarm>();
  const [events, setEvents] = useState<AlarmEvent[]>();
  const [error, setError] = useState<unknown>();
  const [dialog, setDialog] = useState<Dialogs>();
  const [comments, setComments] = useState(0); // made here
  useEffect(() => { if (known) setOld(known); }, [known]);
  const a = known ?? (old ? { ...old, isActive: false } : undefined);
  const state = known ? stateOf(known) : "Normal";
  useEffect(() => {
    let gone = false;
    const found: AlarmEvent[] = [];
    pages<AlarmEvent>(`/api/v1/alarms/${encodeURIComponent(id)}/events`, {}, (x) => x.events, (items) => found.push(...items)).then(() => !gone && setEvents(found), (err: unknown) => !gone && setError(err));
    if (!known) {
      const end = new Date(Date.now() + 60_000).toISOString(), start = new Date(Date.now() - 744 * 3_600_000).toISOString();
      void get<{ alarms: Alarm[] }>("/api/v1/alarms/history", { start, end, pageSize: 500 }).then((x) => { const one = x.alarms.find((y) => y.id === id); if (!gone && one) setOld(one); }, () => undefined);
    }
    return () => void (gone = true);
  }, [id, state, comments]);

  // A button that goes with a state takes the keyboard with it.
  const body = useRef<HTMLDivElement>(null);
  const before = useRef(state);
  useEffect(() => {
    if (before.current !== state && document.activeElement === document.body) body.current?.focus();
    before.current = state;
  }, [state]);

  const act = async (what: string, done: string) => {
    if (!a) return;
    try {
      await post(`/api/v1/alarms/${a.code}/${what}`, {});
      notify(done);
    } catch (err) {
      notify(problemText(err), true);
    }
  };
  const shelved = events?.findLast((e) => e.event === "Shelved");
  const tag = a?.tagName ?? (a && rows.has(a.source) ? a.source : undefined);
  return (
    <aside class="panel fill detail" aria-labelledby="detail-title">
      <header>
        {a && <Mark severity={a.severity} dim={!needsAck(a) || !known} />}
        <h2 id="detail-title" role="heading" aria-level={narrowed.value ? 1 : 2}>{a?.source ?? t("alarm")}</h2>
        <span class="spring" />
        <a class="icon-button" href={href("alarms", tab)} aria-label={t("close")}><Icon name="close" /></a>
      </header>
      <div ref={body} class="scroll body" tabIndex={0} role="group" aria-labelledby="detail-title">
        {a && (
          <>
            <p class="lead">{a.message}</p>
            <div class="tools flat">
              {known && needsAck(known) && <button type="button" class="primary" onClick={() => setDialog("ack")}>{t("ack")}</button>}
              {known && !isSuppressed(state) && <button type="button" onClick={() => setDialog("shelve")}>{t("shelve")}</button>}
              {state === "Shelved" && <button type="button" onClick={() => void act("unshelve", t("unshelve.done"))}>{t("unshelve")}</button>}
              {state === "SuppressedByDesign" && may() && <button type="button" onClick={() => void act("unsuppress", t("unshelve.done"))}>{t("unsuppress")}</button>}
              {state === "OutOfService" && may() && <button type="button" onClick={() => void act("in-service", t("unshelve.done"))}>{t("inService")}</button>}
              {known && <button type="button" onClick={() => setDialog("comment")}>{t("comment.add")}</button>}
              {tag && <a class="button" href={href("tags", tag)}>{t("alarm.trend")}</a>}
            </div>
            {a.instructions && <div class="instructions"><h3>{t("alarm.instructions")}</h3><p>{a.instructions}</p></div>}
            <dl>
              <dt>{t("state")}</dt><dd>{word("state", state)}{state === "Shelved" && shelved?.until ? ` ${t("until", { time: when(shelved.until) })}` : ""}</dd>
              <dt>{t("priority.name")}</dt><dd>{word("severity", a.severity)}</dd>
              <dt>{t("alarm.raised")}</dt><dd>{full(new Date(a.triggeredAt))}</dd>
              {a.clearedAt && <><dt>{t("alarm.cleared")}</dt><dd>{full(new Date(a.clearedAt))}</dd></>}
              {a.acknowledgedBy && <><dt>{t("ack.by")}</dt><dd>{a.acknowledgedBy} <span class="quiet">{when(a.acknowledgedAt)}</span></dd></>}
              {alarmFigure(a) && <><dt>{t("value")}</dt><dd class="figure">{alarmFigure(a)}</dd></>}
              {alarmLimit(a) && <><dt>{t("limit")}</dt><dd class="figure">{alarmLimit(a)}</dd></>}
              {tag && <><dt>{t("tag")}</dt><dd><a href={href("tags", tag)}>{tag}</a></dd></>}
              {a.ruleId && <><dt>{t("rule")}</dt><dd><a href={href("rules", a.ruleId)}>{a.ruleId}</a></dd></>}
              {a.comment && <><dt>{t("comment")}</dt><dd>{a.comment}</dd></>}
              <dt>{t("code")}</dt><dd class="figure">{a.code}</dd>
              {Object.entries(a.labels ?? {}).filter(([k, v]) => k !== "ruleId" || v !== a.ruleId).map(([k, v]) => <><dt>{k}</dt><dd>{v}</dd></>)}
            </dl>
          </>
        )}
        <h3>{t("alarm.journal")}</h3>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <ol class="journal">
          {[...(events ?? [])].reverse().map((e, i) => (
            <li key={i}><time class="figure">{when(e.at)}</time><b>{word("event", e.event)}</b><span>{e.by}{e.comment ? ` · ${e.comment}` : ""}{e.until ? ` · ${t("until", { time: when(e.until) })}` : ""}</span></li>
          ))}
        </ol>
      </div>
      {a && dialog === "ack" && <AcknowledgeDialog list={[a]} onClose={() => setDialog(undefined)} onDone={(comment) => { setDialog(undefined); void acknowledge([a.id], comment); }} />}
      {a && dialog === "comment" && <CommentDialog a={a} onClose={() => setDialog(undefined)} onDone={() => { setDialog(undefined); setComments(comments + 1); }} />}
      {a && dialog === "shelve" && <ShelveDialog a={a} onClose={() => setDialog(undefined)} onDone={() => setDialog(undefined)} />}
    </aside>
  );
}
