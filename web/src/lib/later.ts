import { lazy, type ComponentType, type LazyExoticComponent } from "react";
import { loadQuietly } from "./new-files.ts";

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
  setTimeout(() => void loadQuietly(loadAsDefault), STILL_MS);
  return lazy(loadAsDefault);
}
