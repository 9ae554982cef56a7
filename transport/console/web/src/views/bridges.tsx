import { useEffect, useRef, useState } from "preact/hooks";
import { del, get, post, problemText, refused } from "../api";
import type { components } from "../api.gen";
import { StateMark } from "../drivers";
import { count, decimal, natural, when } from "../format";
import { polled } from "../poll";
import { may } from "../session";
import { texts, word } from "../strings";
import { Dialog, notify, useRepeat } from "../ui";
import type en from "./bridges.en.json";

const t = texts<keyof typeof en>();
type Bound = components["schemas"]["BridgeBindingStatus"];
type Found = components["schemas"]["BridgeInfo"];

const bound = polled(() => get<Bound[]>("/api/discovery/bindings"));
const scanSeconds = 5;

/** Why a request has failed, and that its outcome is not known where that is so. */
const why = (err: unknown) => (refused(err) ? problemText(err) : t("bridges.unknown", { why: problemText(err) }));

/** A link to the console of a bridge, whose address comes from the network. */
function Address({ url }: { url: string }) {
  return /^https?:\/\//.test(url) ? <a href={url} target="_blank" rel="noopener noreferrer">{url}</a> : <>{url || "–"}</>;
}

function BindDialog({ found, onClose, onDone }: { found?: Found; onClose: () => void; onDone: () => void }) {
  const [id, setID] = useState(found?.bridgeId ?? "");
  const [url, setURL] = useState(found?.baseUrl ?? "");
  const [secret, setSecret] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const r = await post<components["schemas"]["BindBridgeResult"]>("/api/discovery/bind", { bridgeId: id.trim(), bridgeUrl: url.trim(), ...(secret && { bindSecret: secret }) });
      notify(t("bridges.bound", { id: r.binding.bridgeId, n: count(r.manifest.tags.length) }));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
      void bound.read();
    }
  };
  return (
    <Dialog title={found ? t("bridges.bindNamed", { id: found.bridgeId }) : t("bridges.byAddress")} onClose={onClose}>
      <form method="dialog" autocomplete="off" onSubmit={(e) => void submit(e)}>
        <label>{t("bridges.id")}<input value={id} required maxLength={128} readOnly={!!found} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => setID(e.currentTarget.value)} /></label>
        <label>{t("bridges.url")}<input value={url} required maxLength={2000} inputMode="url" placeholder={t("bridges.example")} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => setURL(e.currentTarget.value)} /></label>
        <label>{t("bridges.secret")}<input type="password" value={secret} maxLength={1024} autocomplete="new-password" onInput={(e) => setSecret(e.currentTarget.value)} /></label>
        <p class="quiet">{t("bridges.bindAbout")}</p>
        {error ? <p class="error" role="alert">{why(error)}</p> : null}
        <footer><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary" disabled={busy}>{t(busy ? "bridges.binding" : "bridges.bind")}</button></footer>
      </form>
    </Dialog>
  );
}

function UnbindDialog({ bridge, onClose, onDone }: { bridge: Bound; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      await del(`/api/discovery/unbind/${encodeURIComponent(bridge.bridgeId)}`);
      notify(t("bridges.unbound", { id: bridge.bridgeId }));
      onDone();
    } catch (err) {
      setError(err);
      setBusy(false);
      void bound.read();
    }
  };
  return (
    <Dialog title={t("bridges.unbindNamed", { id: bridge.bridgeId })} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <p>{t("bridges.unbindAbout", { n: count(bridge.tagCount), driver: bridge.driverId })}</p>
        {!bridge.isLinkOpen && <p>{t("bridges.unbindAway")}</p>}
        {error ? <p class="error" role="alert">{why(error)}</p> : null}
        <footer><span class="spring" /><button type="button" autofocus onClick={onClose}>{t("cancel")}</button><button class="strong" disabled={busy}>{t("bridges.unbind")}</button></footer>
      </form>
    </Dialog>
  );
}

