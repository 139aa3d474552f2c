/** Where this server's paths begin, with a slash at both ends: this file is in `assets/` below it. */
export const BASE = `${new URL(import.meta.url).pathname.split("/").slice(0, -2).join("/")}/`;

/** `kind`: for a WebSocket, the scheme that browsers want for one. */
export function urlOf(path: string, kind: "http" | "ws" = "http"): string {
  const url = new URL(BASE + path, location.origin);
  if (kind === "ws") url.protocol = url.protocol.replace("http", "ws");
  return url.href;
}
