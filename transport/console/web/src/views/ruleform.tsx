import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, type Tag } from "../api";
import { texts, word } from "../strings";
import type en from "./rules.en.json";
import type { Rule, RuleRequest } from "./rules";

const t = texts<keyof typeof en>();
type Kind = Rule["kind"];
const kinds: Kind[] = ["HighHigh", "High", "Low", "LowLow", "Deviation", "RateOfChange", "State", "BadQuality", "Stale"];
const severities: Rule["severity"][] = ["Critical", "Error", "Warning", "Info"];

/** Whether rules of a kind compare with a limit. */
const limited = (k: Kind) => k !== "State" && k !== "BadQuality" && k !== "Stale";

/** What is typed. Times are in seconds, states a line each. */
interface Draft {
  tag: string; name: string; kind: Kind; severity: Rule["severity"]; enabled: boolean; latching: boolean;
  limit: string; deadband: string; setpoint: string; setpointTag: string; window: string; states: string;
  onDelay: string; offDelay: string; message: string; instructions: string; group: string;
}

const text = (n: number | undefined) => (n === undefined ? "" : String(n));
const seconds = (ms: number | undefined) => (ms ? String(ms / 1000) : "");

function draftOf(r?: Rule): Draft {
  return {
    tag: r?.tagName ?? "", name: r?.name ?? "", kind: r?.kind ?? "High", severity: r?.severity ?? "Warning", enabled: r?.enabled ?? true, latching: r?.latching ?? false,
    limit: text(r?.limit), deadband: r?.deadband ? text(r.deadband) : "", setpoint: r?.setpointTag ? "" : text(r?.setpoint), setpointTag: r?.setpointTag ?? "", window: seconds(r?.windowMs), states: (r?.states ?? []).join("\n"),
    onDelay: seconds(r?.onDelayMs), offDelay: seconds(r?.offDelayMs), message: r?.message ?? "", instructions: r?.instructions ?? "", group: r?.group ?? "",
  };
}

const number = (s: string) => (s.trim() === "" ? undefined : Number(s));
const milliseconds = (s: string) => Math.round((number(s) ?? 0) * 1000);

/** The request for what is typed, without what is for other kinds. */
function requestOf(d: Draft, id?: string): RuleRequest {
  const q: RuleRequest = {
    ...(id !== undefined && { id }), tagName: d.tag.trim(), kind: d.kind, severity: d.severity, enabled: d.enabled, latching: d.latching,
    name: d.name.trim(), message: d.message, instructions: d.instructions, group: d.group.trim(), onDelayMs: milliseconds(d.onDelay), offDelayMs: milliseconds(d.offDelay),
  };
  if (limited(d.kind)) {
    q.limit = number(d.limit);
    q.deadband = number(d.deadband) ?? 0;
  }
  if (d.kind === "Deviation") {
    if (d.setpointTag.trim()) q.setpointTag = d.setpointTag.trim();
    else q.setpoint = number(d.setpoint);
  }
  if (d.kind === "RateOfChange") q.windowMs = milliseconds(d.window);
  if (d.kind === "State") q.states = d.states.split("\n").map((s) => s.trim()).filter(Boolean);
  return q;
}

/** The name of a tag. Those that have what is typed are offered. */
function TagInput({ value, onText }: { value: string; onText: (text: string) => void }) {
  const [found, setFound] = useState<string[]>([]);
  useEffect(() => {
    const control = new AbortController();
    const ask = () => void get<{ tags: Tag[] }>("/api/v1/tags", { text: value.trim(), pageSize: 20 }, control.signal).then((a) => setFound(a.tags.map((x) => x.name)), () => undefined);
    const timer = setTimeout(ask, 200);
    return () => { clearTimeout(timer); control.abort(); };
  }, [value]);
  return (
    <>
      <input value={value} required list="rule-tags" maxLength={256} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => onText(e.currentTarget.value)} />
      <datalist id="rule-tags">{found.map((name) => <option key={name} value={name} />)}</datalist>
    </>
  );
}

/** The members of a rule, those of its kind only. */
export function RuleForm({ rule, busy, error, onCancel, onSubmit }: { rule?: Rule; busy: boolean; error?: string; onCancel: () => void; onSubmit: (q: RuleRequest) => void }) {
  const [d, setDraft] = useState(() => draftOf(rule));
  const set = (change: Partial<Draft>) => setDraft({ ...d, ...change });
  const figure = (name: "limit" | "deadband" | "setpoint" | "window" | "onDelay" | "offDelay", label: string, more: { required?: boolean; min?: number; max?: number } = {}) => (
    <label>{label}<input type="number" step="any" value={d[name]} {...more} onInput={(e) => set({ [name]: e.currentTarget.value })} /></label>
  );
  const line = (name: "name" | "setpointTag" | "group", label: string) => (
    <label>{label}<input value={d[name]} maxLength={256} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => set({ [name]: e.currentTarget.value })} /></label>
  );
  const lines = (name: "states" | "message" | "instructions", label: string, required = false): ComponentChildren => (
    <label>{label}<textarea rows={2} value={d[name]} required={required} maxLength={4096} onInput={(e) => set({ [name]: e.currentTarget.value })} /></label>
  );
  return (
    <form method="dialog" class="rule" autocomplete="off" onSubmit={(e) => { e.preventDefault(); onSubmit(requestOf(d, rule?.id)); }}>
      <label>{t("rules.tag")}<TagInput value={d.tag} onText={(tag) => set({ tag })} /></label>
      {line("name", t("rules.name"))}
      <label>{t("rules.kind")}<select value={d.kind} onChange={(e) => set({ kind: e.currentTarget.value as Kind })}>{kinds.map((k) => <option key={k} value={k}>{word("kind", k)}</option>)}</select></label>
      <label>{t("rules.severity")}<select value={d.severity} onChange={(e) => set({ severity: e.currentTarget.value as Rule["severity"] })}>{severities.map((s) => <option key={s} value={s}>{word("rule.severity", s)}</option>)}</select></label>
      {limited(d.kind) && figure("limit", t("rules.limit"), { required: true })}
      {limited(d.kind) && figure("deadband", t("rules.deadband"), { min: 0 })}
      {d.kind === "Deviation" && figure("setpoint", t("rules.setpoint"), { required: !d.setpointTag })}
      {d.kind === "Deviation" && line("setpointTag", t("rules.setpointTag"))}
      {d.kind === "RateOfChange" && figure("window", t("rules.window"), { required: true, min: 1, max: 86400 })}
      {d.kind === "State" && lines("states", t("rules.states"), true)}
      {figure("onDelay", t("rules.onDelay"), { min: 0, max: 86400 })}
      {figure("offDelay", t("rules.offDelay"), { min: 0, max: 86400 })}
      {lines("message", t("rules.message"))}
      {lines("instructions", t("rules.instructions"))}
      {line("group", t("rules.group"))}
      <label class="choice"><span>{t("rules.latching")}</span><input type="checkbox" checked={d.latching} onChange={(e) => set({ latching: e.currentTarget.checked })} /></label>
      <label class="choice"><span>{t("rules.enabled")}</span><input type="checkbox" checked={d.enabled} onChange={(e) => set({ enabled: e.currentTarget.checked })} /></label>
      {rule && <p class="quiet">{t("rules.changeAbout")}</p>}
      {error ? <p class="error" role="alert">{error}</p> : null}
      <footer><span class="spring" /><button type="button" onClick={onCancel}>{t("cancel")}</button><button class="primary" disabled={busy}>{t("save")}</button></footer>
    </form>
  );
}
