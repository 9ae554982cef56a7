import { useEffect, useState } from "preact/hooks";
import { post, problemText, query } from "../api";
import type { components } from "../api.gen";
import { count } from "../format";
import { texts, word } from "../strings";
import { Dialog, notify } from "../ui";
import type en from "./drivers.en.json";
import { of } from "./drivers";

const t = texts<keyof typeof en>();
type Point = components["schemas"]["BrowsedPoint"];
type Page = components["schemas"]["BrowsedPoints"];
type Item = components["schemas"]["TagConfig"];

const pageSize = 100;

/** What the device of a driver has. Points that are chosen become tags. */
export function BrowseDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [page, setPage] = useState(1);
  const [shown, setShown] = useState<Page>();
  const [chosen, setChosen] = useState<Map<string, Point>>(new Map());
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    let gone = false;
    setShown(undefined);
    void post<Page>(query(`${of(id)}/browse`, { page, pageSize })).then((a) => { if (!gone) { setShown(a); setError(undefined); } }, (err: unknown) => { if (!gone) setError(err); });
    return () => void (gone = true);
  }, [id, page]);
  const choose = (list: Point[], on: boolean) => {
    const next = new Map(chosen);
    for (const p of list) on ? next.set(p.address, p) : next.delete(p.address);
    setChosen(next);
  };
  const add = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    const items: Item[] = [...chosen.values()].map((p) => ({ tagId: `${id}.${p.name}`, driverId: id, address: p.address, dataType: p.dataType, accessMode: p.accessMode, ...(p.nativeType && { nativeType: p.nativeType }), ...(p.unit && { unit: p.unit }), ...(p.description && { description: p.description }) }));
    try {
      await post("/api/v1.0/config/tags/bulk", items);
      notify(t("drivers.tagged", { n: count(items.length) }));
      onClose();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  const points = shown?.points ?? [], last = Math.max(1, Math.ceil((shown?.totalCount ?? 0) / pageSize));
  const all = points.length > 0 && points.every((p) => chosen.has(p.address));
  return (
    <Dialog title={t("drivers.browseOf", { id })} onClose={onClose}>
      <form method="dialog" class="driver" onSubmit={(e) => void add(e)}>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : <p role="status" class="quiet">{shown ? t("drivers.found", { n: count(shown.totalCount), chosen: count(chosen.size) }) : t("loading")}</p>}
        {points.length > 0 && (
          <div class="scroll trial" tabIndex={0} role="group" aria-label={t("drivers.points")}>
            <table class="plain">
              <thead><tr><th><input type="checkbox" aria-label={t("drivers.chooseAll")} checked={all} onChange={(e) => choose(points, e.currentTarget.checked)} /></th><th>{t("drivers.point")}</th><th>{t("address")}</th><th>{t("dataType")}</th><th>{t("access")}</th><th>{t("unit")}</th></tr></thead>
              <tbody>
                {points.map((p) => (
                  <tr key={p.address}>
                    <td><input type="checkbox" aria-label={p.name} checked={chosen.has(p.address)} onChange={(e) => choose([p], e.currentTarget.checked)} /></td>
                    <th scope="row" title={p.description}>{p.name}</th><td>{p.address}</td><td>{p.nativeType || p.dataType}</td><td>{word("access", p.accessMode)}</td><td>{p.unit}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <footer>
          {last > 1 && <><button type="button" disabled={page <= 1} onClick={() => setPage(page - 1)}>{t("drivers.back")}</button><button type="button" disabled={page >= last} onClick={() => setPage(page + 1)}>{t("drivers.next")}</button></>}
          <span class="spring" /><button type="button" onClick={onClose}>{t("close")}</button><button class="primary" disabled={busy || chosen.size === 0}>{t("drivers.addTags")}</button>
        </footer>
      </form>
    </Dialog>
  );
}
