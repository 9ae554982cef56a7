import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { download, problemText } from "../api";
import { count } from "../format";
import { may } from "../session";
import { texts } from "../strings";
import { Grid, Icon, notify, phone, type Column } from "../ui";
import { CellEditor, ItemDialog, type Then } from "./configcell";
import { DiscardDialog, ImportDialog, ReviewDialog } from "./configdiff";
import { addLine, addLines, cellText, changed, changedCell, failure, fields, lines, path, pending, readConfig, setCells, setItem, toggleRemoved, type Line, type Typed } from "./configstore";
import type en from "./configuration.en.json";

const t = texts<keyof typeof en>();
const formats = ["xlsx", "csv", "json"] as const;

interface At { row: number; column: number; editing?: { first?: string } }

function Cells({ l, i, at, mine, attributes, onAt, onText, onEnd }: { l: Line; i: number; at: At; mine: boolean; attributes: Record<string, unknown>; onAt: (at: At) => void; onText: (l: Line, column: number, text: string) => boolean; onEnd: (then: Then) => void }) {
  if (phone.value) {
    return (
      <div {...attributes} class={`${attributes.class}${l.removed ? " removed" : ""}`} onClick={() => onAt({ row: i, column: 0, editing: {} })}>
        <span role="gridcell" class="two"><b>{changed(l) ? "● " : ""}{l.item.tagId}</b><small>{l.item.address} {l.item.dataType} {l.item.unit}</small></span>
      </div>
    );
  }
  return (
    <div {...attributes} class={`${attributes.class}${l.removed ? " removed" : ""}`}>
      {fields.map((f, column) => {
        const here = at.row === i && at.column === column;
        const fixed = f.name === "tagId" && !!l.base;
        return (
          <span
            role="gridcell" key={f.name} class={`${here ? "at " : ""}${changedCell(l, f.name) || (!l.base && cellText(l.item, f.name)) ? "new " : ""}${f.kind === "number" ? "end figure" : ""}`} title={cellText(l.item, f.name)}
            aria-readonly={!mine || fixed} onClick={() => onAt({ row: i, column, editing: here && mine && !fixed && !l.removed ? {} : undefined })} onDblClick={() => mine && !fixed && !l.removed && onAt({ row: i, column, editing: {} })}
          >
            {here && at.editing ? <CellEditor line={l} name={f.name} first={at.editing.first} onText={(text) => onText(l, column, text)} onEnd={onEnd} /> : cellText(l.item, f.name)}
          </span>
        );
      })}
      {mine && <span role="gridcell"><button type="button" class="icon-button" tabIndex={-1} aria-label={t(l.removed ? "config.keepTag" : "config.removeTag", { tag: l.item.tagId })} onClick={() => toggleRemoved(l.key)}><Icon name={l.removed ? "back" : "close"} /></button></span>}
    </div>
  );
}

/** Where the keyboard is in the lines that are shown, and what it does there. */
function useCells(list: Line[], wrap: { current: HTMLElement | null }) {
  const [at, setAt] = useState<At>({ row: -1, column: 0 });
  const mine = may("Admin");
  const open = (l: Line | undefined, column: number) => mine && !!l && !l.removed && !(fields[column].name === "tagId" && l.base);
  const editable = (row: number, column: number) => open(list[row], column);
  const focus = () => wrap.current?.querySelector<HTMLElement>(".grid")?.focus();
  const text = (l: Line, column: number, s: string) => {
    const ok = setCells([{ line: l, name: fields[column].name, text: s }]) === 0;
    if (!ok) notify(t("config.noFit", { field: fields[column].name, text: s }), true);
    return ok;
  };
  const end = (then: Then) => {
    setAt((a) => ({ row: then === "down" ? Math.min(a.row + 1, list.length - 1) : a.row, column: then === "right" ? Math.min(a.column + 1, fields.length - 1) : a.column }));
    focus();
  };
  const keys = (e: KeyboardEvent) => {
    if (at.editing || phone.value || e.ctrlKey || e.metaKey || e.altKey || !(e.target as HTMLElement).classList.contains("grid")) return;
    const side = e.key === "ArrowLeft" ? -1 : e.key === "ArrowRight" ? 1 : 0;
    if (e.key === "Delete" && e.shiftKey && mine && list[at.row]) toggleRemoved(list[at.row].key);
    else if (side) setAt({ row: Math.max(at.row, 0), column: Math.max(0, Math.min(fields.length - 1, at.column + side)) });
    else if (!editable(at.row, at.column)) return;
    else if (e.key === "F2") setAt({ ...at, editing: {} });
    else if (e.key === "Delete" || e.key === "Backspace") text(list[at.row], at.column, "");
    else if (e.key.length === 1 && e.key !== " ") setAt({ ...at, editing: { first: e.key } });
    else return;
    e.preventDefault();
  };
  // A block of cells from a spreadsheet: lines, with tabs between the cells.
  const paste = (e: ClipboardEvent) => {
    if (at.editing || at.row < 0 || !mine) return;
    e.preventDefault();
    const block = (e.clipboardData?.getData("text/plain") ?? "").replace(/\r?\n$/, "").split(/\r?\n/).map((l) => l.split("\t"));
    const typed: Typed[] = [];
    let refused = 0, rows = list.slice(at.row, at.row + block.length);
    // Below a new tag are more new ones, not those that are there.
    const fresh = rows.findIndex((l) => l.base) < 0 ? rows : rows.slice(0, rows.findIndex((l) => l.base));
    if (fresh.length > 0 && fresh.length < block.length) rows = [...fresh, ...addLines(fresh[fresh.length - 1], block.length - fresh.length)];
    block.forEach((cells, i) => cells.forEach((text, k) => {
      const line = rows[i], column = at.column + k;
      if (column < fields.length && open(line, column)) typed.push({ line, name: fields[column].name, text });
      else refused++;
    }));
    refused += setCells(typed);
    if (refused) notify(t("config.notPasted", { n: count(refused) }), true);
  };
  return { at, setAt, mine, editable, text, end, keys, paste };
}

