import { useEffect, useState } from "preact/hooks";
import { del, get, problemText } from "../api";
import type { components } from "../api.gen";
import { when } from "../format";
import { signOut } from "../session";
import { texts } from "../strings";
import { notify } from "../ui";
import type en from "./sessions.en.json";

const t = texts<keyof typeof en>();
type Open = components["schemas"]["Session"];

const path = "/api/v1/auth/sessions";

/** The open sessions of the user, or of all accounts. */
export function SessionTable({ all, labelled }: { all?: boolean; labelled: string }) {
  const [list, setList] = useState<Open[]>();
  const [total, setTotal] = useState(0);
  const [pages, setPages] = useState(1);
  const [error, setError] = useState<unknown>();
  const read = async () => {
    try {
      const found: Open[] = [];
      for (let page = 1; page <= pages; page++) {
        const a = await get<components["schemas"]["SessionPage"]>(path, { all: all ? true : undefined, page, pageSize: 200 });
        found.push(...a.items);
        setTotal(a.totalCount);
      }
      setList(found);
      setError(undefined);
    } catch (err) {
      setError(err);
    }
  };
  useEffect(() => void read(), [all, pages]);
  const end = async (s: Open) => {
    if (s.current) return void signOut();
    try {
      await del(`${path}/${encodeURIComponent(s.id)}`);
      notify(t("sessions.ended", { account: s.account }));
    } catch (err) {
      notify(problemText(err), true);
    }
    void read();
  };
  return (
    <>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      <div class="scroll" tabIndex={0} role="group" aria-labelledby={labelled}>
        <table class="plain wide">
          <thead><tr><th>{t("username")}</th><th>{t("sessions.address")}</th><th>{t("sessions.since")}</th><th>{t("sessions.refreshed")}</th><th>{t("sessions.until")}</th><th><span class="sr">{t("sessions.end")}</span></th></tr></thead>
          <tbody>
            {list?.map((s) => (
              <tr key={s.id}>
                <th scope="row">{s.account}{s.current && <> <em>{t("sessions.this")}</em></>}</th>
                <td data-label={t("sessions.address")}>{s.address ?? "–"}</td>
                <td data-label={t("sessions.since")} class="figure">{when(s.createdAt)}</td>
                <td data-label={t("sessions.refreshed")} class="figure">{when(s.refreshedAt)}</td>
                <td data-label={t("sessions.until")} class="figure">{when(s.expiresAt)}</td>
                <td class="actions"><button type="button" aria-label={s.current ? undefined : t("sessions.endOf", { account: s.account, since: when(s.createdAt) })} onClick={() => void end(s)}>{s.current ? t("signout") : t("sessions.end")}</button></td>
              </tr>
            ))}
          </tbody>
        </table>
        {list && list.length < total && <p class="empty"><button type="button" onClick={() => setPages(pages + 1)}>{t("sessions.more")}</button></p>}
      </div>
    </>
  );
}
