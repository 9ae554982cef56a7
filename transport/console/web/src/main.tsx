import { effect } from "@preact/signals";
import { render } from "preact";
import { Alarms } from "./alarms";
import { clearAlarms, startAlarms, summary } from "./alarmstore";
import { Drivers } from "./drivers";
import { Frame } from "./frame";
import { runHub } from "./hub";
import { Overview } from "./overview";
import { route } from "./route";
import { session, startSession, unreachable } from "./session";
import { SignIn } from "./signin";
import { startSound } from "./sound";
import { t, type Key } from "./strings";
import { Tags } from "./tags";
import { clearTags, startTags } from "./tagstore";

const views = { overview: Overview, tags: Tags, alarms: Alarms, drivers: Drivers };

function View() {
  const name = route.value[0] ?? "overview";
  const Known = views[name as keyof typeof views];
  return Known ? <Known /> : <p class="panel missing">{t("missing")} <a href="#/">{t("overview")}</a></p>;
}

function App() {
  if (session.value === undefined) return <p class="starting" role="status">{unreachable.value ? t("link.stale") : t("loading")}</p>;
  if (session.value === null) return <SignIn />;
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
  document.title = `${n ? `(${n}) ` : ""}${name in views ? `${t(name)} · ` : ""}${t("brand")}`;
});

startSound();
startSession();
render(<App />, document.getElementById("app")!);
