/** How many sessions a user has, and that none outlives what it was opened with. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../../lib/limits.ts";
import type { UserId } from "../../lib/ids.ts";
import type { Database } from "../../storage/database.ts";
import { authenticate } from "../admission/authenticate.ts";
import type { Auth } from "../handle/auth.ts";
import {
  isStillValid,
  makeOwner,
  openAuth,
  PASSWORD,
  startDatabases,
  type TestAuth,
  type TestOwner,
} from "../handle/auth.testsuite.ts";
import { changePassword } from "../accounts/change-password.ts";
import { createApiKey } from "../api-keys/create-api-key.ts";
import { createOrganization } from "../accounts/create-organization.ts";
import { login, openSession, type LoginFrom } from "./login.ts";
import { logout } from "./logout.ts";
import { listSessions, revokeOtherSessions } from "./own-sessions.ts";
import { refreshSession } from "./refresh-session.ts";
import type { SignedIn } from "./session.ts";
import { resetPassword } from "../accounts/users.ts";

const from: LoginFrom = { address: "192.0.2.1", client: "api" };
const ANOTHER = "another password";

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = stack.use(openAuth(database));
});
afterAll(() => stack.disposeAsync());

const signIn = (one: Auth, { email }: TestOwner, password = PASSWORD): Promise<SignedIn> =>
  login(one, { email, password }, from);
const callerOf = async (one: Auth, { accessToken }: SignedIn) => ({
  ...(await authenticate(one, `Bearer ${accessToken}`, from.address))!,
  from: { address: "192.0.2.1" },
});
/** Without a password, which takes 30 ms. */
const openFor = ({ caller }: TestOwner, more: Partial<LoginFrom> = {}): Promise<SignedIn> =>
  openSession(auth, { userId: caller.user.id, organizationId: caller.organizationId }, { ...from, ...more });

const rowsOf = async (userId: UserId): Promise<number> =>
  (
    await database.query("select count(*) as n from sessions where organization_id is not null and user_id = $1", [
      userId,
    ])
  )[0]!["n"];

