import { useEffect, useState } from "react";

/** Keys that lead up a page. */
const UP: ReadonlySet<string> = new Set(["ArrowUp", "PageUp", "Home"]);

/** Whether the newest step is held in sight. Scrolling up lets go of it. */
export function useFollow(isLive: boolean): [isFollowing: boolean, follow: (isFollowing: boolean) => void] {
  const [isOn, follow] = useState(false);
  const isFollowing = isOn && isLive;
  useEffect(() => {
    if (!isFollowing) return undefined;
    const ending = new AbortController();
    const listening = { signal: ending.signal, passive: true };
    const release = (): void => follow(false);
    addEventListener("wheel", ({ deltaY }) => deltaY < 0 && release(), listening);
    addEventListener("touchmove", release, listening);
    addEventListener("keydown", ({ key }) => UP.has(key) && release(), listening);
    // The scroll bar.
    addEventListener("mousedown", ({ target }) => target === document.documentElement && release(), listening);
    return () => ending.abort();
  }, [isFollowing]);
  return [isFollowing, follow];
}
