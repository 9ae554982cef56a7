import { useState } from "preact/hooks";
import { get, getTagged, problemText, type DriverStatus } from "../api";
import type { components } from "../api.gen";
import { drivers, DriverState } from "../drivers";
import { engines } from "../engines";
import { count, decimal, natural, when } from "../format";
import { may } from "../session";
import { texts, word } from "../strings";
import { notify, useRepeat } from "../ui";
import { BrowseDialog } from "./driverbrowse";
import { DriverDialog, RemoveDialog } from "./driverdialogs";
import { TrialDialog } from "./drivertrial";
import type en from "./drivers.en.json";

const t = texts<keyof typeof en>();
export type Driver = components["schemas"]["Driver"];
export type Definition = components["schemas"]["DriverDefinition"];
export type DriverType = components["schemas"]["DriverType"];

export const path = "/api/v1/drivers";
export const of = (id: string) => `${path}/${encodeURIComponent(id)}`;

type Opened = { kind: "add" } | { kind: "test" | "browse"; id: string } | { kind: "change" | "remove"; driver: Driver; etag?: string };

/** What is known of a driver, and what can be done with it. */
function Detail({ d, canBrowse, onOpen }: { d: DriverStatus; canBrowse: boolean; onOpen: (kind: "change" | "remove" | "test" | "browse") => void }) {
  const own = d.origin === "api";
  return (
    <>
      {d.lastError ? <p><b>{t("driver.lastError")}</b> {d.lastError} <span class="quiet">{when(d.lastErrorAt)}</span></p> : <p class="quiet">{t("driver.noError")}</p>}
      {d.cycles.length > 0 && <ul>{d.cycles.map((c) => <li key={c.intervalMs}>{t("driver.cycleText", { wanted: decimal(c.intervalMs, 0), reached: decimal(c.reachedMs, 0), tags: count(c.tagCount), requests: count(c.requests) })}</li>)}</ul>}
      {d.breakers.filter((b) => b.state !== "Closed").map((b) => <p key={b.unit}>{t("driver.breaker", { unit: b.unit, failures: count(b.failures) })} {when(b.probeAt)}</p>)}
      {!own && <p class="quiet">{word("driver.origin", d.origin)}</p>}
      {may("Admin") && (
        <p class="tools">
          {d.origin !== "part" && <button type="button" onClick={() => onOpen("test")}>{t("drivers.test")}</button>}
          {canBrowse && <button type="button" onClick={() => onOpen("browse")}>{t("drivers.browse")}</button>}
          {own && <button type="button" onClick={() => onOpen("change")}>{t("drivers.change")}</button>}
          {own && <button type="button" onClick={() => onOpen("remove")}>{t("drivers.remove")}</button>}
        </p>
      )}
    </>
  );
}

function Row({ d, shared, expanded, canBrowse, onExpand, onOpen }: { d: DriverStatus; shared: boolean; expanded: boolean; canBrowse: boolean; onExpand: () => void; onOpen: (kind: "change" | "remove" | "test" | "browse") => void }) {
  const late = d.cycles.filter((c) => c.reachedMs > c.intervalMs * 1.2);
  const shown = late[0] ?? d.cycles[0];
  return (
    <>
      <tr>
        <th scope="row"><button type="button" class="expand" aria-expanded={expanded} onClick={onExpand}>{d.driverId}</button></th>
        <td data-label={t("driver.type")}>{d.type}</td>
        <td data-label={t("state")}><DriverState d={d} /></td>
        {shared && <td data-label={t("overview.engine")}>{d.engine ?? "–"}</td>}
        <td class="end figure" data-label={t("tags")}>{count(d.tagCount)}</td>
        <td class="end figure" data-label={t("samples")}>{decimal(d.samplesPerSecond, 1)}</td>
        <td class={`end figure${late.length ? " late" : ""}`} data-label={t("driver.cycle")}>{shown ? t("driver.reached", { reached: decimal(shown.reachedMs, 0), wanted: decimal(shown.intervalMs, 0) }) : "–"}{late.length > 0 && <em> {t("driver.late")}</em>}</td>
        <td class="end figure" data-label={t("driver.roundtrip")}>{decimal(d.roundTripMeanMs, 1)}</td>
        <td class="end figure" data-label={t("driver.errors")}>{count(d.readErrors + d.writeErrors)}</td>
        <td class="end figure" data-label={t("driver.queued")}>{count(d.queuedWrites)}</td>
        <td data-label={t("driver.since")}>{when(d.connectedSince)}</td>
      </tr>
      {expanded && <tr class="beneath"><td colSpan={shared ? 11 : 10}><Detail d={d} canBrowse={canBrowse} onOpen={onOpen} /></td></tr>}
    </>
  );
}

