import { effect, signal } from "@preact/signals";
import { language, setLanguage, t, word, type Language } from "./strings";

type Theme = "system" | "light" | "dark";
const stored = localStorage.getItem("otkit.theme");
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "system");
effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("otkit.theme", theme.value);
});

const failed = signal(false);

async function choose(select: HTMLSelectElement): Promise<void> {
  failed.value = false;
  try {
    await setLanguage(select.value as Language);
  } catch {
    failed.value = true;
    select.value = language.peek();
  }
}

export function Preferences() {
  return (
    <>
      <label class="choice">
        <span>{t("theme")}</span>
        <select value={theme.value} onChange={(e) => (theme.value = e.currentTarget.value as Theme)}>
          <option value="system">{t("theme.system")}</option>
          <option value="light">{t("theme.light")}</option>
          <option value="dark">{t("theme.dark")}</option>
        </select>
      </label>
      <label class="choice">
        <span>{t("language")}</span>
        <select value={language.value} onChange={(e) => void choose(e.currentTarget)}>
          <option value="en" lang="en">{t("language.en")}</option>
          <option value="ko" lang="ko">{t("language.ko")}</option>
        </select>
      </label>
      {failed.value && <p class="error" role="alert">{word("problem", "NETWORK")}</p>}
    </>
  );
}
