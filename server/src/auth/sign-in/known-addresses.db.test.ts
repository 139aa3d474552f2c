import { afterAll, beforeAll, expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Database } from "../../storage/database.ts";
import { makeOwner, openAuth, PASSWORD, quiet, startDatabases, type TestAuth } from "../handle/auth.testsuite.ts";
import { resetPassword } from "../accounts/users.ts";
import { createKnownAddresses } from "./known-addresses.ts";
import { login, type LoginFrom } from "../sessions/login.ts";

const from: LoginFrom = { address: "192.0.2.1", client: "api" };

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = stack.use(openAuth(database));
});
afterAll(() => stack.disposeAsync());

test("an address is known for 90 days and for its account alone, 20 of each are kept, and none after a new password", async () => {
  const [ada, grace] = [await makeOwner(auth), await makeOwner(auth)];
  const address = "198.51.100.1";
  const { userId } = await login(auth, { email: ada.email, password: PASSWORD }, { ...from, address });
  expect(await auth.knownAddresses.has(ada.email.toUpperCase(), address)).toBe(true);
  expect(await auth.knownAddresses.has(grace.email, address)).toBe(false);
  expect(await auth.knownAddresses.has(ada.email, "198.51.100.2")).toBe(false);
  const count = async (): Promise<number> =>
    (await database.query("select count(*)::int as n from known_addresses where user_id = $1", [userId]))[0]!.n;
  for (let index = 0; index < 30; index++) {
    auth.clock.pass(1_000);
    await auth.knownAddresses.note({ id: userId, email: ada.email }, `198.51.101.${index}`);
  }
  expect(await count()).toBe(20);
  const later = openAuth(database);
  later.clock.pass(auth.clock.now() - later.clock.now());
  expect(await later.knownAddresses.has(ada.email, "198.51.101.29")).toBe(true);
  expect(await later.knownAddresses.has(ada.email, "198.51.101.0")).toBe(false);
  later.clock.pass(90 * 86_400_000);
  expect(await later.knownAddresses.has(ada.email, "198.51.101.29")).toBe(false);
  // Nobody signs in there, and the marks are gone all the same.
  await expect.poll(count).toBe(0);
  await auth.knownAddresses.note({ id: userId, email: ada.email }, "198.51.102.1");
  expect(await count()).toBe(1);
  await resetPassword(auth, { email: ada.email, password: "another password" });
  expect(await count()).toBe(0);
  auth.clock.pass(60_000);
  await auth.knownAddresses.has(ada.email, "198.51.102.1");
  await expect.poll(() => auth.knownAddresses.has(ada.email, "198.51.102.1")).toBe(false);
});

const empty = { query: async () => [] } as unknown as Database;

test("as many addresses as may be are known in memory, and the first is forgotten for one more, also while nobody signs in", async () => {
  const known = createKnownAddresses(empty, testClock(), quiet, Buffer.alloc(32, 1));
  const email = "ada@example.com";
  const user = { id: newId<"user">(), email };
  const at = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  const isKnown = (index: number): Promise<boolean> => known.has(email, at(index));
  // The first to ask reads what the database has. Then nobody signs in: a refresh notes an address, too, and reads nothing.
  expect(await isKnown(0)).toBe(false);
  for (let index = 0; index < LIMITS.knownAddresses; index++) await known.note(user, at(index));
  expect(await isKnown(0)).toBe(true);
  await known.note(user, at(LIMITS.knownAddresses));
  expect([await isKnown(0), await isKnown(1), await isKnown(LIMITS.knownAddresses)]).toEqual([false, true, true]);
});
