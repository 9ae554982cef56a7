import { useEffect, useMemo, useState } from "preact/hooks";
import { alarms, changed, stateOf } from "../alarmstore";
import { del, getTagged, pages, post, problemText, put, refused, type Alarm } from "../api";
import type { components } from "../api.gen";
import { StateMark } from "../drivers";
import { count, decimal, natural, when } from "../format";
import { href, route } from "../route";
import { may } from "../session";
import { texts, word } from "../strings";
import { Dialog, notify, useRepeat } from "../ui";
import { RuleForm } from "./ruleform";
import type en from "./rules.en.json";

const t = texts<keyof typeof en>();
export type Rule = components["schemas"]["AlarmRule"];
export type RuleRequest = components["schemas"]["AlarmRuleRequest"];

const path = "/api/v1/alarm-rules";
const of = (id: string) => `${path}/${encodeURIComponent(id)}`;
const most = 500; // rows of the table; who has more rules filters them

/** Why a request has failed, and that its outcome is not known where that is so. */
const why = (err: unknown) => (refused(err) ? problemText(err) : t("rules.unknown", { why: problemText(err) }));

/** What a rule waits for, in short. */
function condition(r: Rule): string {
  const limit = r.limit === undefined ? "" : decimal(r.limit);
  switch (r.kind) {
    case "HighHigh": case "High": return `> ${limit}`;
    case "LowLow": case "Low": return `< ${limit}`;
    case "Deviation": return `± ${limit} · ${r.setpointTag || decimal(r.setpoint ?? 0)}`;
    case "RateOfChange": return t("rules.per", { limit, seconds: decimal((r.windowMs ?? 0) / 1000) });
    case "State": return `= ${(r.states ?? []).join(", ")}`;
    default: return "";
  }
}

/** What a rule is called: its name or the id that somebody gave it; one that has neither is told by what it waits for. */
const named = (r: Rule): string => r.name || (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(r.id) ? `${r.tagName} ${word("kind", r.kind)} ${condition(r)}`.trim() : r.id);

/** The alarms whose condition holds, by the rule that raised them. */
function useActive(): Map<string, Alarm> {
  const n = changed.value;
  return useMemo(() => {
    const found = new Map<string, Alarm>();
    for (const a of alarms.values()) if (a.ruleId && stateOf(a) !== "ReturnedUnacknowledged") found.set(a.ruleId, a);
    return found;
  }, [n]);
}

function State({ r, alarm }: { r: Rule; alarm?: Alarm }) {
  const well = r.state === "Evaluating", off = r.state === "Disabled" || !r.enabled;
  return (
    <>
      <span class={`state${well || off ? "" : " off"}`}><StateMark good={well} off={off} />{word("rule", r.state)}</span>
      {r.stateDetail && <small class="why">{r.stateDetail}</small>}
      {alarm && <small class="why"><a href={href("alarms", "active", alarm.id)}>{t("rules.alarm", { since: when(alarm.triggeredAt) })}</a></small>}
    </>
  );
}

type Opened = { kind: "add" } | { kind: "change" | "remove"; rule: Rule; etag?: string };

