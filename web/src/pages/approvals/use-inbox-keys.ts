import { useEffect, type RefObject } from "react";
import type { Decision } from "../../api/documents.ts";
import { useListKeys } from "../../components/table/use-list-keys.ts";
import { useKeys } from "../../lib/use-keys.ts";

/** `isWaiting`: what is open in the list can be decided. */
type Inbox = { list: RefObject<HTMLTableElement | null>; openId: string | undefined; isWaiting: boolean };

/** `j` and `k` through the lines, `a` and `r` for the one that is open. Answers what gives a line the focus. */
export function useInboxKeys({ list, openId, isWaiting }: Inbox): (id: string) => void {
  const lineOf = (id: string): HTMLElement | null | undefined =>
    list.current?.querySelector<HTMLElement>(`[data-line="${CSS.escape(id)}"]`);
  const focusOn = (id: string): void => lineOf(id)?.focus();
  /** A decision is for the line that is read: nothing while the focus is on another line. */
  const press = (verb: Decision): void => {
    if (openId === undefined) return;
    const focused = document.activeElement;
    if (focused?.hasAttribute("data-line") && focused !== lineOf(openId)) return;
    list.current
      ?.querySelector<HTMLElement>(`[data-card="${CSS.escape(openId)}"]`)
      ?.querySelector<HTMLButtonElement>(`button[value="${verb}"]`)
      ?.click();
  };
  useListKeys({ list });
  useKeys({ a: () => press("approve"), r: () => press("reject") });
  // Somebody else decided what was open here, and what had the focus is gone with it.
  useEffect(() => {
    if (openId !== undefined && !isWaiting && document.activeElement === document.body)
      list.current?.querySelector<HTMLElement>(`[data-line="${CSS.escape(openId)}"]`)?.focus();
  }, [list, openId, isWaiting]);
  return focusOn;
}
