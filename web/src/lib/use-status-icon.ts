import { useEffect } from "react";
import { lookOf, type Status } from "./statuses.ts";

/** The tab's icon shows a status while the page is open. */
export function useStatusIcon(status: Status): void {
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (!link) return undefined;
    const before = link.href;
    link.href = iconOf(status);
    return () => void (link.href = before);
  }, [status]);
}

function iconOf(status: Status): string {
  const { shape, colour } = lookOf(status);
  const probe = document.createElement("span");
  probe.style.color = colour;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="${color}" stroke-width="2.25" stroke-linecap="round" stroke-linejoin="round"><path d="${shape}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
