import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** Keys that lead up. */
const UP: ReadonlySet<string> = new Set(["ArrowUp", "PageUp", "Home"]);
/** A position may have a fraction. */
const NEAR_PX = 2;

/** `isLeft`: the end of what grows is not held in sight. */
type Held = { isHeld: boolean; isLeft: boolean; hold: () => void };

type Options = {
  /** It grows. */
  isLive: boolean;
  isHeldAtFirst: boolean;
  /** Where it is to be scrolled to. While it is held, nothing else may scroll it but a person and the browser. */
  end: () => number;
};

/**
 * Holds the end of what is scrolled in sight, until somebody scrolls away from it or does something in it. While it grows, scrolling back to
 * the end holds it again.
 */
export function useHeldEnd(scrolled: RefObject<HTMLElement | null>, { isLive, isHeldAtFirst, end }: Options): Held {
  const [isHeld, setIsHeld] = useState(isHeldAtFirst);
  /** Where it was scrolled to here. */
  const put = useRef<number>(undefined);
  const isAtEnd = (): boolean => {
    const { scrollTop, clientHeight, scrollHeight } = scrolled.current!;
    return scrollHeight - clientHeight - scrollTop <= NEAR_PX;
  };
  /** Whether other keys have scrolled it, or a screen reader, which needs none. The browser itself scrolls what became shorter, to its end. */
  const isScrolled = (): boolean => {
    const { scrollTop } = scrolled.current!;
    const by = scrollTop - (put.current ?? scrollTop);
    return by < -NEAR_PX ? !isAtEnd() : by > NEAR_PX && !isLive;
  };
  // With each drawing: it may have grown.
  useLayoutEffect(() => {
    if (!isHeld || isScrolled()) return;
    scrolled.current!.scrollTo({ top: end() });
    put.current = scrolled.current!.scrollTop;
  });
  const acted = useEffectEvent((event: Event): void => {
    const isUp =
      event instanceof WheelEvent
        ? event.deltaY < 0
        : !(event instanceof KeyboardEvent) || UP.has(event.key) || (event.key === "Tab" && event.shiftKey);
    if (isUp || !isLive) setIsHeld(false);
  });
  const moved = useEffectEvent((): void => {
    if (isScrolled()) setIsHeld(false);
    else if (isAtEnd()) put.current = scrolled.current!.scrollTop;
    if (isLive && isAtEnd()) setIsHeld(true);
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
  const hold = (): void => {
    put.current = undefined;
    setIsHeld(true);
  };
  return { isHeld, isLeft: isLive && !isHeld, hold };
}
