import { useState } from "preact/hooks";
import { post, problemText } from "../api";
import { session } from "../session";
import { texts, word } from "../strings";
import { notify } from "../ui";
import type en from "./account.en.json";
import { SessionTable } from "./sessions";

const t = texts<keyof typeof en>();

function Password() {
  const empty = { current: "", next: "", again: "" };
  const [v, setV] = useState(empty);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    if (v.next !== v.again) return setError(t("account.differ"));
    setBusy(true);
    setError("");
    try {
      await post("/api/v1/auth/password", { currentPassword: v.current, newPassword: v.next });
      setV(empty);
      notify(t("account.changed"));
    } catch (err) {
      setError(problemText(err));
    } finally {
      setBusy(false);
    }
  };
  const field = (name: keyof typeof empty, completion: string) => (
    <label>{t(`account.${name}` as "account.current")}<input type="password" required autocomplete={completion} value={v[name]} onInput={(e) => setV({ ...v, [name]: e.currentTarget.value })} /></label>
  );
  return (
    <form class="account" onSubmit={(e) => void submit(e)}>
      <h2>{t("account.password")}</h2>
      <input class="sr" autocomplete="username" aria-hidden="true" tabIndex={-1} readOnly value={session.value?.username ?? ""} />
      {field("current", "current-password")}{field("next", "new-password")}{field("again", "new-password")}
      <p class="quiet">{t("account.rules")}</p>
      {error && <p class="error" role="alert">{error}</p>}
      <p><button class="primary" disabled={busy}>{t("account.change")}</button></p>
    </form>
  );
}

/** What concerns the user alone. */
export default function Account() {
  const s = session.value;
  return (
    <section class="panel fill" aria-labelledby="account-title">
      <header><h1 id="account-title">{t("account")}</h1><span class="quiet">{s?.username} · {s?.roles.map((r) => word("role", r)).join(", ")}</span></header>
      <div class="scroll">
        <Password />
        <h2 class="between" id="sessions-title">{t("sessions")}</h2>
        <SessionTable labelled="sessions-title" />
      </div>
    </section>
  );
}
