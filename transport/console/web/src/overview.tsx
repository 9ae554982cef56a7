import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { alarms, changed, compare, flood, loaded, needsAck, severities, stateOf, summary } from "./alarmstore";
import { get, problemText, type Analytics, type Device, type TrendPoint } from "./api";
import type { Plot } from "./chart";
import { drivers, DriverState, StateMark } from "./drivers";
import { engines, EngineState } from "./engines";
import { count, decimal, natural, when } from "./format";
import { theme } from "./frame";
import { polled, type Polled } from "./poll";
import { href } from "./route";
import { language, t, word } from "./strings";
import { Mark, useRepeat } from "./ui";
import type { components } from "./api.gen";

type Bridge = components["schemas"]["BridgeBindingStatus"];
const bridges = polled(() => get<Bridge[]>("/api/discovery/bindings"));
const devices = polled(() => get<Device[]>("/api/v1/devices"));
const analytics = polled(() => get<Analytics>("/api/v1/alarms/analytics"));
const trendOfAlarms = polled(() => get<TrendPoint[]>("/api/v1/alarms/trend"));

function Tile({ label, figure, unit, beside, warn, to }: { label: string; figure: string; unit?: string; beside: string; warn?: boolean; to: string }) {
  return (
    <a class={`tile${warn ? " warn" : ""}`} href={to}>
      <span class="label">{label}</span>
      <b>{figure}{unit && <small>{unit}</small>}</b>
      <span class="beside">{beside}</span>
    </a>
  );
}

function Panel({ id, title, beside, children, of }: { id: string; title: string; beside?: ComponentChildren; children: ComponentChildren; of?: Polled<unknown> }) {
  const error = of?.error.value;
  return (
    <section class={`panel ${id}`} aria-labelledby={`${id}-title`}>
      <header><h2 id={`${id}-title`}>{title}</h2><span class="spring" />{beside}</header>
      {error ? <p class="error">{problemText(error)} {of!.at.value ? t("asOf", { time: when(of!.at.value) }) : ""}</p> : null}
      {error && !of!.at.value ? null : children}
    </section>
  );
}

function Urgent() {
  void changed.value;
  const list = [...alarms.values()].filter(needsAck).sort(compare).slice(0, 12);
  if (!loaded.value) return <p class="empty">{t("loading")}</p>;
  if (list.length === 0) return <p class="empty">{t("alarmbar.none")}</p>;
  return (
    <ul class="urgent">
      {list.map((a) => (
        <li key={a.id}>
          <a href={href("alarms", "active", a.id)}>
            <Mark severity={a.severity} />
            <time>{when(a.triggeredAt)}</time>
            <b>{a.source}</b>
            <span>{a.message}</span>
            {stateOf(a) === "ReturnedUnacknowledged" && <em>{word("state", "ReturnedUnacknowledged")}</em>}
          </a>
        </li>
      ))}
    </ul>
  );
}

const manageable = 12; // alarms an hour of one operator, EEMUA 191

function Rate() {
  const host = useRef<HTMLDivElement>(null);
  const points = trendOfAlarms.data.value;
  useEffect(() => {
    if (!points || !host.current) return;
    let plot: Plot | undefined, gone = false;
    const e = host.current;
    void import("./chart").then(({ bars }) => {
      if (gone) return;
      plot = bars(e, [points.map((p) => Date.parse(p.hour) / 1000), points.map((p) => p.totalCount)], { at: manageable, name: t("overview.manageable", { n: manageable }) });
    });
    return () => { gone = true; plot?.destroy(); };
  }, [points, theme.value, language.value]);
  const sum = points?.reduce((n, p) => n + p.totalCount, 0) ?? 0;
  return <div class="plot" ref={host} role="img" aria-label={t("overview.rateText", { n: count(sum) })} />;
}

