/**
 * A button that ends something, and first asks in place. The button that keeps it takes its place, so that a second click changes
 * nothing. After the end a note stays in that place, so that no button which starts something appears under the pointer.
 */
import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import { Button } from "@mantine/core";
import classes from "./end-in-place.module.css";

type Props = {
  /** The button's label: `Cancel run`. */
  word: string;
  keepWord: string;
  /** Replaces the buttons once there is nothing left to end. */
  note?: string | undefined;
  isAsking: boolean;
  isBusy: boolean;
  size: "compact-sm" | "compact-md";
  onAsk: (isAsking: boolean) => void;
  onEnd: () => void;
};

export function EndInPlace({ word, keepWord, note, isAsking, isBusy, size, onAsk, onEnd }: Props) {
  const place = useRef<HTMLSpanElement>(null);
  const [held, setHeld] = useState<{ minWidth: number; minHeight: number }>();
  const hasEnded = note !== undefined;
  useLayoutEffect(() => {
    if (hasEnded) return undefined;
    const part = place.current!;
    const observer = new ResizeObserver(() => setHeld({ minWidth: part.offsetWidth, minHeight: part.offsetHeight }));
    observer.observe(part);
    return () => observer.disconnect();
  }, [hasEnded]);
  const escape = ({ key }: KeyboardEvent): void => {
    if (key === "Escape") onAsk(false);
  };
  useFocusWithin(place, `${isAsking} ${hasEnded}`);
  return (
    <span ref={place} className={classes["place"]} style={hasEnded ? held : undefined}>
      {hasEnded ? (
        <span role="status" tabIndex={-1} className={classes["note"]} data-first>
          {note}
        </span>
      ) : isAsking ? (
        <span className={classes["asked"]}>
          <Button
            variant="default"
            size={size}
            data-first
            disabled={isBusy}
            onKeyDown={escape}
            onClick={() => onAsk(false)}
          >
            {keepWord}
          </Button>
          <Button color="red" size={size} loading={isBusy} onKeyDown={escape} onClick={onEnd}>
            {word}
          </Button>
        </span>
      ) : (
        <Button variant="default" size={size} data-first onClick={() => onAsk(true)}>
          {word}…
        </Button>
      )}
    </span>
  );
}

/** The focus stays in the place when what had it is replaced, and comes to it when somebody asks from elsewhere. */
function useFocusWithin(place: React.RefObject<HTMLElement | null>, state: string): void {
  const before = useRef(state);
  const focus = useEffectEvent(() => {
    const { activeElement } = document;
    const isLost = activeElement === document.body || activeElement === null;
    if (isLost || place.current?.contains(activeElement))
      place.current?.querySelector<HTMLElement>("[data-first]")?.focus({ preventScroll: true });
  });
  useEffect(() => {
    if (before.current === state) return;
    before.current = state;
    focus();
  }, [state]);
}