export default function Configuration() {
  const [find, setFind] = useState("");
  const [only, setOnly] = useState(false);
  const [opened, setOpened] = useState<"import" | "review" | "discard">();
  const wrap = useRef<HTMLDivElement>(null);
  useEffect(() => void readConfig(false), []);
  const all = lines.value;
  const list = useMemo(() => {
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    return (all ?? []).filter((l) => (!only || changed(l)) && (!l.base || words.every((w) => `${l.item.tagId} ${l.item.driverId} ${l.item.address ?? ""} ${l.item.description ?? ""}`.toLowerCase().includes(w))));
  }, [all, find, only]);
  const cells = useCells(list, wrap);
  const { at, setAt, mine } = cells;
  const open = useMemo(() => pending(all ?? []), [all]);
  const n = open.items.length + open.removed.length;
  useEffect(() => {
    if (!n) return;
    const ask = (e: Event) => e.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [n > 0]);
  const close = () => setOpened(undefined);
  const done = () => { close(); void readConfig(true); };
  const add = () => { setOnly(false); addLine(); setAt({ row: 0, column: 0, editing: {} }); wrap.current?.querySelector(".grid")?.scrollTo(0, 0); };
  const columns: Column[] = [...fields.map((f) => ({ id: f.name, title: f.name, width: f.width, end: f.kind === "number" })), ...(mine ? [{ id: "remove", title: "", width: "36px" }] : [])];
  const picked = phone.value && at.editing ? list[at.row] : undefined;
  return (
    <section class="panel fill config" aria-labelledby="config-title">
      <header class="tools">
        <h1 id="config-title">{t("configuration")}</h1>
        <input type="search" placeholder={t("config.find")} aria-label={t("config.find")} value={find} onInput={(e) => { setFind(e.currentTarget.value); setAt({ row: -1, column: 0 }); }} />
        <label class="choice"><input type="checkbox" checked={only} onChange={(e) => setOnly(e.currentTarget.checked)} /><span>{t("config.only")}</span></label>
        <span class="quiet counted" role="status">{all ? t("config.count", { n: count(list.length), of: count(all.length) }) : t("loading")}</span>
        <span class="segments" role="group" aria-label={t("config.export")}>{formats.map((f) => <button key={f} type="button" aria-label={t("config.exportAs", { format: f.toUpperCase() })} onClick={() => void download(`${path}/export?format=${f}`, `tags.${f}`).catch((err: unknown) => notify(problemText(err), true))}>{f.toUpperCase()}</button>)}</span>
        {mine && <button type="button" onClick={() => setOpened("import")}>{t("config.import")}</button>}
        {mine && <button type="button" onClick={add}>{t("config.add")}</button>}
        {n > 0 && <button type="button" onClick={() => setOpened("discard")}>{t("config.discard")}</button>}
        {mine && <button type="button" class="primary" disabled={n === 0} onClick={() => setOpened("review")}>{t("config.reviewN", { n: count(n) })}</button>}
      </header>
      {failure.value ? <p class="error" role="alert">{problemText(failure.value)} <button type="button" onClick={() => void readConfig(false)}>{t("again")}</button></p> : null}
      <div ref={wrap} class="cells" onKeyDown={cells.keys} onPaste={cells.paste}>
        <Grid
          label={t("configuration")} columns={columns} count={list.length} rowHeight={phone.value ? 52 : 30} busy={!all} active={at.row} empty={all ? t(all.length ? "config.noneFound" : "config.none") : t("loading")}
          onActive={(row) => setAt({ row, column: at.column })} onEnter={(row) => cells.editable(row, at.column) && setAt({ row, column: at.column, editing: {} })}
          row={(i, attributes) => <Cells key={list[i].key} l={list[i]} i={i} at={at} mine={mine} attributes={attributes} onAt={setAt} onText={cells.text} onEnd={cells.end} />}
        />
      </div>
      {picked && mine && (
        <ItemDialog
          key={picked.key} line={picked} onClose={() => setAt({ row: -1, column: 0 })} onSave={(item) => { setItem(picked.key, item); setAt({ row: -1, column: 0 }); }}
          onRemove={() => { toggleRemoved(picked.key); setAt({ row: -1, column: 0 }); }}
        />
      )}
      {opened === "import" && <ImportDialog onClose={close} onDone={done} />}
      {opened === "discard" && <DiscardDialog n={n} onClose={close} onDone={done} />}
      {opened === "review" && <ReviewDialog items={open.items} removed={open.removed} onClose={close} onDone={done} />}
    </section>
  );
}
