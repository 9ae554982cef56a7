import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, problemText } from "../api";
import type { components } from "../api.gen";
import { count, when } from "../format";
import { onLink } from "../hub";
import { href, route } from "../route";
import { may } from "../session";
import { word } from "../strings";
import { Mark } from "../ui";
import { Channels, DeadLetters } from "./alertdelivery";
import { t } from "./alerttexts";
import { SilenceDialog, Silences } from "./silences";

type Sent = components["schemas"]["AlertHistoryRecord"];

const page = 100;
interface Filter {
  text: string;
  source: string;
  severity: string;
  state: string;
}
const everything: Filter = { text: "", source: "", severity: "", state: "" };

function Alerts() {
  const [draft, setDraft] = useState(everything);
  const [filter, setFilter] = useState(everything);
  const [list, setList] = useState<Sent[]>();
  const [total, setTotal] = useState(0);
  const [pages, setPages] = useState(1);
  const [error, setError] = useState<unknown>();
  const [open, setOpen] = useState<string>();
  const [silencing, setSilencing] = useState<string>();
  const asked = useRef(0);
  const read = async () => {
    const mine = ++asked.current;
    try {
      const found: Sent[] = [];
      let n = 0;
      for (let p = 1; p <= pages; p++) {
        const a = await get<components["schemas"]["AlertHistoryPage"]>("/api/v1.0/alert-history", { ...filter, page: p, pageSize: page });
        found.push(...a.records);
        n = a.totalCount;
        if (mine !== asked.current) return;
      }
      setList(found);
      setTotal(n);
      setError(undefined);
    } catch (err) {
      if (mine === asked.current) setError(err);
    }
  };
  useEffect(() => {
    void read();
    const stop = onLink(() => void read());
    const timer = setInterval(() => document.visibilityState === "visible" && pages === 1 && void read(), 10_000);
    return () => {
      asked.current++;
      stop();
      clearInterval(timer);
    };
  }, [filter, pages]);
  const look = (f: Filter) => {
    setDraft(f);
    setPages(1);
    setFilter(f);
  };
  return (
    <>
      <form class="tools" onSubmit={(e) => { e.preventDefault(); look({ ...draft }); }}>
        <input type="search" class="short" placeholder={t("alerts.text")} aria-label={t("alerts.text")} maxLength={512} value={draft.text} onInput={(e) => setDraft({ ...draft, text: e.currentTarget.value })} />
        <input type="search" class="short" placeholder={t("alerts.source")} aria-label={t("alerts.source")} value={draft.source} onInput={(e) => setDraft({ ...draft, source: e.currentTarget.value })} />
        <select aria-label={t("severity")} value={draft.severity} onChange={(e) => look({ ...draft, severity: e.currentTarget.value })}>
          <option value="">{t("severity.all")}</option>
          {["Critical", "Warning", "Info"].map((s) => <option key={s} value={s}>{word("severity", s)}</option>)}
        </select>
        <select aria-label={t("alerts.state")} value={draft.state} onChange={(e) => look({ ...draft, state: e.currentTarget.value })}>
          <option value="">{t("alerts.all")}</option><option value="firing">{t("alerts.firing")}</option><option value="resolved">{t("alerts.resolved")}</option>
        </select>
        <button>{t("alerts.find")}</button>
        <button type="button" onClick={() => look(everything)}>{t("alerts.clear")}</button>
        <span class="quiet counted" role="status">{list ? t("alerts.count", { n: count(list.length), of: count(total) }) : t("loading")}</span>
      </form>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="alerts-title">
        <table class="plain wide">
          <thead><tr><th>{t("alerts.since")}</th><th>{t("severity")}</th><th>{t("alerts.source")}</th><th>{t("alerts.title")}</th><th>{t("alerts.state")}</th><th><span class="sr">{t("alerts.actions")}</span></th></tr></thead>
          <tbody>
            {list?.map((r) => (
              <Fragment key={r.id}>
                <tr>
                  <th scope="row"><button type="button" class="expand figure" aria-expanded={open === r.id} onClick={() => setOpen(open === r.id ? undefined : r.id)}>{when(r.timestamp)}</button></th>
                  <td data-label={t("severity")}><Mark severity={r.severity} dim={!!r.resolvedAt} /></td>
                  <td data-label={t("alerts.source")}>{r.source}</td>
                  <td class="said">{r.title}</td>
                  <td data-label={t("alerts.state")}>{t(r.resolvedAt ? "alerts.resolved" : "alerts.firing")}{r.labels.silencedBy && <> <em>{t("alerts.silencedBy")}</em></>}</td>
                  <td class="actions">{may("Operator") && <button type="button" aria-label={t("alerts.silenceOf", { source: r.source })} onClick={() => setSilencing(r.source)}>{t("alerts.silence")}</button>}</td>
                </tr>
                {open === r.id && (
                  <tr class="beneath"><td colSpan={6}>
                    {r.description && <p>{r.description}</p>}
                    <dl>
                      {r.resolvedAt && <><dt>{t("alerts.until")}</dt><dd class="figure">{when(r.resolvedAt)}</dd></>}
                      {Object.entries(r.labels).map(([k, v]) => <Fragment key={k}><dt>{k}</dt><dd>{v}</dd></Fragment>)}
                    </dl>
                  </td></tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </table>
        {list?.length === 0 && <p class="empty">{t("alerts.none")}</p>}
        {list && list.length < total && <p class="empty"><button type="button" onClick={() => setPages(pages + 1)}>{t("alerts.more")}</button></p>}
      </div>
      {silencing !== undefined && <SilenceDialog source={silencing} onClose={() => setSilencing(undefined)} onDone={() => { setSilencing(undefined); void read(); }} />}
    </>
  );
}

export default function AlertsView() {
  const tab = route.value[1] ?? "alerts";
  const tabs = may("Operator") ? ["alerts", "silences", "channels", "dead"] as const : ["alerts", "silences"] as const;
  return (
    <section class="panel fill" aria-labelledby="alerts-title">
      <header class="tools tabs">
        <h1 id="alerts-title">{t("alerts")}</h1>
        <nav class="segments" aria-label={t("view")}>
          {tabs.map((n) => <a key={n} href={n === "alerts" ? href("alerts") : href("alerts", n)} aria-current={tab === n ? "page" : undefined}>{t(`alerts.${n}`)}</a>)}
        </nav>
      </header>
      {tab === "silences" ? <Silences /> : tab === "channels" ? <Channels /> : tab === "dead" ? <DeadLetters /> : <Alerts />}
    </section>
  );
}
