/** `npm run test:url` runs this before the tests: one PostgreSQL for all of them, named in the environment (test/client.ts). */
import { startTestPostgres } from "./postgres.ts";

/** Four files at a time, a few servers each, with up to 24 connections. */
const CONNECTIONS = "400";

export default async function setup(): Promise<() => Promise<void>> {
  const postgres = await startTestPostgres({ max_connections: CONNECTIONS });
  process.env["TEST_DATABASE_URL"] = postgres.url;
  return () => postgres.stop();
}
