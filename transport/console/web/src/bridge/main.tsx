import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { problemText } from "../api";
import { watchFields } from "../fields";
import { useMenu } from "../menu";
import { polled } from "../poll";
import { Preferences } from "../preferences";
import { ready } from "../strings";
import { call, expired, health, session, signOut, type AuthState, type Monitoring, type Status } from "./api";
import { Setup, SignIn } from "./account";
import { Binding, Checks, Driver, Waiting } from "./panels";
import { Tags } from "./tags";
import { t } from "./texts";

const status = polled(() => call<Status>("GET", "/api/bridge/status"));
const checks = polled(health);
const account = polled(() => call<AuthState>("GET", "/api/bridge/auth/state"));
const monitoring = polled(() => call<Monitoring>("GET", "/api/bridge/monitoring/status"));
const signingIn = signal(false);

async function read() {
  await Promise.all([status.read(), checks.read(), account.data.peek()?.setupRequired === false ? undefined : account.read(), session.peek() ? monitoring.read() : undefined]);
}

function Top() {
  const s = session.value;
  const lost = !!status.error.value;
  const { menu } = useMenu();
  return (
    <header class="top">
      <a class="brand" href="#/">{t("brand")}</a>
      <h1>{t("b.title")}</h1>
      <span class="spring" />
      <span class={`link${lost ? " lost" : ""}`} role="status"><i class={lost ? "lost" : "live"} aria-hidden="true" />{lost ? t("link.lost") : status.data.value ? t("link.live") : t("link.connecting")}</span>
      <details class="menu" {...menu}>
        <summary>{s?.username ?? t("b.menu")}</summary>
        <div>
          <Preferences />
          {s && <button type="button" onClick={() => void signOut()}>{t("signout")}</button>}
        </div>
      </details>
    </header>
  );
}

function App() {
  const state = account.data.value;
  const s = session.value;
  const form = state?.setupRequired || (!s && (signingIn.value || expired.value));
  return (
    <div class="frame bridge">
      <Top />
      {status.error.value !== undefined && <p class="banner" role="alert">{t("b.stale")} {problemText(status.error.value)}</p>}
      <main id="main">
        {state?.setupRequired && <Setup code={state.setupCodeRequired} done={() => void account.read()} />}
        {!state?.setupRequired && form && <SignIn done={() => (signingIn.value = false)} />}
        <Binding status={status.data.value} link={s ? monitoring.data.value?.link : undefined} check={checks.data.value?.["engine-connectivity"]} changed={() => void read()} />
        <Driver status={status.data.value} driver={s ? monitoring.data.value?.driver : undefined} check={checks.data.value?.driver} />
        <Waiting buffer={s ? monitoring.data.value?.buffer : undefined} check={checks.data.value?.["offline-buffer"]} />
        {s && <Tags />}
        <Checks checks={checks.data.value} />
        {!s && state?.setupRequired === false && !form && (
          <section class="panel more-to-see">
            <p>{t("b.more")}</p>
            <button type="button" class="primary" onClick={() => (signingIn.value = true)}>{t("signin")}</button>
          </section>
        )}
      </main>
    </div>
  );
}

effect(() => {
  void session.value;
  void read();
});
setInterval(() => document.visibilityState === "visible" && void read(), 2000);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void read());
effect(() => void (document.title = `${status.data.value?.bridgeId ?? t("b.title")} · ${t("brand")}`));
watchFields();
void ready.then(() => render(<App />, document.getElementById("app")!));
