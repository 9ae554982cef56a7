import { useEffect, useMemo, useState } from "preact/hooks";
import { problemText } from "../api";
import { count, decimal, natural } from "../format";
import { go, href, route } from "../route";
import { word } from "../strings";
import { useRepeat } from "../ui";
import { EmergencyStop, type Sent } from "./devicecommand";
import { DeviceDetail, placeText, safetyText } from "./devicedetail";
import { DeviceMap } from "./devicemap";
import { commandsOf, devices, failure, follow, pending, stale, zonesOf, type Record, type Status, type Zone } from "./devicestore";
import { t } from "./devicetexts";

const drawn = 20; // devices whose ways are asked for

/** The ways that the devices which work have reserved. */
function useRoutes(list: Status[], chosen?: string): Record[] {
  const [routes, setRoutes] = useState<Record[]>([]);
  const ids = list.filter((s) => s.device.currentState === "Working" || s.device.deviceId === chosen).sort((a) => (a.device.deviceId === chosen ? -1 : 1)).slice(0, drawn).map((s) => s.device.deviceId);
  useRepeat(() => void Promise.all(ids.map((id) => commandsOf(id, 5).then((a) => a.commands.filter((r) => pending(r) && r.path && r.state === "Running"), () => []))).then((all) => setRoutes(all.flat())), 2500, [ids.join("\n")]);
  return routes;
}

function List({ list, chosen, tell }: { list: Status[]; chosen?: string; tell: (device: string) => (s: Sent) => void }) {
  const [shown, setShown] = useState(100);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={t("devices.list")}>
      <table class="plain wide">
        <thead><tr><th>{t("name")}</th><th>{t("state")}</th><th class="end">{t("devices.battery")}</th><th>{t("devices.position")}</th><th>{t("devices.safety")}</th><th>{t("devices.faults")}</th><th><span class="sr">{t("devices.estop")}</span></th></tr></thead>
        <tbody>
          {list.slice(0, shown).map((s) => (
            <tr key={s.device.deviceId}>
              <th scope="row"><a href={href("devices", s.device.deviceId)} aria-current={s.device.deviceId === chosen ? "true" : undefined}>{s.device.name}</a></th>
              <td data-label={t("state")}><span class={`state${s.device.currentState === "Error" || s.device.currentState === "Offline" ? " off" : ""}`}>{word("device", s.device.currentState)}</span></td>
              <td class="end figure" data-label={t("devices.battery")}>{s.telemetry?.battery == null ? "–" : `${decimal(s.telemetry.battery, 0)} %`}</td>
              <td class="figure" data-label={t("devices.position")}>{placeText(s)}</td>
              <td data-label={t("devices.safety")}>{safetyText(s)}</td>
              <td data-label={t("devices.faults")}>{s.telemetry?.faults.length ? s.telemetry.faults[0] : "–"}</td>
              <td class="actions"><EmergencyStop s={s} short tell={tell(s.device.deviceId)} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {list.length > shown && <p class="empty"><button type="button" onClick={() => setShown(shown + 100)}>{t("devices.more")}</button></p>}
      {list.length === 0 && <p class="empty">{t("devices.none")}</p>}
    </div>
  );
}

export default function Devices() {
  useEffect(follow, []);
  const id = route.value[1];
  const [zones, setZones] = useState<Zone[]>([]);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const control = new AbortController();
    zonesOf(control.signal).then(setZones, (err: unknown) => control.signal.aborted || setError(err));
    return () => control.abort();
  }, []);
  const all = devices.value;
  const list = useMemo(() => [...(all?.values() ?? [])].sort((a, b) => (natural(a.device.name) < natural(b.device.name) ? -1 : 1)), [all]);
  const reported = list.map((s) => s.telemetry?.position && (s.telemetry.position.map ?? "")).filter((m): m is string => m !== undefined && m !== null);
  const maps = [...new Set([...reported.sort(), ...zones.map((z) => z.map).sort()])]; // those with devices first
  const one = id ? all?.get(id) : undefined;
  const [picked, setPicked] = useState<string>();
  const map = picked !== undefined && maps.includes(picked) ? picked : one?.telemetry?.position?.map ?? maps[0] ?? "";
  const routes = useRoutes(list, id);
  const [sent, setSent] = useState<{ [device: string]: Sent }>({});
  const tell = (device: string) => (x: Sent) => setSent((before) => ({ ...before, [device]: x }));
  // A device that is stopped from the list is opened: there its stop is followed to the end.
  const stopped = (device: string) => (x: Sent) => { tell(device)(x); if (route.peek()[1] !== device) go("devices", device); };
  return (
    <div class={`devices${id ? " split" : ""}`}>
      <section class="panel mapped" aria-labelledby="devices-title">
        <header class="tools">
          <h1 id="devices-title">{t("devices")}</h1>
          {maps.length > 1 && <select aria-label={t("devices.map")} value={map} onChange={(e) => setPicked(e.currentTarget.value)}>{maps.map((m) => <option key={m} value={m}>{m || "–"}</option>)}</select>}
          <span class="quiet counted" role="status">{all ? t("devices.count", { n: count(list.length) }) : t("loading")}</span>
        </header>
        {stale.value && all && <p class="error" role="alert">{t("devices.lost")}</p>}
        {failure.value ? <p class="error" role="alert">{problemText(failure.value)}</p> : null}
        {error ? <p class="error" role="alert">{t("devices.noZones")} {problemText(error)}</p> : null}
        <DeviceMap map={map} zones={zones} list={list} routes={routes} chosen={id} onChoose={(d) => go("devices", d)} />
      </section>
      <div class="panel listed">
        <List list={list} chosen={id} tell={stopped} />
      </div>
      {id && (one
        ? <DeviceDetail key={id} s={one} sent={sent[id]} tell={tell(id)} />
        : <section class="panel detail"><p class="missing">{all ? t("devices.missing") : t("loading")} <a href={href("devices")}>{t("devices.back")}</a></p></section>)}
    </div>
  );
}
