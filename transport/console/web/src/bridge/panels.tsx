import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { problemText } from "../api";
import { count, decimal, when } from "../format";
import { word } from "../strings";
import { admin, call, type Check, type Monitoring, type Status } from "./api";
import { t } from "./texts";

export function Panel({ id, title, children }: { id: string; title: string; children: ComponentChildren }) {
  return (
    <section class={`panel ${id}`} aria-labelledby={`${id}-title`}>
      <header><h2 id={`${id}-title`}>{title}</h2></header>
      <div class="body">{children}</div>
    </section>
  );
}

/** A state by shape, text and weight. */
function State({ good, text }: { good: boolean; text: string }) {
  return (
    <span class={`state${good ? "" : " off"}`}>
      <svg class="smark" viewBox="0 0 12 12" aria-hidden="true">{good ? <circle class="fill" cx="6" cy="6" r="5" /> : <path d="M2 2 10 10M10 2 2 10" />}</svg>
      {text}
    </span>
  );
}

function Facts({ list }: { list: [string, ComponentChildren][] }) {
  return <dl>{list.map(([name, value]) => <><dt>{name}</dt><dd>{value}</dd></>)}</dl>;
}

const detail = (c: Check | undefined) => c && c.status !== "Healthy" && <p class="say">{c.description}</p>;

/** Releases the binding, in two steps: the engine loses its tags. */
function Release({ engine, changed }: { engine: string; changed: () => void }) {
  const [asked, ask] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const release = async () => {
    setBusy(true);
    setError("");
    try {
      await call("DELETE", "/api/bridge/bind");
      ask(false);
      changed();
    } catch (err) {
      setError(problemText(err));
    } finally {
      setBusy(false);
    }
  };
  if (!asked) return <p class="act"><button type="button" onClick={() => ask(true)}>{t("b.release")}</button></p>;
  return (
    <div class="act" role="group" aria-label={t("b.release")}>
      <p>{t("b.release.sure", { engine })}</p>
      {error && <p class="error" role="alert">{error}</p>}
      <button type="button" class="primary" disabled={busy} onClick={() => void release()}>{t("b.release.now")}</button>
      <button type="button" disabled={busy} onClick={() => ask(false)}>{t("cancel")}</button>
    </div>
  );
}

export function Binding({ status, link, check, changed }: { status?: Status; link?: Monitoring["link"]; check?: Check; changed: () => void }) {
  if (!status) return <Panel id="binding" title={t("b.binding")}><p class="quiet">{t("loading")}</p></Panel>;
  const facts: [string, ComponentChildren][] = [
    [t("b.bridge"), status.bridgeId],
    [t("state"), <State good={status.status === "bound"} text={word("b.status", status.status)} />],
  ];
  if (status.boundEngineId) facts.push([t("b.engine"), status.boundEngineId]);
  if (status.status === "bound") facts.push([t("b.link"), <State good={check?.status === "Healthy"} text={check?.status === "Healthy" ? t("b.link.open") : t("b.link.closed")} />]);
  if (link?.engineUrl) facts.push([t("b.engineUrl"), link.engineUrl]);
  if (link?.since) facts.push([t("b.since"), when(link.since)]);
  facts.push([t("b.version"), status.version]);
  return (
    <Panel id="binding" title={t("b.binding")}>
      <Facts list={facts} />
      {link?.lastError && <p class="say">{link.lastError}</p>}
      {status.status === "free" && (
        <div class="next">
          <p>{t("b.bind.how")}</p>
          <pre>{`otctl bridges bind ${status.bridgeId} ${location.origin}`}</pre>
        </div>
      )}
      {status.status === "bound" && admin() && <Release engine={status.boundEngineId ?? ""} changed={changed} />}
    </Panel>
  );
}

export function Driver({ status, driver, check }: { status?: Status; driver?: Monitoring["driver"]; check?: Check }) {
  if (!status) return null;
  const facts: [string, ComponentChildren][] = [[t("name"), status.driverId], [t("driver.type"), status.driverType]];
  if (driver) {
    facts.push([t("state"), <State good={driver.state === "Online"} text={word("driver", driver.state)} />], [t("tags"), count(driver.tags)],
      [t("samples"), decimal(driver.samplesPerSecond, 1)]);
    if (driver.lastDataAt) facts.push([t("b.lastData"), when(driver.lastDataAt)]);
    facts.push([t("driver.lastError"), driver.lastError ? `${driver.lastError} (${when(driver.lastErrorAt)})` : t("driver.noError")]);
  }
  return <Panel id="driver" title={t("b.driver")}><Facts list={facts} />{detail(check)}</Panel>;
}

const megabytes = (n: number) => decimal(n / (1 << 20), 1);

export function Waiting({ buffer, check }: { buffer?: Monitoring["buffer"]; check?: Check }) {
  if (!buffer) return <Panel id="buffer" title={t("b.buffer")}><p class={check && check.status !== "Healthy" ? "say" : ""}>{check?.description ?? t("loading")}</p></Panel>;
  const facts: [string, ComponentChildren][] = [
    [t("b.waiting"), count(buffer.count)],
    [t("b.lag"), buffer.lagSeconds < 1 ? t("b.lag.none") : t("b.seconds", { n: count(Math.round(buffer.lagSeconds)) })],
    [t("b.dropped"), buffer.dropped > 0 ? <b>{count(buffer.dropped)}</b> : count(0)],
    [t("b.size"), buffer.enabled ? t("b.size.of", { used: megabytes(buffer.bytes), most: megabytes(buffer.maxBytes) }) : t("b.memory")],
    [t("b.keeps"), t("b.hours", { n: count(Math.round(buffer.ttlHours)) })],
  ];
  const used = buffer.maxBytes > 0 ? Math.min(1, buffer.bytes / buffer.maxBytes) : 0;
  return (
    <Panel id="buffer" title={t("b.buffer")}>
      <meter min={0} max={1} value={used} aria-label={t("b.size")} />
      <Facts list={facts} />
      {buffer.problem && <p class="say">{buffer.problem}</p>}
    </Panel>
  );
}

/** What /health finds, which everybody may read. */
export function Checks({ checks }: { checks?: Record<string, Check> }) {
  if (!checks) return null;
  return (
    <Panel id="checks" title={t("b.checks")}>
      <ul>
        {Object.entries(checks).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, c]) => (
          <li key={name}><State good={c.status === "Healthy"} text={word("b.health", c.status)} /><b>{name}</b><span>{c.description}</span></li>
        ))}
      </ul>
    </Panel>
  );
}