/** How the link of a bridge is. */
function Link({ b }: { b: Bound }) {
  const text = b.isLinkOpen ? word("driver", "Online") : t(b.isOnline ? "bridges.reconnecting" : "bridges.offline");
  return <span class={`state${b.isLinkOpen ? "" : " off"}`}><StateMark good={b.isLinkOpen} />{text}</span>;
}

const mebibytes = (n: number) => decimal(n / (1 << 20), 1);

/** What waits at a bridge for the engine, as it said last: every 10 s by its link, and by each heartbeat without one. */
function Waiting({ b }: { b: Bound }) {
  const w = b.buffer;
  if (!w) return <>–</>;
  const more = [
    w.waiting > 0 && w.oldestAt ? t("bridges.bufferOldest", { time: when(w.oldestAt) }) : "",
    w.maxBytes > 0 ? t("bridges.bufferUsed", { used: mebibytes(w.bytes), most: mebibytes(w.maxBytes) }) : "",
    w.dropped > 0 ? t("bridges.bufferDropped", { n: count(w.dropped) }) : "",
    b.isLinkOpen ? "" : t("bridges.bufferAt", { time: when(w.at) }),
  ];
  return <><span class="figure">{count(w.waiting)}</span><small class="why">{more.filter(Boolean).join(" · ")}</small></>;
}

function Bindings({ onUnbind }: { onUnbind: (b: Bound) => void }) {
  const list = bound.data.value;
  const sorted = list ? [...list].sort((a, b) => Number(a.isLinkOpen) - Number(b.isLinkOpen) || (natural(a.bridgeId) < natural(b.bridgeId) ? -1 : 1)) : [];
  return (
    <>
      {bound.error.value ? <p class="error" role="alert">{problemText(bound.error.value)}</p> : null}
      <table class="plain wide" aria-labelledby="bridges-title">
        <thead>
          <tr>
            <th>{t("bridges.bridge")}</th><th>{t("bridges.link")}</th><th>{t("bridges.driver")}</th><th class="end">{t("tags")}</th><th>{t("bridges.buffer")}</th><th class="end">{t("bridges.lost")}</th>
            <th>{t("bridges.heartbeat")}</th><th>{t("bridges.since")}</th><th>{t("bridges.url")}</th>{may("Admin") && <th><span class="sr">{t("bridges.unbind")}</span></th>}
          </tr>
        </thead>
        <tbody>
          {sorted.map((b) => (
            <tr key={b.bridgeId}>
              <th scope="row">{b.bridgeId}</th>
              <td data-label={t("bridges.link")}><Link b={b} />{b.lastError && <small class="why">{b.lastError}</small>}</td>
              <td data-label={t("bridges.driver")}>{b.driverId} <span class="quiet">{b.driverType}</span></td>
              <td data-label={t("tags")} class="end figure">{count(b.tagCount)}</td>
              <td data-label={t("bridges.buffer")}><Waiting b={b} /></td>
              <td data-label={t("bridges.lost")} class="end figure">{count(b.lostSamples)}</td>
              <td data-label={t("bridges.heartbeat")} class="figure">{when(b.lastHeartbeatAt)}</td>
              <td data-label={t("bridges.since")} class="figure">{when(b.boundAt)}</td>
              <td data-label={t("bridges.url")}><Address url={b.baseUrl} /></td>
              {may("Admin") && <td class="actions"><button type="button" aria-label={t("bridges.unbindNamed", { id: b.bridgeId })} onClick={() => onUnbind(b)}>{t("bridges.unbind")}</button></td>}
            </tr>
          ))}
        </tbody>
      </table>
      {list?.length === 0 && <p class="empty">{t("bridges.none")}</p>}
      {!list && !bound.error.value && <p class="empty">{t("loading")}</p>}
    </>
  );
}

