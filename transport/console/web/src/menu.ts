import type { TargetedEvent, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A menu is a details element. It closes with Escape, a press or the focus elsewhere, and another view. */
export function useMenu() {
  const ref = useRef<HTMLDetailsElement>(null);
  const close = () => ref.current?.removeAttribute("open");
  useEffect(() => {
    const outside = (e: Event) => void (ref.current?.contains(e.target as Node) || close());
    document.addEventListener("pointerdown", outside);
    addEventListener("hashchange", close);
    return () => {
      document.removeEventListener("pointerdown", outside);
      removeEventListener("hashchange", close);
    };
  }, []);
  const onKeyDown = (e: TargetedKeyboardEvent<HTMLDetailsElement>) => {
    if (e.key !== "Escape") return;
    close();
    ref.current?.querySelector("summary")?.focus();
  };
  const onFocusOut = (e: TargetedEvent<HTMLDetailsElement, FocusEvent>) => {
    if (e.relatedTarget && !e.currentTarget.contains(e.relatedTarget as Node)) close();
  };
  return { close, menu: { ref, onKeyDown, onFocusOut } };
}
