import { afterAll, beforeAll, expect, test } from "vitest";
import { makeOwner, openAuth, quiet, startDatabases } from "../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import { keepRefreshToken, readRefreshToken, sealedRefreshTokens } from "./refresh-tokens.ts";
import { rotateKey } from "./rotate-key.ts";
import { createSecrets, type Secrets } from "./secrets.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let auth: ReturnType<typeof openAuth>;
let organizationId: OrganizationId;
beforeAll(async () => {
  database = stack.use(await stack.use(await startDatabases()).open());
  auth = openAuth(database);
  organizationId = (await makeOwner(auth)).caller.organizationId;
});
afterAll(() => stack.disposeAsync());

/** As another process on the same database has it. */
const open = (key = 3): Secrets =>
  createSecrets({ database, clock: auth.clock, log: quiet, derive: secretKeys(Buffer.alloc(32, key)).derive });
const rows = (): Promise<any[]> => database.query("select sealed from refresh_tokens order by key");

test("a replaced token is read by another process of the organization, and by nobody else; its row says nothing of it", async () => {
  await keepRefreshToken(open(), organizationId, "first", "pl4nted-refresh");
  await keepRefreshToken(open(), organizationId, "first", "pl4nted-again");
  expect(await readRefreshToken(open(), organizationId, "first")).toBe("pl4nted-again");
  expect(await readRefreshToken(open(), organizationId, "second")).toBeUndefined();
  expect(await readRefreshToken(open(4), organizationId, "first")).toBeUndefined();
  const other = (await makeOwner(auth)).caller.organizationId;
  expect(await readRefreshToken(open(), other, "first")).toBeUndefined();
  expect(JSON.stringify(await rows())).not.toContain("pl4nted");
});

test("a rotation of the key seals it again", async () => {
  const before = await rows();
  await rotateKey(database, auth.clock, { refreshTokens: sealedRefreshTokens(open().sealer) });
  expect(await rows()).not.toEqual(before);
  expect(await readRefreshToken(open(), organizationId, "first")).toBe("pl4nted-again");
});

test("an organization keeps at most so many, the latest ones", async () => {
  const { organizationId: own } = (await makeOwner(auth)).caller;
  const [row] = await rows();
  await database.query(
    `insert into refresh_tokens (organization_id, key, sealed, replaced_at)
     select $1, 'old ' || n, $2, $4::timestamptz - n * interval '1 minute' from generate_series(1, $3::int) n`,
    [own, row.sealed, LIMITS.refreshTokens, new Date(auth.clock.now())],
  );
  await keepRefreshToken(open(), own, "new", "t0ken");
  const left = await database.query(
    "select key from refresh_tokens where organization_id = $1 order by replaced_at desc",
    [own],
  );
  expect(left).toHaveLength(LIMITS.refreshTokens);
  const keys = left.map(({ key }) => key);
  expect(keys).toContain("new");
  expect(keys).toContain("old 1");
  expect(keys).not.toContain(`old ${LIMITS.refreshTokens}`);
  expect(await rows()).toHaveLength(LIMITS.refreshTokens + 1);
  // With a clock that was set back it is the oldest of all.
  await keepRefreshToken({ ...open(), clock: { ...auth.clock, now: () => 0 } }, own, "newest", "t0ken");
  expect(await readRefreshToken(open(), own, "newest")).toBe("t0ken");
});
