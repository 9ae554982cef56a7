import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { problemText } from "../api";
import { call, expired, Problem, signIn } from "./api";
import { t } from "./texts";

/** A form about the account, which shows why it was refused. */
function Form({ title, about, button, send, children }: { title: string; about: string; button: string; send: (f: FormData) => Promise<void>; children: ComponentChildren }) {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (e: SubmitEvent) => {
    e.preventDefault();
    const data = new FormData(e.currentTarget as HTMLFormElement);
    setBusy(true);
    setError("");
    try {
      await send(data);
    } catch (err) {
      setError(err instanceof Refused ? err.message : problemText(err));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="panel account" aria-labelledby="account-title">
      <header><h2 id="account-title">{title}</h2></header>
      <form onSubmit={(e) => void submit(e)}>
        <p class="quiet">{about}</p>
        {children}
        {error && <p class="error" role="alert">{error}</p>}
        <button class="primary" disabled={busy}>{busy ? t("b.busy") : button}</button>
      </form>
    </section>
  );
}

/** What the page itself refuses. */
class Refused extends Error {}

/** Makes the first account. From another machine it takes the code that the bridge has printed. */
export function Setup({ code, done }: { code: boolean; done: () => void }) {
  const send = async (f: FormData) => {
    const username = String(f.get("username")), password = String(f.get("password"));
    if (password !== f.get("again")) throw new Refused(t("b.differ"));
    try {
      await call("POST", "/api/bridge/auth/setup", { username, password, setupCode: code ? String(f.get("code")).trim().toUpperCase() : undefined });
    } catch (err) {
      if (err instanceof Problem && err.code === "SETUP_DONE") done(); // somebody was faster: it has to be seen
      throw err;
    }
    await signIn(username, password);
    done();
  };
  return (
    <Form title={t("b.setup")} about={code ? t("b.setup.code") : t("b.setup.local")} button={t("b.setup.do")} send={send}>
      {code && <label>{t("b.code")}<input name="code" autocomplete="off" autocapitalize="characters" spellcheck={false} required /></label>}
      <label>{t("username")}<input name="username" autocomplete="username" autocapitalize="none" spellcheck={false} required /></label>
      <label>{t("password")}<input name="password" type="password" autocomplete="new-password" minLength={12} required /></label>
      <p class="quiet">{t("b.rule")}</p>
      <label>{t("b.again")}<input name="again" type="password" autocomplete="new-password" required /></label>
    </Form>
  );
}

export function SignIn({ done }: { done: () => void }) {
  const send = async (f: FormData) => {
    await signIn(String(f.get("username")), String(f.get("password")));
    done();
  };
  return (
    <Form title={t("signin")} about={expired.value ? t("signin.expired") : t("b.own")} button={t("signin")} send={send}>
      <label>{t("username")}<input name="username" autocomplete="username" autocapitalize="none" spellcheck={false} required autofocus /></label>
      <label>{t("password")}<input name="password" type="password" autocomplete="current-password" required /></label>
    </Form>
  );
}
