import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { behind, flood, loaded, severities, stateOf, summary } from "./alarmstore";
import { engine, engineName } from "./engine";
import { clock, count, when } from "./format";
import { lastContact, link } from "./hub";
import { Preferences, theme } from "./preferences";
import { href, route } from "./route";
import { session, signOut, unreachable } from "./session";
import { blocked, setSound, silence, soundOn, sounding } from "./sound";
import { t, word, type Key } from "./strings";
import { useMenu } from "./menu";
import { folded, Icon, Mark, notice, type icons } from "./ui";
import { allowed, views } from "./views";

export { theme, Preferences };

const everywhere = ["overview", "tags", "alarms"] as const;

function Navigation() {
  const at = route.value[0] ?? "overview";
  const { close, menu } = useMenu();
  const waiting = summary.value.unacknowledged;
  const n = waiting.Critical + waiting.Warning + waiting.Info;
  const open = Object.entries(views).filter(([, v]) => !v.unlisted && allowed(v)).map(([name, v]) => ({ name: name as Key, ...v }));
  const rest = open.filter((v) => !v.first);
  const entry = (v: { name: Key; icon: keyof typeof icons }, extra = "") => (
    <a key={v.name} class={extra} href={href(v.name)} aria-current={at === v.name ? "page" : undefined} onClick={close}>
      <Icon name={v.icon} />
      <span>{t(v.name)}</span>
      {v.name === "alarms" && n > 0 && <b class="badge">{count(n)}</b>}
    </a>
  );
  const inside = (folded.value ? open.filter((v) => !everywhere.some((name) => name === v.name)) : rest).some((v) => v.name === at);
  return (
    <nav class="views" aria-label={t("navigation")}>
      {everywhere.map((name) => entry({ name, icon: name }))}
      {open.filter((v) => v.first).map((v) => entry(v, "wider"))}
      <details class={`more${inside ? " inside" : ""}`} {...menu}>
        <summary><Icon name="more" /><span>{inside ? t(at as Key) : t("more")}</span></summary>
        <div>{open.filter((v) => v.first).map((v) => entry(v, "narrower"))}{rest.map((v) => entry(v))}</div>
      </details>
    </nav>
  );
}

function Clock() {
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return <time class="clock">{clock(now)}</time>;
}

function Link() {
  const lost = unreachable.value || link.value === "lost";
  const text = lost ? t("link.lost") : link.value === "live" ? t("link.live") : t("link.connecting");
  return <span class={`link${lost ? " lost" : ""}`} role="status"><i class={link.value} aria-hidden="true" />{text}</span>;
}

/** On every view: what waits to be acknowledged by priority, and the gravest of it. */
function AlarmBar() {
  const s = summary.value;
  const g = s.gravest;
  return (
    <section class="alarmbar" aria-label={t("alarmbar")}>
      <ul>
        {severities.map((v) => (
          <li key={v}>
            <a href={href("alarms")} class={s.unacknowledged[v] ? "on" : ""}>
              <Mark severity={v} dim={s.unacknowledged[v] === 0} blink={v === "Critical" && s.unacknowledged[v] > 0} />
              <b>{loaded.value ? count(s.unacknowledged[v]) : "–"}</b>
              <span class="of">/ {loaded.value ? count(s.active[v]) : "–"}</span>
              <span class="sr">{t("alarmbar.count")}</span>
            </a>
          </li>
        ))}
      </ul>
      {flood.value && <span class="flag">{t("flood")}</span>}
      <div class="gravest">
        {g ? (
          <a href={href("alarms", "active", g.id)}>
            <time>{when(g.triggeredAt)}</time>
            <b>{g.source}</b>
            <span>{g.message}</span>
            {stateOf(g) === "ReturnedUnacknowledged" && <em>{word("state", "ReturnedUnacknowledged")}</em>}
          </a>
        ) : (
          <span class="quiet">{loaded.value ? t("alarmbar.none") : t("loading")}</span>
        )}
      </div>
      {sounding.value && <button type="button" class="strong" onClick={silence}><Icon name="mute" />{t("sound.silence")}</button>}
      <button
        type="button" class="icon-button" aria-pressed={soundOn.value} title={blocked.value ? t("sound.blocked") : t("sound")}
        aria-label={blocked.value ? t("sound.blocked") : t("sound")} onClick={() => setSound(!soundOn.value)}
      >
        <Icon name={soundOn.value ? "sound" : "mute"} />{blocked.value && <sup aria-hidden="true">!</sup>}
      </button>
    </section>
  );
}

/** What is the user's own, behind the name. */
function Mine() {
  const s = session.value;
  const { close, menu } = useMenu();
  return (
    <details class="menu" {...menu}>
      <summary>{s?.name || s?.username}</summary>
      <div>
        <p>{s?.username}<small>{s?.roles.map((r) => word("role", r)).join(", ")}</small></p>
        <Preferences />
        <a class="button" href={href("account")} onClick={close}><Icon name="users" />{t("account")}</a>
        <button type="button" onClick={() => void signOut()}><Icon name="out" />{t("signout")}</button>
        <p class="engine">{engineName.value}<small>{t("brand")} {engine.value?.version}</small></p>
      </div>
    </details>
  );
}

export function Frame({ children }: { children: ComponentChildren }) {
  const lost = link.value === "lost";
  return (
    <div class={`frame${lost || behind.value ? " notcurrent" : ""}`}>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>{t("skip")}</a>
      <header class="top">
        <a class="brand" href={href("overview")}>{t("brand")}</a>
        <Navigation />
        <span class="spring" />
        <Link />
        <Clock />
        <Mine />
      </header>
      <AlarmBar />
      {lost || unreachable.value ? <p class="banner" role="alert">{lost ? t("link.since", { time: when(lastContact.value) }) : t("link.unreachable")}</p> : behind.value ? <p class="banner" role="status">{t("link.behind")}</p> : null}
      <main id="main" tabIndex={-1}>{children}</main>
      <div class="notice" role="status" aria-live="polite">
        {notice.value && <p class={notice.value.bad ? "bad" : ""}>{notice.value.text}<button type="button" aria-label={t("close")} onClick={() => (notice.value = undefined)}><Icon name="close" /></button></p>}
      </div>
    </div>
  );
}
