import { useEffect } from "react";

/** Of the tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Autograph`;
  }, [title]);
}
