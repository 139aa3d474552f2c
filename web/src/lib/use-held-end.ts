import { useEffect, useEffectEvent, useLayoutEffect, useState, type RefObject } from "react";

/** Keys that lead up. */
const UP: ReadonlySet<string> = new Set(["ArrowUp", "PageUp", "Home"]);
/** A position may have a fraction. */
const NEAR_PX = 2;

/** `isLeft`: the end of what grows is not held in sight. */
type Held = { isLeft: boolean; hold: () => void };

type Options = {
  /** It grows. */
  isLive: boolean;
  isHeldAtFirst: boolean;
  /** Where it is to be scrolled to. */
  end: () => number;
};

/**
 * Holds the end of what is scrolled in sight, until somebody scrolls away from it or does something in it. While it grows, scrolling back to
 * the end holds it again.
 */
export function useHeldEnd(scrolled: RefObject<HTMLElement | null>, { isLive, isHeldAtFirst, end }: Options): Held {
  const [isHeld, setIsHeld] = useState(isHeldAtFirst);
  // With each drawing: it may have grown.
  useLayoutEffect(() => {
    if (isHeld) scrolled.current!.scrollTo({ top: end() });
  });
  const acted = useEffectEvent((event: Event): void => {
    const isUp =
      event instanceof WheelEvent
        ? event.deltaY < 0
        : !(event instanceof KeyboardEvent) || UP.has(event.key) || (event.key === "Tab" && event.shiftKey);
    if (isUp || !isLive) setIsHeld(false);
  });
  const moved = useEffectEvent((): void => {
    const { scrollTop, clientHeight, scrollHeight } = scrolled.current!;
    if (isLive && scrollHeight - clientHeight - scrollTop <= NEAR_PX) setIsHeld(true);
  });
  useEffect(() => {
    const element = scrolled.current!;
    const ending = new AbortController();
    const listening = { signal: ending.signal, passive: true };
    // A click is one of a key, too: what it opens is to stay in sight.
    for (const name of ["wheel", "touchmove", "pointerdown", "click", "keydown"])
      element.addEventListener(name, (event) => acted(event), listening);
    element.addEventListener("scroll", () => moved(), listening);
    return () => ending.abort();
  }, [scrolled]);
  return { isLeft: isLive && !isHeld, hold: () => setIsHeld(true) };
}
