import { useEffect, useEffectEvent } from "react";

const STORED = "autograph.keys";

/** Whether single characters do something (WCAG 2.1.4): who dictates, or hits keys by accident, turns them off in the help. */
export const areSingleKeysOn = (): boolean => localStorage.getItem(STORED) !== "off";

export function setSingleKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, "off");
}

const GOES_ON: ReadonlySet<string> = new Set(["j", "k"]);

/** Single keys of a page, wherever the focus is but in a field that takes text, and not while a dialog is open. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const take = useEffectEvent((event: KeyboardEvent) => {
    const act = keys[event.key];
    // Holding a key moves on through a list; nothing else repeats.
    if (event.repeat && !GOES_ON.has(event.key)) return;
    if (!act || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTaken(event.target) || isDialogOpen()) return;
    if (event.key.length === 1 && !areSingleKeysOn()) return;
    event.preventDefault();
    act();
  });
  useEffect(() => {
    const ending = new AbortController();
    addEventListener("keydown", (event) => take(event), { signal: ending.signal });
    return () => ending.abort();
  }, []);
}

/** Wherever the focus is. */
export const isDialogOpen = (): boolean => document.querySelector("[aria-modal=true]") !== null;

const PRESSED: ReadonlySet<string> = new Set(["radio", "checkbox", "button", "submit"]);

function isTaken(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !PRESSED.has(target.type);
  return target.isContentEditable || target.closest("textarea, select, [role=dialog], [role=menu]") !== null;
}
