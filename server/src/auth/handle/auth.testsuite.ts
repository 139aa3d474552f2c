/** A test's own database, and sign-in on it with a clock that the test moves. */
import { testClock, type TestClock } from "../../../../test/clock.ts";
import { sharedPostgres } from "../../../../test/postgres.ts";
import { createLog } from "../../lib/log/log.ts";
import { openDatabase, type Database } from "../../storage/database.ts";
import { createAuth, type Auth, type AuthOptions } from "./auth.ts";
import { callerNow, mayTheSame } from "../admission/admission.ts";
import type { Acting, Caller } from "../caller.ts";
import { ownerCaller } from "../caller.ts";
import { createOrganization } from "../accounts/create-organization.ts";
import { secretKeys } from "../tokens/secret-key.ts";

export const PASSWORD = "correct horse battery";
export const quiet = createLog("silent");

export type Databases = { open(): Promise<Database> } & AsyncDisposable;

/** On the worker's PostgreSQL, with an empty migrated database for each `open`. */
export async function startDatabases(): Promise<Databases> {
  const postgres = await sharedPostgres();
  return {
    open: async () => {
      const connectionString = await postgres.createMigrated();
      return openDatabase({ connection: { connectionString }, isEmbedded: false, log: quiet });
    },
    [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
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
