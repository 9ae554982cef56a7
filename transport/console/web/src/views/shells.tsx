import { useEffect, useRef, useState } from "preact/hooks";
import { answer, download, problemText, query } from "../api";
import { count } from "../format";
import { go, href, route } from "../route";
import { may } from "../session";
import { language, texts } from "../strings";
import { Dialog, Grid, Icon, narrowed, notify, phone, type Column } from "../ui";
import { api, encoded, inLanguage, last, shells, type Shell } from "./aas";
import { SubmodelTree } from "./elements";
import type en from "./shells.en.json";

const t = texts<keyof typeof en>();
const aasx = "application/asset-administration-shell-package+xml";

interface Imported {
  created: number;
  replaced: number;
  files: number;
  unused?: string[];
  findings?: (string | { path?: string; constraint?: string; message?: string; document?: string })[];
}

function UploadDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [file, setFile] = useState<File>();
  const [replace, setReplace] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [done, setDone] = useState<Imported>();
  const submit = async (e: Event) => {
    e.preventDefault();
    if (!file) return;
    setBusy(true);
    setError(undefined);
    const body = new FormData();
    body.append("file", file);
    try {
      const r = await answer({ method: "POST", path: query("/upload", { replace: replace || undefined }), body });
      setDone((await r.json()) as Imported);
      onDone();
    } catch (err) {
      setError(err);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("shells.upload")} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        {done ? (
          <div class="outcome" role="status">
            <b>{t("shells.imported")}</b>
            <span>{t("shells.importedText", { created: count(done.created), replaced: count(done.replaced), files: count(done.files) })}</span>
            {!!done.unused?.length && <span>{t("shells.unused", { n: count(done.unused.length) })}</span>}
            {!!done.findings?.length && (
              <>
                <span>{t("shells.findings", { n: count(done.findings.length) })}</span>
                <ul class="findings" tabIndex={0} aria-label={t("shells.findings", { n: count(done.findings.length) })}>{done.findings.slice(0, 200).map((f, i) => <li key={i}>{typeof f === "string" ? f : [f.document, f.path, f.constraint, f.message].filter(Boolean).join(" · ")}</li>)}</ul>
              </>
            )}
          </div>
        ) : (
          <>
            <p class="quiet">{t("shells.uploadAbout")}</p>
            <label>{t("shells.file")}<input type="file" required accept=".aasx,.json,.xml" onChange={(e) => setFile(e.currentTarget.files?.[0])} /></label>
            <label class="choice"><span>{t("shells.replace")}</span><input type="checkbox" checked={replace} onChange={(e) => setReplace(e.currentTarget.checked)} /></label>
            {busy && <progress aria-label={t("shells.uploading")} />}
          </>
        )}
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <footer>
          <span class="spring" />
          <button type="button" onClick={onClose}>{t(done ? "close" : "cancel")}</button>
          {!done && <button class="primary" disabled={busy || !file}>{t("shells.uploadNow")}</button>}
        </footer>
      </form>
    </Dialog>
  );
}

/** A shell: its asset and the tree of its submodels. */
function ShellDetail({ id }: { id: string }) {
  const [shell, setShell] = useState<Shell>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const control = new AbortController();
    answer({ method: "GET", path: `${api}/shells/${encoded(id)}`, signal: control.signal }).then((r) => r.json()).then(setShell, (err: unknown) => control.signal.aborted || setError(err));
    return () => control.abort();
  }, [id]);
  const save = async (media: string, extension: string) => {
    setBusy(true);
    try {
      const parts = query(`${api}/serialization`, { aasIds: encoded(id), submodelIds: (shell?.submodels ?? []).map((r) => encoded(last(r))), includeConceptDescriptions: true });
      await download(parts, `${shell?.idShort || "shell"}.${extension}`, media);
    } catch (err) {
      notify(problemText(err), true);
    } finally {
      setBusy(false);
    }
  };
  const a = shell?.assetInformation;
  return (
    <aside class="panel fill detail" aria-labelledby="shell-title">
      <header class="tools">
        <h2 id="shell-title" role="heading" aria-level={narrowed.value ? 1 : 2}>{shell?.idShort || id}</h2>
        <span class="spring" />
        {shell && <button type="button" disabled={busy} onClick={() => void save(aasx, "aasx")}>{t("shells.aasx")}</button>}
        {shell && <button type="button" disabled={busy} onClick={() => void save("application/json", "json")}>{t("shells.json")}</button>}
        <a class="icon-button" href={href("shells")} aria-label={t("close")}><Icon name="close" /></a>
      </header>
      {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
      {shell && (
        <div class="scroll body" tabIndex={0} role="group" aria-labelledby="shell-title">
          {shell.description && <p class="about">{inLanguage(shell.description, language.value)}</p>}
          <SubmodelTree ids={(shell.submodels ?? []).map(last)} />
          <dl>
            <dt>{t("shells.id")}</dt><dd>{shell.id}</dd>
            <dt>{t("shells.asset")}</dt><dd>{a?.globalAssetId ?? "–"}</dd>
            <dt>{t("shells.kind")}</dt><dd>{a?.assetKind ?? "–"}</dd>
            {a?.specificAssetIds?.slice(0, 50).map((s) => <><dt key={s.name}>{s.name}</dt><dd>{s.value}</dd></>)}
          </dl>
        </div>
      )}
    </aside>
  );
}

