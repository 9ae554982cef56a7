import { useEffect, useState } from "preact/hooks";
import { post, problemText } from "../api";
import type { components } from "../api.gen";
import { StateMark } from "../drivers";
import { count, decimal, value } from "../format";
import { texts, word } from "../strings";
import { Dialog } from "../ui";
import type en from "./drivers.en.json";
import { of } from "./drivers";

const t = texts<keyof typeof en>();
export type TrialResult = components["schemas"]["DriverTrial"];

/** What an attempt to reach a device has shown. */
export function Trial({ r }: { r: TrialResult }) {
  const read = r.units.reduce((n, u) => n + u.answered, 0), all = r.units.reduce((n, u) => n + u.points, 0);
  return (
    <div class="trial" role="status" ref={(e) => e?.scrollIntoView({ block: "nearest" })}>
      <p class={`state${r.ok ? "" : " off"}`}>
        <StateMark good={r.ok} />
        {r.connected ? t("drivers.connected", { ms: decimal(r.connectMs, 1), read: count(read), of: count(all), each: decimal(r.roundTripMs, 1) }) : t("drivers.notConnected")}
      </p>
      {r.error && <p>{r.error}</p>}
      {r.inUseBy && <p>{t("drivers.inUseBy", { id: r.inUseBy })}</p>}
      {r.units.filter((u) => u.unit && u.error).map((u) => <p key={u.unit}>{t("drivers.unitFailed", { unit: u.unit!, read: count(u.answered), of: count(u.points), why: u.error! })}</p>)}
      {r.points.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label={t("drivers.points")}>
          <table class="plain">
            <thead><tr><th>{t("drivers.point")}</th><th>{t("address")}</th><th class="end">{t("value")}</th><th>{t("quality")}</th></tr></thead>
            <tbody>
              {r.points.map((p) => (
                <tr key={p.name}>
                  <th scope="row">{p.name}</th><td>{p.address}</td>
                  <td class="end figure">{p.error ? "–" : value(p.value, { dataType: "Float" })}</td>
                  <td>{p.error || word("quality", p.quality)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

/** Tries the device of a driver beside the running one. */
export function TrialDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [result, setResult] = useState<TrialResult>();
  const [error, setError] = useState<unknown>();
  useEffect(() => void post<TrialResult>(`${of(id)}/test`).then(setResult, setError), [id]);
  return (
    <Dialog title={t("drivers.testOf", { id })} onClose={onClose}>
      <form method="dialog" class="driver" onSubmit={(e) => { e.preventDefault(); onClose(); }}>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : result ? <Trial r={result} /> : <p role="status">{t("drivers.testing")}</p>}
        <footer><span class="spring" /><button>{t("close")}</button></footer>
      </form>
    </Dialog>
  );
}
