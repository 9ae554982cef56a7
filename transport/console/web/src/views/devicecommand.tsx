import { useState } from "preact/hooks";
import { post, problemText, refused } from "../api";
import { may } from "../session";
import { word } from "../strings";
import { notify } from "../ui";
import { commandID, type Record, type Status } from "./devicestore";
import { t } from "./devicetexts";

const types = ["MoveTo", "PickUp", "Release", "ResetEmergencyStop", "other"] as const;
type Type = (typeof types)[number];

export const typeText = (type: string): string => word("devices.type", type);

/** What is sent, and how it went until the list of commands knows it. */
export interface Sent { id: string; type: string; error?: unknown; answered?: boolean }

const commands = (id: string) => `/api/v1/devices/${encodeURIComponent(id)}/commands`;

/** Sends a command; the answer may take seconds, while the list of commands has its state already. */
export async function send(device: string, type: string, parameters: object, tell: (s: Sent) => void): Promise<void> {
  const id = commandID();
  tell({ id, type });
  try {
    await post(commands(device), { commandId: id, deviceId: device, commandType: type, parameters });
    tell({ id, type, answered: true });
  } catch (error) {
    tell({ id, type, error });
  }
}

/** Stops a device at once: without a second step, and where no dialog hides it. */
export function EmergencyStop({ s, tell, short }: { s: Status; tell: (s: Sent) => void; short?: boolean }) {
  if (!may("Operator") || s.device.currentState === "Decommissioned") return null;
  return <button type="button" class="estop" title={t("devices.estopAbout")} aria-label={t("devices.estopOf", { name: s.device.name })} onClick={() => void send(s.device.deviceId, "EmergencyStop", {}, tell)}>{t(short ? "devices.estopShort" : "devices.estop")}</button>;
}

const empty = { x: "", y: "", theta: "", speed: "", target: "", name: "", json: "" };

/** Gives a device a command in two steps. It is a part of the page, because a dialog would hide the emergency stop. */
export function CommandForm({ s, tell }: { s: Status; tell: (s: Sent) => void }) {
  const [type, setType] = useState<Type>("MoveTo");
  const [f, setF] = useState(empty);
  const [sure, setSure] = useState(false);
  const [wrong, setWrong] = useState("");
  if (!may("Operator")) return <p class="quiet">{t("devices.viewer")}</p>;
  const parameters = (): { [name: string]: unknown } | undefined => {
    if (type === "MoveTo") return { x: Number(f.x), y: Number(f.y), ...(f.theta ? { theta: (Number(f.theta) * Math.PI) / 180 } : {}), ...(f.speed ? { speed: Number(f.speed) } : {}) };
    if (type === "PickUp" || type === "Release") return f.target.trim() ? { target: f.target.trim() } : {};
    if (type !== "other" || !f.json.trim()) return {};
    try {
      const v: unknown = JSON.parse(f.json);
      if (v && typeof v === "object" && !Array.isArray(v)) return v as { [name: string]: unknown };
    } catch { /* told below */ }
    return undefined;
  };
  const submit = (e: Event) => {
    e.preventDefault();
    const p = parameters();
    setWrong(p ? "" : t("devices.notJSON"));
    if (!p) return;
    if (!sure) return setSure(true);
    setSure(false);
    void send(s.device.deviceId, type === "other" ? f.name.trim() : type, p, tell);
  };
  const field = (name: keyof typeof empty, label: string, number: boolean, required = false) => (
    <label>{label}<input type={number ? "number" : "text"} step="any" min={name === "speed" ? 0 : undefined} required={required} disabled={sure} maxLength={name === "name" ? 64 : 500} autocomplete="off" value={f[name]} onInput={(e) => setF({ ...f, [name]: e.currentTarget.value })} /></label>
  );
  return (
    <form class="commanding" aria-label={t("devices.command")} onSubmit={submit}>
      <label>{t("devices.command")}
        <select value={type} disabled={sure} onChange={(e) => setType(e.currentTarget.value as Type)}>{types.filter((n) => n !== "ResetEmergencyStop" || may("Admin")).map((n) => <option key={n} value={n}>{typeText(n)}</option>)}</select>
      </label>
      <div class="fields">
        {type === "MoveTo" && <>{field("x", t("devices.x"), true, true)}{field("y", t("devices.y"), true, true)}{field("theta", t("devices.theta"), true)}{field("speed", t("devices.limit"), true)}</>}
        {(type === "PickUp" || type === "Release") && field("target", t("devices.target"), false)}
        {type === "other" && <>{field("name", t("devices.name"), false, true)}{field("json", t("devices.parameters"), false)}</>}
      </div>
      <p class="error" role="alert">{wrong}</p>
      {sure && <p class="say">{t("devices.sure", { name: s.device.name })}</p>}
      <footer>
        {sure ? <><button class="primary">{t("devices.send")}</button><button type="button" onClick={() => setSure(false)}>{t("back")}</button></> : <button>{t("devices.review")}</button>}
      </footer>
    </form>
  );
}

/** What became of the command that was sent last, to its end. */
export function Outcome({ sent, record }: { sent: Sent; record?: Record }) {
  const state = record?.state;
  const error = state ? undefined : sent.error; // the list of commands knows better than a connection that broke
  const bad = !!error || (state && ["Failed", "Refused", "TimedOut", "Lost"].includes(state));
  const text = error ? problemText(error) : record?.decision?.reason || (state === "Queued" || state === "Running" ? "" : record?.result?.message) || "";
  return (
    <div class={`outcome${bad ? " bad" : ""}`} role={bad ? "alert" : "status"}>
      <b>{typeText(sent.type)}: {error ? t(refused(error) ? "devices.refused" : "devices.unknown") : state ? word("devices.phase", state) : t("devices.sent")}</b>
      {text && <span>{text}</span>}
    </div>
  );
}

/** A button that is pressed twice. */
export function Twice({ first, second, act }: { first: string; second: string; act: () => Promise<unknown> }) {
  const [sure, setSure] = useState(false);
  const press = async () => {
    if (!sure) return setSure(true);
    setSure(false);
    await act().catch((err) => notify(problemText(err), true));
  };
  return <button type="button" class={sure ? "strong" : ""} onClick={() => void press()} onBlur={() => setSure(false)}>{sure ? second : first}</button>;
}

export const cancel = (r: Record) => post(`${commands(r.deviceId)}/${encodeURIComponent(r.commandId)}/cancel`);
