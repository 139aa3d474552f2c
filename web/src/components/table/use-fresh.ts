import { useEffect, useRef, useState } from "react";

/** Nobody counts further, and a page that is open for a day keeps no more. */
export const MAX_FRESH = 1_000;
const SHOWN_EVERY_MS = 100;

/** The ids of what came to a list meanwhile: 200 a second are counted ten times a second. */
export function useFresh() {
  const ids = useRef<Set<string>>(new Set());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [count, setCount] = useState(0);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  const show = (): void => {
    timer.current = undefined;
    setCount(ids.current.size);
  };
  const later = (): void => void (timer.current ??= setTimeout(show, SHOWN_EVERY_MS));
  const add = (id: string): void => {
    if (ids.current.size >= MAX_FRESH) return;
    ids.current.add(id);
    later();
  };
  const drop = (id: string): void => {
    if (ids.current.delete(id)) later();
  };
  const clear = (): void => {
    clearTimeout(timer.current);
    ids.current.clear();
    show();
  };
  return { count, add, drop, clear };
}