function ChangeDialog({ rule, etag, onClose, onDone }: { rule?: Rule; etag?: string; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (q: RuleRequest) => {
    setBusy(true);
    setError(undefined);
    try {
      const saved = rule ? await put<Rule>(of(rule.id), q, etag) : await post<Rule>(path, q);
      notify(t(rule ? "rules.changed" : "rules.added", { name: named(saved) }));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  return (
    <Dialog title={rule ? t("rules.changeNamed", { name: named(rule) }) : t("rules.add")} onClose={onClose}>
      <RuleForm rule={rule} busy={busy} error={error ? why(error) : undefined} onCancel={onClose} onSubmit={(q) => void submit(q)} />
    </Dialog>
  );
}

function RemoveDialog({ rule, etag, onClose, onDone }: { rule: Rule; etag?: string; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<unknown>();
  const submit = async (e: Event) => {
    e.preventDefault();
    try {
      await del(of(rule.id), etag);
      notify(t("rules.removed", { name: named(rule) }));
      onDone();
    } catch (err) {
      setError(err);
    }
  };
  return (
    <Dialog title={t("rules.removeNamed", { name: named(rule) })} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <p>{t("rules.removeAbout", { tag: rule.tagName })}</p>
        {error ? <p class="error" role="alert">{why(error)}</p> : null}
        <footer><span class="spring" /><button type="button" autofocus onClick={onClose}>{t("cancel")}</button><button class="strong">{t("rules.remove")}</button></footer>
      </form>
    </Dialog>
  );
}

export default function Rules() {
  const text = route.value[1] ?? "";
  const [all, setAll] = useState<Rule[]>();
  const [error, setError] = useState<unknown>();
  const [troubled, setTroubled] = useState(false);
  const [opened, setOpened] = useState<Opened>();
  const active = useActive();
  const read = (signal?: AbortSignal) => {
    const found: Rule[] = [];
    return pages<Rule>(path, {}, (x) => x.rules, (items) => found.push(...items), signal).then(
      () => { setAll(found.sort((a, b) => (natural(a.tagName + " " + a.id) < natural(b.tagName + " " + b.id) ? -1 : 1))); setError(undefined); },
      (err: unknown) => { if (!signal?.aborted) setError(err); },
    );
  };
  const many = (all?.length ?? 0) > most;
  useRepeat(() => { const end = new AbortController(); void read(end.signal); return () => end.abort(); }, many ? 60_000 : 5000, [many]);
  const [draft, setDraft] = useState(text);
  useEffect(() => setDraft(text), [text]);
  const find = (s: string) => { setDraft(s); history.replaceState(null, "", s ? href("rules", s) : href("rules")); };
  const wanted = draft.trim().toLowerCase();
  const list = (all ?? []).filter((r) => (!wanted || `${r.id}\n${r.name ?? ""}\n${r.tagName}\n${r.group ?? ""}`.toLowerCase().includes(wanted)) && (!troubled || (r.state !== "Evaluating" && r.state !== "Disabled")));
  // What is changed is the rule as it is now, and only if nobody else changes it meanwhile.
  const open = async (kind: "change" | "remove", id: string) => {
    try {
      const { value, etag } = await getTagged<Rule>(of(id));
      setOpened({ kind, rule: value, etag });
    } catch (err) {
      notify(problemText(err), true);
      void read();
    }
  };
  const close = () => setOpened(undefined);
  const done = () => { close(); void read(); };
  return (
    <section class="panel fill" aria-labelledby="rules-title">
      <header class="tools">
        <h1 id="rules-title">{t("rules")}</h1>
        <input type="search" placeholder={t("rules.find")} aria-label={t("rules.find")} value={draft} onInput={(e) => find(e.currentTarget.value)} />
        <label class="choice"><input type="checkbox" checked={troubled} onChange={(e) => setTroubled(e.currentTarget.checked)} /><span>{t("rules.troubled")}</span></label>
        <span class="quiet counted" role="status">{all ? t("rules.count", { n: count(list.length), of: count(all.length) }) : t("loading")}</span>
        {may("Admin") && <button type="button" class="primary" onClick={() => setOpened({ kind: "add" })}>{t("rules.add")}</button>}
      </header>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="rules-title">
        <table class="plain wide">
          <thead><tr><th>{t("rules.tag")}</th><th>{t("rules.rule")}</th><th>{t("rules.condition")}</th><th>{t("rules.severity")}</th><th>{t("state")}</th>{may("Admin") && <th><span class="sr">{t("rules.actions")}</span></th>}</tr></thead>
          <tbody>
            {list.slice(0, most).map((r) => (
              <tr key={r.id}>
                <th scope="row"><a href={href("tags", r.tagName)}>{r.tagName}</a></th>
                <td data-label={t("rules.rule")} title={r.id}>{named(r)}</td>
                <td data-label={t("rules.condition")}>{word("kind", r.kind)} <span class="figure">{condition(r)}</span></td>
                <td data-label={t("rules.severity")}>{word("rule.severity", r.severity)}</td>
                <td data-label={t("state")}><State r={r} alarm={active.get(r.id)} /></td>
                {may("Admin") && (
                  <td class="actions">
                    <button type="button" aria-label={t("rules.changeNamed", { name: named(r) })} onClick={() => void open("change", r.id)}>{t("rules.change")}</button>
                    <button type="button" aria-label={t("rules.removeNamed", { name: named(r) })} onClick={() => void open("remove", r.id)}>{t("rules.remove")}</button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
        {list.length > most && <p class="empty">{t("rules.more", { n: count(list.length - most) })}</p>}
        {all && list.length === 0 && <p class="empty">{t(all.length ? "rules.noMatch" : "rules.none")}</p>}
      </div>
      {opened?.kind === "add" && <ChangeDialog onClose={close} onDone={done} />}
      {opened?.kind === "change" && <ChangeDialog rule={opened.rule} etag={opened.etag} onClose={close} onDone={done} />}
      {opened?.kind === "remove" && <RemoveDialog rule={opened.rule} etag={opened.etag} onClose={close} onDone={done} />}
    </section>
  );
}