export default function Drivers() {
  useRepeat(() => void drivers.read(), 3000);
  useRepeat(() => void engines.read(), 30_000);
  const [expanded, setExpanded] = useState<string>();
  const [types, setTypes] = useState<DriverType[]>();
  const [opened, setOpened] = useState<Opened>();
  useRepeat(() => { if (!types) void get<DriverType[]>("/api/v1/driver-types").then(setTypes, () => undefined); }, 3000, [!types]);
  const list = drivers.data.value;
  const shared = !!engines.data.value?.bus;
  const sorted = list ? [...list].sort((a, b) => Number(a.state === "Online") - Number(b.state === "Online") || (natural(a.driverId) < natural(b.driverId) ? -1 : 1)) : [];
  const close = () => setOpened(undefined);
  const done = () => { close(); void drivers.read(); };
  // What is changed is the driver as it is now, and only if nobody else changes it meanwhile.
  const open = async (kind: "change" | "remove" | "test" | "browse", id: string) => {
    if (kind === "test" || kind === "browse") return setOpened({ kind, id });
    try {
      const { value, etag } = await getTagged<Driver>(of(id));
      setOpened({ kind, driver: value, etag });
    } catch (err) {
      notify(problemText(err), true);
      void drivers.read();
    }
  };
  return (
    <section class="panel fill" aria-labelledby="drivers-title">
      <header class="tools">
        <h1 id="drivers-title">{t("drivers")}</h1>
        <span class="quiet counted">{list ? t("drivers.online", { n: count(list.filter((d) => d.state === "Online").length), of: count(list.length) }) : ""}</span>
        {may("Admin") && types && <button type="button" class="primary" onClick={() => setOpened({ kind: "add" })}>{t("drivers.add")}</button>}
      </header>
      {drivers.error.value ? <p class="error" role="alert">{problemText(drivers.error.value)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="drivers-title">
        <table class="plain wide">
          <thead>
            <tr>
              <th>{t("name")}</th><th>{t("driver.type")}</th><th>{t("state")}</th>{shared && <th>{t("overview.engine")}</th>}<th class="end">{t("tags")}</th><th class="end">{t("samples")}</th>
              <th class="end">{t("driver.cycle")}</th><th class="end">{t("driver.roundtrip")}</th><th class="end">{t("driver.errors")}</th><th class="end">{t("driver.queued")}</th><th>{t("driver.since")}</th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((d) => (
              <Row
                key={d.driverId} d={d} shared={shared} expanded={expanded === d.driverId} canBrowse={!!types?.find((x) => x.name === d.type)?.canBrowse}
                onExpand={() => setExpanded(expanded === d.driverId ? undefined : d.driverId)} onOpen={(kind) => void open(kind, d.driverId)}
              />
            ))}
          </tbody>
        </table>
        {list?.length === 0 && <p class="empty">{t("drivers.none")}</p>}
      </div>
      {opened?.kind === "add" && types && <DriverDialog types={types} onClose={close} onDone={done} />}
      {opened?.kind === "change" && types && <DriverDialog types={types} driver={opened.driver} etag={opened.etag} onClose={close} onDone={done} />}
      {opened?.kind === "remove" && <RemoveDialog driver={opened.driver} etag={opened.etag} onClose={close} onDone={done} />}
      {opened?.kind === "test" && <TrialDialog id={opened.id} onClose={close} />}
      {opened?.kind === "browse" && <BrowseDialog id={opened.id} onClose={close} />}
    </section>
  );
}
