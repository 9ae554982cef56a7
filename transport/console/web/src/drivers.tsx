import { useRef, useState } from "preact/hooks";
import { get, problemText, type DriverStatus } from "./api";
import { count, decimal, natural, when } from "./format";
import { polled } from "./poll";
import { t, word } from "./strings";
import { useRepeat } from "./ui";

export const drivers = polled(() => get<DriverStatus[]>("/api/v1/drivers"));

/** A state beside its shape: filled when all is well, hollow or crossed when not. */
export function StateMark({ good, off }: { good: boolean; off?: boolean }) {
  return (
    <svg class="smark" viewBox="0 0 12 12" aria-hidden="true">
      {good ? <circle cx="6" cy="6" r="4.5" class="fill" /> : off ? <path d="M2 6h8" /> : <path d="M2 2l8 8M10 2l-8 8" />}
    </svg>
  );
}

export function DriverState({ d }: { d: DriverStatus }) {
  const stopped = d.state === "Stopped" && d.enabled === false;
  return (
    <span class={`state${d.state === "Online" || stopped ? "" : " off"}`}>
      <StateMark good={d.state === "Online"} off={stopped} />{word("driver", stopped ? "Disabled" : d.state)}
    </span>
  );
}

export function Drivers() {
  useRepeat(() => void drivers.read(), 3000);
  const [open, setOpen] = useState<string>();
  const scroll = useRef<HTMLDivElement>(null);
  const list = drivers.data.value;
  const sorted = list ? [...list].sort((a, b) => Number(a.state === "Online") - Number(b.state === "Online") || (natural(a.driverId) < natural(b.driverId) ? -1 : 1)) : [];
  return (
    <section class="panel fill" aria-labelledby="drivers-title">
      <header><h1 id="drivers-title">{t("drivers")}</h1><span class="quiet">{list ? t("drivers.online", { n: count(list.filter((d) => d.state === "Online").length), of: count(list.length) }) : ""}</span></header>
      {drivers.error.value ? <p class="error" role="alert">{problemText(drivers.error.value)}</p> : null}
      <div class="scroll" ref={scroll} tabIndex={0} role="group" aria-labelledby="drivers-title">
        <table class="plain wide">
          <thead>
            <tr>
              <th>{t("name")}</th><th>{t("driver.type")}</th><th>{t("state")}</th><th class="end">{t("tags")}</th><th class="end">{t("samples")}</th>
              <th class="end">{t("driver.cycle")}</th><th class="end">{t("driver.roundtrip")}</th><th class="end">{t("driver.errors")}</th><th class="end">{t("driver.queued")}</th><th>{t("driver.since")}</th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((d) => {
              const late = d.cycles.filter((c) => c.reachedMs > c.intervalMs * 1.2);
              const shown = late[0] ?? d.cycles[0];
              const expanded = open === d.driverId;
              return (
                <>
                  <tr key={d.driverId}>
                    <th scope="row"><button type="button" class="expand" aria-expanded={expanded} onClick={() => setOpen(expanded ? undefined : d.driverId)}>{d.driverId}</button></th>
                    <td data-label={t("driver.type")}>{d.type}</td>
                    <td data-label={t("state")}><DriverState d={d} /></td>
                    <td class="end figure" data-label={t("tags")}>{count(d.tagCount)}</td>
                    <td class="end figure" data-label={t("samples")}>{decimal(d.samplesPerSecond, 1)}</td>
                    <td class={`end figure${late.length ? " late" : ""}`} data-label={t("driver.cycle")}>{shown ? t("driver.reached", { reached: decimal(shown.reachedMs, 0), wanted: decimal(shown.intervalMs, 0) }) : "–"}{late.length > 0 && <em> {t("driver.late")}</em>}</td>
                    <td class="end figure" data-label={t("driver.roundtrip")}>{decimal(d.roundTripMeanMs, 1)}</td>
                    <td class="end figure" data-label={t("driver.errors")}>{count(d.readErrors + d.writeErrors)}</td>
                    <td class="end figure" data-label={t("driver.queued")}>{count(d.queuedWrites)}</td>
                    <td data-label={t("driver.since")}>{when(d.connectedSince)}</td>
                  </tr>
                  {expanded && (
                    <tr class="more"><td colSpan={10}>
                      {d.lastError ? <p><b>{t("driver.lastError")}</b> {d.lastError} <span class="quiet">{when(d.lastErrorAt)}</span></p> : <p class="quiet">{t("driver.noError")}</p>}
                      {d.cycles.length > 0 && <ul>{d.cycles.map((c) => <li key={c.intervalMs}>{t("driver.cycleText", { wanted: decimal(c.intervalMs, 0), reached: decimal(c.reachedMs, 0), tags: count(c.tagCount), requests: count(c.requests) })}</li>)}</ul>}
                      {d.breakers.filter((b) => b.state !== "Closed").map((b) => <p key={b.unit}>{t("driver.breaker", { unit: b.unit, failures: count(b.failures) })} {when(b.probeAt)}</p>)}
                    </td></tr>
                  )}
                </>
              );
            })}
          </tbody>
        </table>
        {list?.length === 0 && <p class="empty">{t("drivers.none")}</p>}
      </div>
    </section>
  );
}