function Results({ found, onBind }: { found: Found[]; onBind: (f: Found) => void }) {
  if (found.length === 0) return <p class="empty">{t("bridges.nothing")}</p>;
  return (
    <table class="plain wide" aria-labelledby="found-title">
      <thead><tr><th>{t("bridges.bridge")}</th><th>{t("state")}</th><th>{t("name")}</th><th>{t("bridges.driver")}</th><th class="end">{t("tags")}</th><th>{t("bridges.url")}</th><th>{t("bridges.version")}</th>{may("Admin") && <th><span class="sr">{t("bridges.bind")}</span></th>}</tr></thead>
      <tbody>
        {found.map((f) => (
          <tr key={f.bridgeId}>
            <th scope="row">{f.bridgeId}</th>
            <td data-label={t("state")}>{word("bridge", f.status)}{f.boundEngineId && <small class="why">{t("bridges.boundTo", { engine: f.boundEngineId })}</small>}</td>
            <td data-label={t("name")}>{[f.name, f.location].filter(Boolean).join(" · ") || "–"}</td>
            <td data-label={t("bridges.driver")}>{f.driverType}</td>
            <td data-label={t("tags")} class="end figure">{count(f.tagCount)}</td>
            <td data-label={t("bridges.url")}><Address url={f.baseUrl} /></td>
            <td data-label={t("bridges.version")}>{f.version}</td>
            {may("Admin") && <td class="actions">{f.status === "Free" && <button type="button" aria-label={t("bridges.bindNamed", { id: f.bridgeId })} onClick={() => onBind(f)}>{t("bridges.bind")}</button>}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type Opened = { kind: "bind"; found?: Found } | { kind: "unbind"; bridge: Bound };

export default function Bridges() {
  useRepeat(() => void bound.read(), 3000);
  const [found, setFound] = useState<Found[]>();
  const [scanning, setScanning] = useState(false);
  const [error, setError] = useState<unknown>();
  const [opened, setOpened] = useState<Opened>();
  const left = useRef(new AbortController());
  useEffect(() => () => left.current.abort(), []);
  const scan = async () => {
    setScanning(true);
    setError(undefined);
    try {
      setFound(await get<Found[]>("/api/discovery/scan", { timeoutSeconds: scanSeconds, excludeBound: false }, left.current.signal));
    } catch (err) {
      if (!left.current.signal.aborted) setError(err);
    }
    if (!left.current.signal.aborted) setScanning(false);
  };
  const close = () => setOpened(undefined);
  const done = () => {
    close();
    setFound(undefined); // who is free has changed
    void bound.read();
  };
  const list = bound.data.value;
  return (
    <section class="panel fill" aria-labelledby="bridges-title">
      <header class="tools">
        <h1 id="bridges-title">{t("bridges")}</h1>
        <span class="quiet" role="status">{list ? t("bridges.online", { n: count(list.filter((b) => b.isLinkOpen).length), of: count(list.length) }) : ""}</span>
        <span class="spring" />
        <button type="button" disabled={scanning} onClick={() => void scan()}>{t(scanning ? "bridges.scanning" : "bridges.scan")}</button>
        {may("Admin") && <button type="button" onClick={() => setOpened({ kind: "bind" })}>{t("bridges.byAddress")}</button>}
      </header>
      <div class="scroll" tabIndex={0} role="group" aria-labelledby="bridges-title">
        <Bindings onUnbind={(bridge) => setOpened({ kind: "unbind", bridge })} />
        {(scanning || found || error) && (
          <div class="found" aria-busy={scanning}>
            <h2 id="found-title">{t("bridges.found")}</h2>
            {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
            {scanning ? <p class="empty" role="status">{t("bridges.looking", { n: scanSeconds })}</p> : found && <Results found={found} onBind={(f) => setOpened({ kind: "bind", found: f })} />}
          </div>
        )}
      </div>
      {opened?.kind === "bind" && <BindDialog found={opened.found} onClose={close} onDone={done} />}
      {opened?.kind === "unbind" && <UnbindDialog bridge={opened.bridge} onClose={close} onDone={done} />}
    </section>
  );
}
