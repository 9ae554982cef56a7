import { t } from "./strings";

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Why a field is refused, in the language of the console; browsers speak their own. */
function why(f: Field): string {
  const v = f.validity;
  if (v.customError) return f.validationMessage;
  if (v.valueMissing) return t(f.tagName === "SELECT" || (f as HTMLInputElement).type === "file" ? "field.choose" : "field.missing");
  const { min = "", max = "" } = f as HTMLInputElement;
  if (v.rangeUnderflow || v.rangeOverflow) return min && max ? t("write.range", { lo: min, hi: max }) : v.rangeUnderflow ? t("field.least", { lo: min }) : t("field.most", { hi: max });
  if (v.stepMismatch) return t("write.whole");
  if (v.badInput) return t(f.type === "number" ? "write.number" : "field.wrong");
  return t("field.wrong");
}

const shown = new WeakMap<Field, HTMLElement>();
let last = 0;
let first: Field | undefined; // of those that are refused together

function unmark(f: Field): void {
  const note = shown.get(f);
  if (!note) return;
  const about = (f.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== note.id).join(" ");
  if (about) f.setAttribute("aria-describedby", about);
  else f.removeAttribute("aria-describedby");
  f.removeAttribute("aria-invalid");
  note.remove();
  shown.delete(f);
}

function mark(f: Field): void {
  unmark(f);
  const note = document.createElement("small");
  note.id = `invalid-${++last}`;
  note.className = "invalid";
  note.setAttribute("aria-hidden", "true"); // it describes the field, and is no part of its name
  note.textContent = why(f);
  f.after(note);
  f.setAttribute("aria-invalid", "true");
  f.setAttribute("aria-describedby", `${f.getAttribute("aria-describedby") ?? ""} ${note.id}`.trim());
  shown.set(f, note);
}

/** Says beside each field of a form why it is refused, instead of the browser. */
export function watchFields(): void {
  document.addEventListener("invalid", (e) => {
    const f = e.target as Field;
    e.preventDefault();
    mark(f);
    if (first) return;
    first = f;
    setTimeout(() => { // behind the events of the other fields
      first?.focus();
      first?.scrollIntoView({ block: "nearest" });
      first = undefined;
    });
  }, true);
  const typed = (e: Event) => {
    const f = e.target as Field;
    if (!shown.has(f)) return;
    if (f.validity.valid) unmark(f);
    else shown.get(f)!.textContent = why(f);
  };
  document.addEventListener("input", typed);
  document.addEventListener("change", typed);
}
