/** A test's own database, and sign-in on it with a clock that the test moves. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { startTestPostgres } from "../../../test/postgres.ts";
import { createLog } from "../lib/log/log.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import { migrate } from "../storage/migrate.ts";
import { createAuth, type Auth, type AuthOptions } from "./auth.ts";
import { callerNow, mayTheSame } from "./admission.ts";
import type { Acting, Caller } from "./caller.ts";
import { ownerCaller } from "./caller.ts";
import { createOrganization } from "./accounts/create-organization.ts";
import { secretKeys } from "./tokens/secret-key.ts";

export const PASSWORD = "correct horse battery";
export const quiet = createLog("silent");

export type Databases = { open(): Promise<Database> } & AsyncDisposable;

/** One PostgreSQL, with an empty migrated database for each `open`. */
export async function startDatabases(): Promise<Databases> {
  const postgres = await startTestPostgres();
  return {
    open: async () => {
      const name = `test_${randomBytes(6).toString("hex")}`;
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      const connectionString = postgres.url.replace(/\/postgres$/, `/${name}`);
      const database = openDatabase({ connection: { connectionString }, isEmbedded: false, log: quiet });
      await migrate(database);
      return database;
    },
    [Symbol.asyncDispose]: () => postgres.stop(),
  };
}

export type TestAuth = Auth & { clock: TestClock };

/** As a server process has it; two on one database stand for two processes. */
export function openAuth(database: Database, options: Partial<AuthOptions> = {}): TestAuth {
  const clock = testClock();
  const keys = secretKeys(Buffer.alloc(32, 3));
  return {
    ...createAuth({ database, clock, log: quiet, secretKeys: keys, defaultPlan: "enterprise", ...options }),
    clock,
  };
}

export type TestOwner = { caller: Acting; email: string };

let made = 0;

/** A new organization with a new owner whose password is `PASSWORD`. */
export async function makeOwner(auth: Auth): Promise<TestOwner> {
  const email = `owner${++made}@example.com`;
  const { organization, owner } = await createOrganization(auth, {
    name: `Organization ${made}`,
    owner: { email, name: `Owner ${made}`, password: PASSWORD },
  });
  return { caller: ownerCaller(organization.id, owner), email };
}

/** Whether what was begun for the caller may go on. */
export async function isStillValid(auth: Auth, caller: Caller): Promise<boolean> {
  const now = await callerNow(auth, caller);
  return now !== undefined && mayTheSame(now, caller);
}
