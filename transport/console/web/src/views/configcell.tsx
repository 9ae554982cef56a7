import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { texts } from "../strings";
import { Dialog } from "../ui";
import type en from "./configuration.en.json";
import { cellText, fields, withText, type Field, type Item, type Line } from "./configstore";

const t = texts<keyof typeof en>();

/** Where the keyboard goes from a cell: down, right, or nowhere. */
export type Then = "down" | "right" | "stay";

/** A cell that is being edited. Enter and Tab take what is typed, Escape does not. */
export function CellEditor({ line, name, first, onText, onEnd }: { line: Line; name: Field; first?: string; onText: (text: string) => boolean; onEnd: (then: Then) => void }) {
  const f = fields.find((x) => x.name === name)!;
  const letters = useRef(first ?? ""); // of a choice that is typed
  const choice = (start: string) => f.choices?.find((c) => c.toLowerCase().startsWith(start.toLowerCase()));
  const [text, setText] = useState(() => (f.choices ? (first && choice(first)) || cellText(line.item, name) : (first ?? cellText(line.item, name))));
  const [wrong, setWrong] = useState(false);
  const ref = useRef<HTMLInputElement & HTMLSelectElement>(null);
  const over = useRef(false);
  useLayoutEffect(() => { ref.current?.focus(); if (first === undefined) ref.current?.select?.(); }, []);
  const commit = (then: Then) => {
    if (over.current) return;
    if (!onText(text)) return setWrong(true);
    over.current = true;
    onEnd(then);
  };
  const keys = (e: KeyboardEvent) => {
    e.stopPropagation();
    if (e.key === "Enter") commit("down");
    else if (e.key === "Tab") commit("right");
    else if (e.key === "Escape") { over.current = true; onEnd("stay"); }
    else if (f.choices && e.key.length === 1 && e.key !== " " && !e.ctrlKey && !e.metaKey && !e.altKey) {
      const more = [letters.current + e.key, e.key].find(choice);
      if (more) { letters.current = more; setText(choice(more)!); }
    } else return;
    e.preventDefault();
  };
  const common = { ref, value: text, "aria-label": t("config.cell", { field: name, tag: line.item.tagId }), "aria-invalid": wrong, onKeyDown: keys, onBlur: () => { if (!over.current) { over.current = true; onText(text); onEnd("stay"); } } };
  return f.choices
    ? <select {...common} onChange={(e) => setText(e.currentTarget.value)}>{f.choices.map((c) => <option key={c} value={c}>{c}</option>)}</select>
    : <input {...common} maxLength={4096} autocapitalize="none" spellcheck={false} autocomplete="off" onInput={(e) => { setText(e.currentTarget.value); setWrong(false); }} />;
}

/** All members of an item, for screens that are too narrow for the grid. */
export function ItemDialog({ line, onClose, onSave, onRemove }: { line: Line; onClose: () => void; onSave: (item: Item) => void; onRemove: () => void }) {
  const [typed, setTyped] = useState<Partial<Record<Field, string>>>(() => Object.fromEntries(fields.map((f) => [f.name, cellText(line.item, f.name)])));
  const [wrong, setWrong] = useState("");
  const submit = (e: Event) => {
    e.preventDefault();
    let item: Item = line.item;
    for (const f of fields) {
      const next = withText(item, f.name, typed[f.name] ?? "");
      if (!next) return setWrong(t("config.noFit", { field: f.name, text: typed[f.name] ?? "" }));
      item = next;
    }
    onSave(item);
  };
  return (
    <Dialog title={line.item.tagId || t("config.add")} onClose={onClose}>
      <form method="dialog" class="driver" onSubmit={submit}>
        {fields.map((f) => (
          <label key={f.name}>{f.name}
            {f.choices
              ? <select value={typed[f.name]} onChange={(e) => setTyped({ ...typed, [f.name]: e.currentTarget.value })}>{f.choices.map((c) => <option key={c} value={c}>{c}</option>)}</select>
              : <input value={typed[f.name]} readOnly={f.name === "tagId" && !!line.base} required={f.name === "tagId" || f.name === "driverId"} autocapitalize="none" spellcheck={false} onInput={(e) => setTyped({ ...typed, [f.name]: e.currentTarget.value })} />}
          </label>
        ))}
        {wrong && <p class="error" role="alert">{wrong}</p>}
        <footer><button type="button" onClick={onRemove}>{t(line.removed ? "config.keep" : "config.remove")}</button><span class="spring" /><button type="button" onClick={onClose}>{t("cancel")}</button><button class="primary">{t("config.take")}</button></footer>
      </form>
    </Dialog>
  );
}
