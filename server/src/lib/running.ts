/**
 * On whose behalf the current code runs. Costs nothing to keep: V8 carries it along with each promise. The watchdog asks
 * a stalled thread for it.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export type Running = {
  requestId?: string;
  /** The operation's text and name, once they are known. */
  query?: string;
  operationName?: string | undefined;
  runId?: string;
};

export const running = new AsyncLocalStorage<Running>();
