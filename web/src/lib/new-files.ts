const KEY = "autograph-reloaded";
const AGAIN_MS = 60_000;

let quietly = 0;

/** A new version replaces the files that an open page would load later: then it is reloaded, once, if there is a server that answers. */
export function reloadForNewFiles(): void {
  addEventListener("vite:preloadError", () => quietly === 0 && void reloadOnce());
}

/** A file that nobody has asked for yet may be missing: the page is not reloaded while a person uses it. */
export async function loadQuietly(load: () => Promise<unknown>): Promise<void> {
  quietly++;
  await load().catch(() => undefined);
  quietly--;
}

async function reloadOnce(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(KEY) ?? 0) < AGAIN_MS) return;
  const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" }).catch(
    () => undefined,
  );
  if (!answer?.ok) return;
  sessionStorage.setItem(KEY, String(Date.now()));
  location.reload();
}
