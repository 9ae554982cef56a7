import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, newID, post, Problem, problemText, refused, type Write } from "./api";
import { decimal, value, when } from "./format";
import { t, word } from "./strings";
import { Figure } from "./tags";
import type { Row } from "./tagstore";
import { Dialog } from "./ui";

/** Why a text is no value of the tag; empty when it is one. */
function fault(r: Row, text: string): string {
  if (r.dataType === "Int" && !/^[+-]?\d+$/.test(text)) return t("write.whole");
  if (r.dataType === "Float" && (text === "" || !Number.isFinite(Number(text)))) return t("write.number");
  if ((r.dataType === "Int" || r.dataType === "Float") && (r.maxValue ?? 0) > (r.minValue ?? 0) && (Number(text) < r.minValue! || Number(text) > r.maxValue!))
    return t("write.range", { lo: decimal(r.minValue!), hi: decimal(r.maxValue!) });
  return "";
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Writes a tag in two steps, and shows what came of it: nothing is taken for granted. */
export function WriteDialog({ r, onClose }: { r: Row; onClose: () => void }) {
  const [text, setText] = useState(r.dataType === "Bool" ? String(!r.currentValue?.boolValue) : "");
  const [step, setStep] = useState<"enter" | "confirm" | "sent">("enter");
  const [tried, setTried] = useState(false);
  const [write, setWrite] = useState<Write>();
  const [error, setError] = useState<{ of: unknown; refused: boolean }>();
  const [unread, setUnread] = useState<unknown>(); // why the outcome cannot be read now
  const gone = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => () => void (gone.current = true), []);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>("[autofocus]")?.focus(), [step]);
  const wrong = fault(r, text);
  const shown = r.dataType === "Bool" ? word("bool", text) : r.dataType === "Float" ? value({ doubleValue: Number(text) }, r) : text;
  const ranged = (r.maxValue ?? 0) > (r.minValue ?? 0);

  const submit = async (e: Event) => {
    e.preventDefault();
    if (step === "enter") {
      setTried(true);
      if (!wrong) setStep("confirm");
      return;
    }
    if (step !== "confirm") return;
    setStep("sent");
    const writeId = newID();
    try {
      const address = r.name.startsWith(`${r.driver}.`) ? r.name.slice(r.driver.length + 1) : r.address;
      await post(`/api/v1/tags/${encodeURIComponent(r.driver)}/${encodeURIComponent(address)}/write`, { value: text, confirm: true, writeId });
    } catch (err) {
      setError({ of: err, refused: refused(err) });
      if (refused(err)) return;
    }
    // It has its id whether its answer came or not: nothing is sent a second time.
    for (let tries = 0; !gone.current; tries++) {
      try {
        const w = await get<Write>(`/api/v1/tags/writes/${encodeURIComponent(writeId)}`);
        setWrite(w);
        setError(undefined);
        setUnread(undefined);
        if (w.state !== "Queued" && w.state !== "Written") return;
      } catch (err) { // the write goes on without the one who looks
        setUnread(err);
      }
      await pause(Math.min(2000, 150 + tries * 50));
    }
  };
  const failed = !!error || (write && ["Failed", "Unknown", "Unconfirmed"].includes(write.state));
  const unknown = unread instanceof Problem && unread.code === "WRITE_NOT_FOUND";
  const over = !!error || (write && write.state !== "Queued" && write.state !== "Written");
  return (
    <Dialog title={t("write.title", { name: r.name })} onClose={onClose}>
      <form ref={form} method="dialog" onSubmit={(e) => void submit(e)} onKeyDown={(e) => { if (e.repeat && e.key === "Enter") e.preventDefault(); /* a key that is held is no second step */ }}>
        {r.description && <p class="about">{r.description}</p>}
        <dl class="pair">
          <dt>{t("write.old")}</dt><dd><Figure r={r} /> {r.unit}</dd>
          {step !== "enter" && <><dt>{t("write.new")}</dt><dd><b class="figure">{shown}</b> {r.unit}</dd></>}
          {ranged && <><dt>{t("range")}</dt><dd class="figure">{decimal(r.minValue!)} … {decimal(r.maxValue!)} {r.unit}</dd></>}
        </dl>
        {step === "enter" && (
          <label>{t("write.new")}{r.unit ? ` (${r.unit})` : ""}
            {r.dataType === "Bool" ? (
              <select value={text} autofocus onChange={(e) => setText(e.currentTarget.value)}><option value="true">{word("bool", "true")}</option><option value="false">{word("bool", "false")}</option></select>
            ) : (
              <input value={text} autofocus inputMode={r.dataType === "String" || r.dataType === "Bytes" ? "text" : "decimal"} autocomplete="off" aria-invalid={tried && !!wrong} aria-describedby="write-fault" onInput={(e) => setText(e.currentTarget.value.trim())} />
            )}
          </label>
        )}
        <p id="write-fault" class="error" role="alert">{step === "enter" && tried ? wrong : ""}</p>
        {step === "confirm" && <p class="say">{t("write.sure")}</p>}
        {step === "sent" && (
          <div class={`outcome${failed ? " bad" : ""}`} role="status">
            <b>{error?.refused ? t("write.refused") : word("write.state", error ? "Unknown" : (write?.state ?? "Queued"))}</b>
            <span>{error ? problemText(error.of) : write?.error ?? (write ? word("write.about", write.state) : "")}</span>
            {error && !error.refused && <span>{t(unknown ? "write.none" : "write.lost")}</span>}
            {unread && !unknown ? <span>{t("write.unread")} {problemText(unread)}</span> : null}
            {write?.completedAt && <time class="quiet">{when(write.completedAt)}</time>}
          </div>
        )}
        <footer>
          {step === "confirm" && <button type="button" onClick={() => setStep("enter")}>{t("back")}</button>}
          <span class="spring" />
          <button type="button" autofocus={step === "sent"} onClick={onClose}>{over ? t("close") : t("cancel")}</button>
          {step === "enter" && <button class="primary">{t("write.review")}</button>}
          {step === "confirm" && <button class="primary" autofocus>{t("write.now")}</button>}
        </footer>
      </form>
    </Dialog>
  );
}
