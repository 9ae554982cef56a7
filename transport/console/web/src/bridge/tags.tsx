import { useEffect, useState } from "preact/hooks";
import { problemText } from "../api";
import { count, value, when } from "../format";
import { word } from "../strings";
import { call, type TagPage } from "./api";
import { Panel } from "./panels";
import { t } from "./texts";

const pageSize = 25;

/** The tags of the driver, a page at a time. */
export function Tags() {
  const [search, setSearch] = useState("");
  const [page, setPage] = useState(1);
  const [data, setData] = useState<TagPage>();
  const [error, setError] = useState("");
  useEffect(() => {
    let gone = false, busy = false;
    const read = async () => {
      if (busy || document.visibilityState !== "visible") return;
      busy = true;
      try {
        const got = await call<TagPage>("GET", `/api/bridge/monitoring/tags?page=${page}&pageSize=${pageSize}&search=${encodeURIComponent(search)}`);
        if (!gone) { setData(got); setError(""); }
      } catch (err) {
        if (!gone) setError(problemText(err));
      } finally {
        busy = false;
      }
    };
    void read();
    const timer = setInterval(() => void read(), 1000);
    return () => { gone = true; clearInterval(timer); };
  }, [search, page]);
  const last = Math.max(1, Math.ceil((data?.totalCount ?? 0) / pageSize));
  return (
    <Panel id="taglist" title={t("tags")}>
      <div class="tools">
        <input type="search" aria-label={t("tags.search")} placeholder={t("tags.search")} value={search} maxLength={100} onInput={(e) => { setSearch(e.currentTarget.value); setPage(1); }} />
        <span class="spring" />
        <button type="button" disabled={page <= 1} onClick={() => setPage(page - 1)}>{t("b.before")}</button>
        <span class="counted">{t("b.page", { page: count(page), last: count(last) })}</span>
        <button type="button" disabled={page >= last} onClick={() => setPage(page + 1)}>{t("b.after")}</button>
      </div>
      {error && <p class="error" role="alert">{error}</p>}
      <div class="scroll" tabIndex={0} role="group" aria-label={t("tags")}>
        <table class="plain">
          <thead><tr><th>{t("name")}</th><th class="end">{t("value")}</th><th>{t("unit")}</th><th>{t("b.quality")}</th><th class="wideonly">{t("b.address")}</th><th class="end">{t("b.time")}</th></tr></thead>
          <tbody>
            {data?.items.map((x) => (
              <tr key={x.name}>
                <th scope="row">{x.name}</th>
                <td class="end figure">{value(x.currentValue, x)}</td>
                <td>{x.unit}</td>
                <td class={x.quality === "Good" ? "" : "bad"}>{word("quality", x.quality)}{x.reason && ` · ${x.reason}`}</td>
                <td class="wideonly">{x.address}</td>
                <td class="end figure">{when(x.timestamp)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {data?.totalCount === 0 && <p class="empty">{t("b.notags")}</p>}
      </div>
    </Panel>
  );
}
