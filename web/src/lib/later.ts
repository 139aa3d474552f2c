import { lazy, type ComponentType, type LazyExoticComponent } from "react";

/** Once the first page has what it needs. */
const STILL_MS = 2_000;

/**
 * A part that the first page does without. It is loaded when it is first shown, or soon after the page is there: later the server may
 * be away, or have a newer version.
 */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  const loadAsDefault = async () => ({ default: await load() });
  // When it fails, so does what shows it, which says why.
  setTimeout(() => void loadAsDefault().catch(() => undefined), STILL_MS);
  return lazy(loadAsDefault);
}