describe("a user", () => {
  test(`has at most ${LIMITS.sessionsPerUser} sessions: one more ends the one that was refreshed least recently`, async () => {
    const owner = await makeOwner(auth);
    const sessions: SignedIn[] = [];
    for (let count = 0; count < LIMITS.sessionsPerUser; count++) {
      sessions.push(await openFor(owner));
      auth.clock.pass(1);
    }
    const [first, second] = sessions as [SignedIn, SignedIn];
    await callerOf(auth, second);
    const refreshed = await refreshSession(auth, first);
    for (const one of sessions.slice(1)) await callerOf(auth, one);
    const last = await openFor(owner);
    await expect(callerOf(auth, second)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(refreshSession(auth, second)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    for (const one of [refreshed, ...sessions.slice(2), last]) await callerOf(auth, one);
    const { items } = await listSessions(auth, await callerOf(auth, last), { first: 200 });
    expect(items).toHaveLength(LIMITS.sessionsPerUser);
    expect(items.map(({ id }) => id)).not.toContain(second.sessionId);
    await Promise.all(Array.from({ length: 10 }, () => openFor(owner)));
    expect(await rowsOf(owner.caller.user.id)).toBe(LIMITS.sessionsPerUser);
  });

  test("keeps no row of those that have ended: the next sign-in removes them", async () => {
    const owner = await makeOwner(auth);
    const { id } = owner.caller.user;
    const old = await openFor(owner);
    await logout(auth, await callerOf(auth, old));
    for (let count = 0; count < 5; count++) await openFor(owner);
    expect(await rowsOf(id)).toBe(5);
    auth.clock.pass(LIMITS.refreshTokenDays * 86_400_000);
    await openFor(owner);
    expect(await rowsOf(id)).toBe(1);
  });

  test(`signs in ${LIMITS.signInsPerUser} times at once, then once a second; moving and another password count, refreshing does not`, async () => {
    const [owner, other] = [await makeOwner(auth), await makeOwner(auth)];
    const { user, organizationId } = owner.caller;
    const join = "insert into members (organization_id, user_id, role, created_at) values ($1, $2, 'viewer', $3)";
    await database.query(join, [other.caller.organizationId, user.id, new Date(auth.clock.now())]);
    await using own = openAuth(database);
    const open = (): Promise<SignedIn> => openSession(own, { userId: user.id, organizationId }, from);
    for (let count = 1; count < LIMITS.signInsPerUser; count++) await open();
    let session = await open();
    const refused = {
      code: "RATE_LIMITED",
      message: expect.stringContaining(`${LIMITS.signInsPerUser} times at once, then once a second: try again in 1 s`),
      details: { retryAfter: 1 },
    };
    const moved = (): Promise<SignedIn> =>
      refreshSession(own, { ...session, organizationId: other.caller.organizationId });
    const passwords = { currentPassword: PASSWORD, newPassword: ANOTHER };
    const changed = async () => changePassword(own, await callerOf(own, session), passwords, from);
    for (const more of [open, moved, changed, () => signIn(own, owner)])
      await expect(more()).rejects.toMatchObject(refused);
    session = await refreshSession(own, { refreshToken: session.refreshToken });
    own.clock.pass(1_000);
    session = await moved();
    await expect(open()).rejects.toMatchObject(refused);
    own.clock.pass(1_000);
    await changed();
    await expect(open()).rejects.toMatchObject(refused);
    await openSession(own, { userId: other.caller.user.id, organizationId: other.caller.organizationId }, from);
    own.clock.pass(-3_600_000);
    await expect(open()).rejects.toMatchObject(refused);
    own.clock.pass(1_000);
    await open();
  });

  test("an address and a name of any length and any characters are kept short and plain", async () => {
    const owner = await makeOwner(auth);
    const address = `fe80::1%${"z".repeat(1_000)}`;
    const session = await openFor(owner, {
      address,
      userAgent: `\u0000a\u001b[31m\u202e\ud800bc\n${"😀".repeat(500)}`,
    });
    const { items } = await listSessions(auth, await callerOf(auth, session), { first: 1 });
    const { address: kept, userAgent } = items[0]!;
    expect(kept).toBe(address.slice(0, LIMITS.addressCharacters));
    expect(userAgent).toMatch(/^a\[31mbc(😀)+\ufffd$/u);
    expect(userAgent).toHaveLength(LIMITS.userAgentCharacters);
  });
});

/** Waits, once a password was found right, until it is told to go on. */
function waitingAfterPassword(): { slow: Auth; isRight: Promise<void>; goOn: () => void } {
  const [right, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const verify: Auth["passwords"]["verify"] = async (...all) => {
    const matches = await auth.passwords.verify(...all);
    right.resolve();
    await going.promise;
    return matches;
  };
  return { slow: { ...auth, passwords: { ...auth.passwords, verify } }, isRight: right.promise, goOn: going.resolve };
}

describe("a password that is changed", () => {
  test.for(["changePassword", "resetPassword"])(
    "by %s: a sign-in with the old one that is under way opens nothing, and makes no address known",
    async (how) => {
      const owner = await makeOwner(auth);
      const here = await callerOf(auth, await signIn(auth, owner));
      const { slow, isRight, goOn } = waitingAfterPassword();
      const late = login(slow, { email: owner.email, password: PASSWORD }, { ...from, address: "198.51.100.66" });
      await isRight;
      if (how === "resetPassword") await resetPassword(auth, { email: owner.email, password: ANOTHER });
      else await changePassword(auth, here, { currentPassword: PASSWORD, newPassword: ANOTHER }, from);
      goOn();
      await expect(late).rejects.toMatchObject({
        code: "UNAUTHENTICATED",
        message: "the e-mail or the password is wrong",
      });
      expect(await isStillValid(auth, here)).toBe(how === "changePassword");
      const { items } = await listSessions(auth, here, { first: 10 });
      expect(items.map(({ isCurrent }) => isCurrent)).toEqual(how === "changePassword" ? [true] : []);
      expect(await auth.knownAddresses.has(owner.email, "198.51.100.66")).toBe(false);
    },
  );

  test("while another change is under way: the later one changes nothing", async () => {
    const owner = await makeOwner(auth);
    const here = await callerOf(auth, await signIn(auth, owner));
    const { slow, isRight, goOn } = waitingAfterPassword();
    const late = changePassword(slow, here, { currentPassword: PASSWORD, newPassword: "a third password" }, from);
    await isRight;
    await resetPassword(auth, { email: owner.email, password: ANOTHER });
    goOn();
    await expect(late).rejects.toMatchObject({ code: "CONFLICT", details: { reason: "changed_meanwhile" } });
    await signIn(auth, owner, ANOTHER);
  });

  test("makes strangers of all addresses at once but of the one where it was changed", async () => {
    const owner = await makeOwner(auth);
    const thief = "198.51.100.67";
    await login(auth, { email: owner.email, password: PASSWORD }, { ...from, address: thief });
    const here = await callerOf(auth, await signIn(auth, owner));
    expect(await auth.knownAddresses.has(owner.email, thief)).toBe(true);
    await changePassword(auth, here, { currentPassword: PASSWORD, newPassword: ANOTHER }, from);
    expect(await auth.knownAddresses.has(owner.email, thief)).toBe(false);
    expect(await auth.knownAddresses.has(owner.email, from.address)).toBe(true);
  });
});

test("a session that was ended opens no other one and makes no key, also in a process that still takes its token", async () => {
  const owner = await makeOwner(auth);
  await using other = openAuth(database);
  other.clock.pass(auth.clock.now() - other.clock.now());
  const [here, there] = [await signIn(auth, owner), await signIn(auth, owner)];
  const caller = await callerOf(other, there);
  expect(await revokeOtherSessions(auth, await callerOf(auth, here))).toBe(1);
  expect(await isStillValid(other, caller)).toBe(true);
  const { organizationId } = caller;
  const opening = {
    userId: caller.user.id,
    organizationId,
    proof: { session: { organizationId, id: there.sessionId } },
  };
  await expect(openSession(other, opening, from)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  const key = { name: "late", scopes: ["runs:read"] } as const;
  await expect(createApiKey(other, caller, key)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  await createApiKey(other, await callerOf(other, here), key);
});

test("signing in, refreshing elsewhere, ending and changing at the same moment never wait for each other in a circle", async () => {
  const owner = await makeOwner(auth);
  const { organization: second } = await createOrganization(auth, { name: "Second", owner: { email: owner.email } });
  const codes = new Set<unknown>();
  for (let round = 0; round < 20; round++) {
    const sessions = [await openFor(owner), await openFor(owner), await openFor(owner)] as const;
    const caller = await callerOf(auth, sessions[0]);
    const outcomes = await Promise.allSettled([
      refreshSession(auth, { ...sessions[1], organizationId: second.id }),
      refreshSession(auth, { ...sessions[2], organizationId: owner.caller.organizationId }),
      openFor(owner),
      revokeOtherSessions(auth, caller),
      openFor(owner),
    ]);
    for (const one of outcomes) codes.add(one.status === "fulfilled" ? "done" : one.reason.code);
  }
  expect([...codes].filter((code) => code !== "done" && code !== "UNAUTHENTICATED")).toEqual([]);
});

test("the 258 sessions of three accounts leave a place to anybody else's refresh", async () => {
  const crowd = await Promise.all([makeOwner(auth), makeOwner(auth), makeOwner(auth)]);
  const sessions: SignedIn[] = [];
  for (let index = 0; index < 86; index++) for (const owner of crowd) sessions.push(await openFor(owner));
  const other = await openFor(await makeOwner(auth));
  const ids = crowd.map(({ caller }) => caller.user.id);
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = database.transaction(async (query) => {
    await query("select id from users where id = any($1) for update", [ids]);
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const refreshes = Promise.allSettled(sessions.map((session) => refreshSession(auth, session)));
  const another = refreshSession(auth, other);
  release.resolve();
  await expect(another).resolves.toMatchObject({ userId: other.userId });
  const codes = (await refreshes).map((one) => (one.status === "fulfilled" ? "done" : one.reason.code));
  const most = 3 * LIMITS.refreshesWaitingPerAccount + 2;
  expect(codes.filter((code) => code === "done").length).toBe(most);
  expect(codes.filter((code) => code === "UNAVAILABLE").length).toBe(258 - most);
  await holding;
});
