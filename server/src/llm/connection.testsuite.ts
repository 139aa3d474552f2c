/** A connection at an address where nothing listens. */
import type { Connection } from "./connection.ts";

/** The operator's own, unless it gets an `id`. */
export const connectionOf = (own: Partial<Connection> = {}): Connection => ({
  id: undefined,
  name: "cheap",
  provider: "openai_compatible",
  baseUrl: "http://127.0.0.1:1/v1",
  model: "small",
  apiKey: undefined,
  apiKeyHeader: null,
  prices: null,
  limits: null,
  ...own,
});
