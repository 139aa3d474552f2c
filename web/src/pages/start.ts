/** What this server is: version, URLs, readiness, and lines to paste. */
import { element } from "../element.ts";
import firstLines from "../first-lines.graphql?raw";

export function showStart(): void {
  element("version").textContent = __VERSION__;
  for (const place of document.querySelectorAll<HTMLElement>("[data-url]")) {
    const url = new URL(place.dataset["url"]!, location.href);
    if (place.dataset["protocol"] === "ws") url.protocol = url.protocol.replace("http", "ws");
    url.hash = "";
    place.textContent = url.href;
    if (place instanceof HTMLAnchorElement) place.href = url.href;
  }
  showLines("you@example.org");
  element("copy").addEventListener("click", () => void copyLines());
  void showReadiness();
}

/** The lines, signing in as `email`. */
export function showLines(email: string): void {
  const text = firstLines.trimEnd().replace('"you@example.org"', () => JSON.stringify(email));
  const lines = text.split("\n").map((line) => {
    const place = document.createElement("span");
    place.textContent = `${line}\n`;
    return place;
  });
  element("lines").replaceChildren(...lines);
}

async function showReadiness(): Promise<void> {
  const response = await fetch("readyz").catch(() => undefined);
  const place = element("ready");
  place.className = response?.ok ? "is-ready" : "is-not-ready";
  place.textContent = response?.ok ? "accepts runs" : "does not accept runs now";
}

async function copyLines(): Promise<void> {
  const lines = element("lines");
  try {
    await navigator.clipboard.writeText(lines.textContent ?? "");
    element("copied").textContent = "Copied.";
  } catch {
    // No clipboard outside HTTPS and localhost: at least everything is selected.
    getSelection()?.selectAllChildren(lines);
    element("copied").textContent = "Selected: copy with Ctrl+C.";
  }
}
