import { useEffect, useEffectEvent, useRef } from "react";

const MIN_PAUSE_MS = 1_000;

/** Reads when a count has changed, a second after the last time at the earliest. */
export function useReadAgain(count: number, read: () => void): void {
  const told = useRef(count);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const readAt = useRef(0);
  const due = useEffectEvent(() => {
    timer.current = undefined;
    readAt.current = performance.now();
    read();
  });
  useEffect(() => {
    if (count === told.current) return;
    told.current = count;
    timer.current ??= setTimeout(() => due(), readAt.current + MIN_PAUSE_MS - performance.now());
  }, [count]);
  useEffect(() => () => clearTimeout(timer.current), []);
}