export default function Shells() {
  const [text, setText] = useState("");
  const [list, setList] = useState<Shell[]>([]);
  const [state, setState] = useState<"loading" | "more" | "all">("loading");
  const [error, setError] = useState<unknown>();
  const [active, setActive] = useState(-1);
  const [uploading, setUploading] = useState(false);
  const [turn, again] = useState(0);
  const next = useRef<string>();
  const control = useRef<AbortController>();
  const chosen = route.value[1];

  const read = async (begin: boolean) => {
    if (begin) control.current?.abort();
    const mine = (control.current = new AbortController());
    setState("loading");
    try {
      const page = await shells(text.trim(), begin ? undefined : next.current, mine.signal);
      next.current = page.paging_metadata?.cursor;
      setList((l) => (begin ? page.result : [...l, ...page.result]));
      setState(next.current ? "more" : "all");
      setError(undefined);
    } catch (err) {
      if (mine.signal.aborted) return;
      setError(err);
      setState("all");
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => void read(true), text ? 250 : 0);
    return () => clearTimeout(timer);
  }, [text, turn]);
  useEffect(() => () => control.current?.abort(), []);

  const columns: Column[] = [
    { id: "shell", title: t("shells.shell"), width: "minmax(140px, 1fr)" },
    { id: "asset", title: t("shells.asset"), width: "minmax(160px, 1.6fr)" },
    ...(chosen ? [] : [{ id: "description", title: t("shells.description"), width: "minmax(160px, 1.6fr)" }, { id: "submodels", title: t("shells.submodels"), width: "90px", end: true }]),
  ];
  const open = (i: number) => list[i] && go("shells", list[i].id);
  return (
    <div class={`shells${chosen ? " split" : ""}`}>
      <section class="panel fill listing" aria-labelledby="shells-title">
        <header class="tools">
          <h1 id="shells-title">{t("shells")}</h1>
          <input type="search" placeholder={t("shells.search")} aria-label={t("shells.search")} value={text} onInput={(e) => { setText(e.currentTarget.value); setActive(-1); }} />
          <span class="quiet counted" role="status">{t(state === "more" ? "shells.more" : "shells.count", { n: count(list.length) })}</span>
          {may("Admin") && <button type="button" onClick={() => setUploading(true)}>{t("shells.upload")}</button>}
        </header>
        {error ? <p class="error" role="alert">{problemText(error)}</p> : null}
        <Grid
          label={t("shells")} columns={columns} count={list.length} rowHeight={phone.value ? 56 : 30} busy={state === "loading"} active={active} onActive={setActive} onEnter={open}
          onRange={(_, end) => { if (state === "more" && end >= list.length - 20) void read(false); }}
          row={(i, attributes) => {
            const s = list[i], about = inLanguage(s.description, language.value), name = s.idShort || s.id;
            return (
              <div key={s.id} {...attributes} class={`${attributes.class as string}${s.id === chosen ? " chosen" : ""}`} onClick={() => open(i)}>
                {phone.value ? (
                  <span role="gridcell" class="two"><a href={href("shells", s.id)} tabIndex={-1}>{name}</a><span>{about || s.assetInformation.globalAssetId}</span></span>
                ) : (
                  <>
                    <span role="gridcell"><a href={href("shells", s.id)} tabIndex={-1}>{name}</a></span>
                    <span role="gridcell">{s.assetInformation.globalAssetId ?? "–"}</span>
                    {!chosen && <><span role="gridcell">{about}</span><span role="gridcell" class="end figure">{count(s.submodels?.length ?? 0)}</span></>}
                  </>
                )}
              </div>
            );
          }}
          empty={state === "loading" ? t("loading") : text ? t("shells.noneFound") : t("shells.none")}
        />
      </section>
      {chosen && <ShellDetail key={`${chosen} ${turn}`} id={chosen} />}
      {uploading && <UploadDialog onClose={() => setUploading(false)} onDone={() => again((n) => n + 1)} />}
    </div>
  );
}
