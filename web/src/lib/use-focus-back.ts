import { useEffect, useState } from "react";

/** When what asks for it is gone, the focus is where it was before; and on the page where that is gone, too. */
export function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // Once the dialog, which holds the focus, is gone.
      setTimeout(() => {
        if (document.activeElement && document.activeElement !== document.body) return;
        const to = before?.isConnected ? before : document.getElementById("page");
        if (to instanceof HTMLElement) to.focus();
      });
    },
    [before],
  );
}
