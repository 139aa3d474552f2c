import { useEffect, useEffectEvent, useState } from "react";

/**
 * Acts at once, or, while the pointer is pressed, as soon as it is let go: a line that comes before would move the button from under
 * the pointer, and the press would miss it.
 */
export function useAfterPress(act: () => void): () => void {
  const latest = useEffectEvent(act);
  const [isWaiting, setIsWaiting] = useState(false);
  useEffect(() => {
    if (!isWaiting) return undefined;
    // After the click.
    const onRelease = (): void =>
      void setTimeout(() => {
        setIsWaiting(false);
        latest();
      });
    addEventListener("mouseup", onRelease, { once: true });
    return () => removeEventListener("mouseup", onRelease);
  }, [isWaiting]);
  return () => {
    if (document.querySelector(":active")) setIsWaiting(true);
    else act();
  };
}
