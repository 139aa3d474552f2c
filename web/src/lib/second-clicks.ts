/**
 * The second of two clicks in one place was meant for what stood there at the first. It does nothing to what has appeared there since: the
 * next approval, a button under a menu that closed, a row that moved up.
 */

/** Longest time between the two clicks, as for a double click on most systems. */
const SERIES_MS = 500;
const SAME_PLACE_PX = 8;

type Click = { x: number; y: number; at: number; pressed: Element | null };

export function guardSecondClicks(): void {
  let last: Click | undefined;
  const guard = (event: MouseEvent): void => {
    // The click comes from a key or a program.
    if (event.detail === 0) return;
    // Links are not guarded: they only lead elsewhere.
    const pressed = event.target instanceof Element ? event.target.closest("button, [role^=menuitem]") : null;
    const click = { x: event.clientX, y: event.clientY, at: event.timeStamp, pressed };
    if (last && isSeries(last, click) && pressed !== null && pressed !== last.pressed) {
      event.preventDefault();
      event.stopPropagation();
      last = { ...last, at: click.at };
    } else last = click;
  };
  addEventListener("click", guard, { capture: true });
}

const isSeries = (one: Click, next: Click): boolean =>
  next.at - one.at < SERIES_MS &&
  Math.abs(next.x - one.x) <= SAME_PLACE_PX &&
  Math.abs(next.y - one.y) <= SAME_PLACE_PX;
