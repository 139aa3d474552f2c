/** A connection of the bench's own to a server's private PostgreSQL: for filling it and for reading many rows at once. */
import path from "node:path";
import pg from "pg";
import { socketConnection } from "../server/src/postgres/embedded.ts";
import { readPassword } from "../server/src/postgres/postgres-password.ts";
import { readPidFile } from "../server/src/postgres/postmaster.ts";
import type { Server } from "./launch.ts";

export type Postgres = { query(text: string, values?: unknown[]): Promise<Record<string, any>[]> } & AsyncDisposable;

/** It is there after `kill -9` of the server too. */
export async function connectTo({ dataFolder }: Pick<Server, "dataFolder">): Promise<Postgres> {
  const { socketFolder } = readPidFile(path.join(dataFolder, "postgres"))!;
  const client = new pg.Client(socketConnection(socketFolder, readPassword(dataFolder)!));
  await client.connect();
  await client.query("set timezone = 'UTC'");
  return {
    query: async (text, values) => (await client.query(text, values)).rows as Record<string, any>[],
    [Symbol.asyncDispose]: () => client.end(),
  };
}