export function Overview() {
  useRepeat(() => { void drivers.read(); void engines.read(); }, 5000);
  useRepeat(() => { void bridges.read(); void devices.read(); }, 15_000);
  useRepeat(() => { void analytics.read(); void trendOfAlarms.read(); }, 60_000);
  const d = drivers.data.value, b = bridges.data.value, v = devices.data.value, a = analytics.data.value, s = summary.value;
  const online = d?.filter((x) => x.state === "Online").length ?? 0;
  const enabled = d?.filter((x) => x.enabled !== false).length ?? 0;
  const up = b?.filter((x) => x.isOnline).length ?? 0;
  const working = v?.filter((x) => !["Offline", "Error", "Unknown"].includes(x.currentState)).length ?? 0;
  const unacknowledged = severities.reduce((n, x) => n + s.unacknowledged[x], 0);
  const active = severities.reduce((n, x) => n + s.active[x], 0);
  const samples = d?.reduce((n, x) => n + x.samplesPerSecond, 0);
  const tags = d?.reduce((n, x) => n + x.tagCount, 0);
  const none = "–";
  const idle = engines.data.value?.unassignedCount;
  const plant = engines.data.value?.engines ?? [];
  const order = d ? [...d].sort((x, y) => Number(x.state === "Online") - Number(y.state === "Online") || (natural(x.driverId) < natural(y.driverId) ? -1 : 1)) : [];
  return (
    <div class="overview">
      <h1 class="sr">{t("overview")}</h1>
      <div class="tiles">
        <Tile label={t("overview.unacknowledged")} figure={loaded.value ? count(unacknowledged) : none} beside={t("overview.active", { n: loaded.value ? count(active) : none })} to={href("alarms")} />
        <Tile label={t("overview.perHour")} figure={a ? decimal(a.perOperatorHour, 1) : none} beside={flood.value ? t("flood") : t("overview.manageable", { n: manageable })} warn={a && !a.manageable} to={href("alarms", "history")} />
        <Tile label={t("overview.drivers")} figure={d ? count(online) : none} unit={d ? ` / ${count(enabled)}` : ""} beside={d && online < enabled ? t("overview.notOnline", { n: count(enabled - online) }) : t("overview.allOnline")} warn={!!d && online < enabled} to={href("drivers")} />
        <Tile label={t("samples")} figure={samples === undefined ? none : decimal(samples, samples < 100 ? 1 : 0)} beside={t("overview.tags", { n: tags === undefined ? none : count(tags) })} to={href("tags")} />
      </div>
      <Panel id="attention" title={t("overview.attention")} beside={<>{!!idle && <a class="flag" href={href("engines")}>{t("overview.unassigned", { n: count(idle) })}</a>}<a href={href("alarms")}>{t("overview.all")}</a></>}><Urgent /></Panel>
      <Panel id="lines" title={t("drivers")} beside={<a href={href("drivers")}>{t("overview.all")}</a>} of={drivers}>
        <div class="scroll" tabIndex={0} role="group" aria-labelledby="lines-title">
          <table class="plain">
            <thead><tr><th>{t("name")}</th><th>{t("state")}</th><th class="end">{t("tags")}</th><th class="end">{t("samples")}</th><th class="end wideonly">{t("driver.roundtrip")}</th></tr></thead>
            <tbody>
              {order.map((x) => (
                <tr key={x.driverId}><th scope="row">{x.driverId}</th><td><DriverState d={x} /></td><td class="end figure">{count(x.tagCount)}</td><td class="end figure">{decimal(x.samplesPerSecond, 1)}</td><td class="end figure wideonly">{decimal(x.roundTripMeanMs, 1)}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
      <Panel id="rate" title={t("overview.rate")} beside={a && <span class="quiet">{t("overview.peak", { n: count(a.peak), floods: count(a.floods.length) })}</span>} of={trendOfAlarms}><Rate /></Panel>
      <Panel id="field" title={t(plant.length > 1 ? "overview.plant" : "overview.field")} beside={<span class="quiet">{t("overview.fieldCount", { bridges: b ? `${count(up)}/${count(b.length)}` : none, devices: v ? `${count(working)}/${count(v.length)}` : none })}</span>} of={bridges.error.value ? bridges : devices}>
        <div class="scroll" tabIndex={0} role="group" aria-labelledby="field-title">
          <table class="plain">
            <thead><tr><th>{t("name")}</th><th>{t("overview.kind")}</th><th>{t("state")}</th><th class="end">{t("overview.seen")}</th></tr></thead>
            <tbody>
              {plant.length > 1 && plant.map((x) => <tr key={x.id}><th scope="row"><a href={href("engines")}>{x.name}</a></th><td>{t("overview.engine")}</td><td><EngineState e={x} /></td><td class="end figure">{when(Date.now() - x.lagMs)}</td></tr>)}
              {b?.map((x) => <tr key={x.bridgeId}><th scope="row"><a href={href("bridges")}>{x.bridgeId}</a></th><td>{t("overview.bridge")}</td><td><span class={`state${x.isOnline ? "" : " off"}`}><StateMark good={!!x.isOnline} />{word("driver", x.isOnline ? "Online" : "Offline")}</span></td><td class="end figure">{when(x.boundAt)}</td></tr>)}
              {v?.map((x) => {
                const bad = x.currentState === "Error" || x.currentState === "Offline" || x.currentState === "Unknown" || !!x.emergencyStopLatched;
                return <tr key={x.deviceId}><th scope="row">{x.name || x.deviceId}</th><td>{t("overview.device")}</td><td><span class={`state${bad ? " off" : ""}`}><StateMark good={!bad} />{x.emergencyStopLatched ? t("overview.estop") : word("device", x.currentState)}</span></td><td class="end figure">{when(x.lastSeen)}</td></tr>;
              })}
            </tbody>
          </table>
          {plant.length < 2 && b?.length === 0 && v?.length === 0 && <p class="empty">{t("overview.fieldNone")}</p>}
        </div>
      </Panel>
    </div>
  );
}
