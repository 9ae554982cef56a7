import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { del, post, problemText, refused } from "../api";
import { clock, decimal, when } from "../format";
import { href } from "../route";
import { may } from "../session";
import { word } from "../strings";
import { Icon, narrowed, notify, useRepeat } from "../ui";
import { CommandForm, EmergencyStop, Outcome, Twice, cancel, typeText, type Sent } from "./devicecommand";
import { commandsOf, pending, type Record, type Status } from "./devicestore";
import { t } from "./devicetexts";

export const safetyText = (s: Status): string => {
  if (s.device.emergencyStopLatched) return t("devices.latched");
  const stop = s.telemetry?.emergencyStop ?? "None";
  return stop === "None" ? t("devices.clear") : word("devices.stop", stop);
};
export const placeText = (s: Status): string => {
  const p = s.telemetry?.position;
  return p ? t("devices.at", { x: decimal(p.x!, 1), y: decimal(p.y!, 1) }) : "–";
};

const parametersText = (r: Record): string => Object.entries(r.parameters ?? {}).map(([k, v]) => `${k} ${typeof v === "number" ? decimal(v) : typeof v === "string" ? v : JSON.stringify(v)}`).join(", ");

function Commands({ list, more, onMore }: { list?: Record[]; more: boolean; onMore: () => void }) {
  const [open, setOpen] = useState<string>();
  return (
    <>
      {narrowed.value ? <h2>{t("devices.history")}</h2> : <h3>{t("devices.history")}</h3>}
      <table class="plain wide commands">
        <thead><tr><th>{t("time")}</th><th>{t("devices.command")}</th><th>{t("devices.outcome")}</th><th>{t("devices.by")}</th></tr></thead>
        <tbody>
          {list?.map((r) => (
            <Fragment key={r.commandId}>
              <tr>
                <th scope="row"><button type="button" class="expand figure" aria-expanded={open === r.commandId} onClick={() => setOpen(open === r.commandId ? undefined : r.commandId)}>{when(r.issuedAt)}</button></th>
                <td data-label={t("devices.command")}>{typeText(r.commandType)}</td>
                <td data-label={t("devices.outcome")} class="because">{word("devices.phase", r.state)}</td>
                <td data-label={t("devices.by")}>{r.issuedBy}</td>
              </tr>
              {open === r.commandId && (
                <tr class="beneath"><td colSpan={4}>
                  <p>{parametersText(r)}</p>
                  {!pending(r) && <p>{r.decision?.reason || r.result?.message}</p>}
                  {r.result?.completedAt && <p class="quiet">{when(r.result.completedAt)}</p>}
                  {r.decision?.verdicts.map((v) => <p key={v.policy} class="quiet">{v.policy}: {v.figures.map((f) => `${f.name} ${decimal(f.value, 2)} ${f.unit ?? ""}`).join(", ")} {v.reason}</p>)}
                  {pending(r) && may("Operator") && <Twice first={t("devices.cancel")} second={t("devices.cancelSure")} act={() => cancel(r).then(() => notify(t("devices.canceled")))} />}
                </td></tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
      {list?.length === 0 && <p class="quiet">{t("devices.noHistory")}</p>}
      {more && <p class="empty"><button type="button" onClick={onMore}>{t("devices.more")}</button></p>}
    </>
  );
}

export function DeviceDetail({ s, sent, tell }: { s: Status; sent?: Sent; tell: (s: Sent) => void }) {
  const id = s.device.deviceId, d = s.device, x = s.telemetry;
  const [list, setList] = useState<Record[]>();
  const [older, setOlder] = useState<Record[]>([]);
  const [next, setNext] = useState<string>();
  const [error, setError] = useState<unknown>();
  const record = sent && list?.find((r) => r.commandId === sent.id);
  const following = !!sent && !refused(sent.error) && (!record || pending(record));
  const read = () => void commandsOf(id, 20).then((a) => {
    setList(a.commands);
    setNext((n) => n ?? a.next);
    setError(undefined);
  }, setError);
  useRepeat(read, following ? 700 : 4000, [following, sent?.answered, d.currentState]);
  const more = () => void commandsOf(id, 50, next).then((a) => { setOlder([...older, ...a.commands]); setNext(a.next ?? ""); }, setError);
  const [now, tick] = useState(Date.now());
  useEffect(() => { const timer = setInterval(() => tick(Date.now()), 1000); return () => clearInterval(timer); }, []);
  const own = `/api/v1/devices/${encodeURIComponent(id)}`;
  const running = list?.find((r) => pending(r) && r.path);
  const known = new Set(list?.map((r) => r.commandId));
  const p = x?.position;
  const speed = x?.velocity ? Math.hypot(x.velocity.x ?? 0, x.velocity.y ?? 0) : undefined;
  void now;
  return (
    <section class="panel fill detail" aria-labelledby="device-title">
      <header>
        <a class="icon-button" href={href("devices")} aria-label={t("devices.back")}><Icon name="back" /></a>
        {narrowed.value ? <h1 id="device-title">{d.name}</h1> : <h2 id="device-title">{d.name}</h2>}
        <EmergencyStop s={s} tell={tell} />
      </header>
      <div class="body" tabIndex={0} role="group" aria-labelledby="device-title">
        {d.description && <p class="about">{d.description}</p>}
        {sent && <Outcome sent={sent} record={record} />}
        <dl>
          <dt>{t("state")}</dt><dd><span class={`state${d.currentState === "Error" || d.currentState === "Offline" ? " off" : ""}`}>{word("device", d.currentState)}</span></dd>
          <dt>{t("devices.safety")}</dt><dd>{d.emergencyStopLatched || (x && x.emergencyStop !== "None") ? <b>{safetyText(s)}</b> : safetyText(s)}</dd>
          <dt>{t("devices.battery")}</dt><dd class="figure">{x?.battery == null ? "–" : `${decimal(x.battery, 0)} %`}{x?.charging ? ` · ${t("devices.charging")}` : ""}</dd>
          <dt>{t("devices.position")}</dt><dd class="figure">{placeText(s)}{p?.map ? ` · ${p.map}` : ""}</dd>
          {p?.theta !== undefined && <><dt>{t("devices.headingName")}</dt><dd class="figure">{t("devices.heading", { deg: decimal((p.theta * 180) / Math.PI, 0) })}</dd></>}
          {speed !== undefined && <><dt>{t("devices.speed")}</dt><dd class="figure">{decimal(speed, 1)} m/s{running?.path ? ` · ${t("devices.route", { x: decimal(running.path.toX, 1), y: decimal(running.path.toY, 1) })}` : ""}</dd></>}
          <dt>{t("devices.faults")}</dt><dd>{x?.faults.length ? x.faults.join(" · ") : t("devices.noFaults")}</dd>
          {x && x.loads.length > 0 && <><dt>{t("devices.loads")}</dt><dd>{x.loads.join(", ")}</dd></>}
          <dt>{t("devices.age")}</dt><dd class="figure">{x ? clock(new Date(x.receivedAt)) : "–"}</dd>
        </dl>
        <CommandForm key={id} s={s} tell={tell} />
        {may("Operator") && (
          <p>{d.currentState === "Maintenance"
            ? <Twice first={t("devices.maintenanceEnd")} second={t("devices.maintenanceEndSure")} act={() => del(`${own}/maintenance`)} />
            : <Twice first={t("devices.maintenance")} second={t("devices.maintenanceSure")} act={() => post(`${own}/maintenance`)} />}</p>
        )}
        {may("Operator") && <p class="quiet">{t("devices.estopAbout")}</p>}
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <Commands list={list && [...list, ...older.filter((r) => !known.has(r.commandId))]} more={!!next} onMore={more} />
      </div>
    </section>
  );
}
