/** A signal that follows another until disposed. `AbortSignal.any` costs 10 µs and leaves work to the collector. */
type Follower = { signal: AbortSignal; abort: (reason: unknown) => void } & Disposable;

export function follow(outer: AbortSignal): Follower {
  const controller = new AbortController();
  const abort = (reason: unknown): void => controller.abort(reason);
  const pass = (): void => abort(outer.reason);
  if (outer.aborted) pass();
  else outer.addEventListener("abort", pass, { once: true });
  return { signal: controller.signal, abort, [Symbol.dispose]: () => outer.removeEventListener("abort", pass) };
}
