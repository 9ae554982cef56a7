import { useRef, useState } from "preact/hooks";
import { problemText } from "./api";
import { Preferences } from "./frame";
import { expired, signIn } from "./session";
import { t } from "./strings";

export function SignIn() {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const password = useRef<HTMLInputElement>(null);
  const submit = async (e: SubmitEvent) => {
    e.preventDefault();
    const data = new FormData(e.currentTarget as HTMLFormElement);
    setBusy(true);
    setError("");
    try {
      await signIn(String(data.get("username")), String(data.get("password")));
    } catch (err) {
      setError(problemText(err));
      password.current?.select();
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="signin">
      <form onSubmit={(e) => void submit(e)}>
        <h1>{t("brand")}</h1>
        <p class="quiet">{t("signin.about")}</p>
        {expired.value && !error && <p class="say" role="status">{t("signin.expired")}</p>}
        <label>{t("username")}<input name="username" autocomplete="username" autocapitalize="none" spellcheck={false} required autofocus /></label>
        <label>{t("password")}<input ref={password} name="password" type="password" autocomplete="current-password" required aria-invalid={!!error} aria-describedby={error ? "signin-error" : undefined} /></label>
        {error && <p class="error" id="signin-error" role="alert">{error}</p>}
        <button class="primary" disabled={busy}>{busy ? t("signin.busy") : t("signin")}</button>
        <footer><Preferences /></footer>
      </form>
    </main>
  );
}
