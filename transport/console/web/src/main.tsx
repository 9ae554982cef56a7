import { computed, effect, signal } from "@preact/signals";
import { render, type FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { Alarms } from "./alarms";
import { clearAlarms, startAlarms, summary } from "./alarmstore";
import { engineName, readEngine } from "./engine";
import { watchFields } from "./fields";
import { Frame } from "./frame";
import { onLink, runHub } from "./hub";
import { Overview } from "./overview";
import { route } from "./route";
import { session, startSession, unreachable } from "./session";
import { SignIn } from "./signin";
import { startSound } from "./sound";
import { ready, t, word, type Key } from "./strings";
import { Tags } from "./tags";
import { clearTags, startTags } from "./tagstore";
import { allowed, views, type View as LaterView } from "./views";

const own = { overview: Overview, tags: Tags, alarms: Alarms };
const came = signal<Record<string, FunctionComponent>>({});
const failed = signal("");

async function load(name: string, view: LaterView) {
  failed.value = "";
  try {
    const Component = await view.load();
    came.value = { ...came.peek(), [name]: Component };
  } catch {
    failed.value = name;
  }
}

/** A view that is loaded when it is opened. */
function Later({ name, view }: { name: string; view: LaterView }) {
  useEffect(() => void (came.peek()[name] ?? load(name, view)), [name]);
  const Component = came.value[name];
  if (Component) return <Component />;
  if (failed.value !== name) return <p class="panel missing" role="status">{t("loading")}</p>;
  return <p class="panel missing" role="alert">{word("problem", "NETWORK")} <button type="button" onClick={() => void load(name, view)}>{t("again")}</button></p>;
}

function View() {
  const name = route.value[0] ?? "overview";
  const Own = own[name as keyof typeof own];
  if (Own) return <Own />;
  const later = views[name as Key];
  if (later && allowed(later)) return <Later key={name} name={name} view={later} />;
  return <p class="panel missing">{t("missing")} <a href="#/">{t("overview")}</a></p>;
}

/** Not the session itself: each of its renewals would render the whole page again, and keep the view that was shown then. */
const signedIn = computed(() => session.value && true);

function App() {
  if (signedIn.value === undefined) return <p class="starting" role="status">{unreachable.value ? t("link.unreachable") : t("loading")}</p>;
  if (signedIn.value === null) return <SignIn />;
  return <Frame><View /></Frame>;
}

let user: string | undefined;
effect(() => {
  const s = session.value;
  if (s && s.username !== user) {
    user = s.username;
    startAlarms();
    startTags();
    void runHub();
  } else if (s === null && user) {
    user = undefined;
    clearAlarms();
    clearTags();
  }
});

effect(() => {
  const name = (route.value[0] ?? "overview") as Key;
  const u = summary.value.unacknowledged;
  const n = session.value ? u.Critical + u.Warning + u.Info : 0;
  // The name comes first: it is what is seen of many tabs.
  document.title = `${n ? `(${n}) ` : ""}${engineName.value}${name in own || name in views ? ` · ${t(name)}` : ""} · ${t("brand")}`;
});

onLink(() => void readEngine()); // it may have been updated meanwhile
startSound();
startSession();
watchFields();
void ready.then(() => render(<App />, document.getElementById("app")!));
