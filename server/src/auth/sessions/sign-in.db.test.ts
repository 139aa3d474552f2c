import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OperatorError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Database } from "../../storage/database.ts";
import { authenticate } from "../admission/authenticate.ts";
import {
  isStillValid,
  makeOwner,
  openAuth,
  PASSWORD,
  startDatabases,
  type TestAuth,
} from "../handle/auth.testsuite.ts";
import { createOrganization } from "../accounts/create-organization.ts";
import { login, type LoginFrom } from "./login.ts";
import { endSession, logout } from "./logout.ts";
import { refreshSession } from "./refresh-session.ts";
import { rotateSigningKey } from "../tokens/rotate-signing-key.ts";
import { createUser, resetPassword } from "../accounts/users.ts";

const from: LoginFrom = { address: "192.0.2.1", client: "api" };
const bearer = (token: string): string => `Bearer ${token}`;

const ADDRESS = "192.0.2.1";

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;

beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = stack.use(openAuth(database));
});
afterAll(() => stack.disposeAsync());

describe("login", () => {
  test("answers tokens that name the caller", async () => {
    const { caller, email } = await makeOwner(auth);
    const signedIn = await login(auth, { email: ` ${email.toUpperCase()} `, password: PASSWORD }, from);
    expect(signedIn.expiresAt.getTime()).toBe(auth.clock.now() + 600_000);
    expect(signedIn.refreshToken).toMatch(/^rt_/);
    const known = await authenticate(auth, bearer(signedIn.accessToken), ADDRESS);
    expect(known).toEqual({
      organizationId: caller.organizationId,
      user: caller.user,
      credential: {
        kind: "user",
        sessionId: signedIn.sessionId,
        client: "api",
        expiresAt: signedIn.expiresAt.getTime(),
      },
      scopes: caller.scopes,
    });
    expect(await isStillValid(auth, known!)).toBe(true);
  });

  test("refuses an unknown e-mail and a wrong password in the same words", async () => {
    const { email } = await makeOwner(auth);
    const wrong = {
      password: { email, password: `${PASSWORD}!` },
      email: { email: "nobody@example.com", password: PASSWORD },
      noEmail: { email: "", password: PASSWORD },
      nul: { email: `${email}\u0000`, password: PASSWORD },
      surrogate: { email: `\ud800${email}`, password: PASSWORD },
      injection: { email: "' or true --@x", password: PASSWORD },
      empty: { email, password: "" },
      huge: { email, password: "x".repeat(1_000_000) },
      like: { email: email.replace("owner", "%"), password: PASSWORD },
    };
    const refusals = await Promise.all(
      Object.values(wrong).map((input) => login(auth, input, from).then(String, (error: unknown) => error)),
    );
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({ code: "UNAUTHENTICATED", message: "the e-mail or the password is wrong" });
    }
  });

  test("after ten failures from one address the e-mail pauses there, not elsewhere, and others do not", async () => {
    const [ada, grace] = [await makeOwner(auth), await makeOwner(auth)];
    const address = "192.0.2.50";
    for (let index = 0; index < 10; index++) {
      await expect(login(auth, { email: ada.email, password: "wrong" }, { ...from, address })).rejects.toThrow(
        "the e-mail or the password is wrong",
      );
    }
    const right = { email: ada.email, password: PASSWORD };
    await expect(login(auth, right, { ...from, address })).rejects.toMatchObject({
      code: "RATE_LIMITED",
      details: { retryAfter: 30 },
    });
    await login(auth, right, { ...from, address: "192.0.2.51" });
    await login(auth, { email: grace.email, password: PASSWORD }, { ...from, address });
    auth.clock.pass(30_000);
    await login(auth, right, { ...from, address });
  });

  test("guesses from many addresses never refuse the owner where they signed in before, also after a restart", async () => {
    const { email } = await makeOwner(auth);
    const right = { email, password: PASSWORD };
    const home = { ...from, address: "2001:db8:7:1::5" };
    const { refreshToken } = await login(auth, right, home);
    const cafe = { ...from, address: "198.51.100.77" };
    await refreshSession(auth, { refreshToken, address: cafe.address });
    for (const one of [auth, openAuth(database)]) {
      for (let index = 0; index < 60; index++) {
        const address = `10.20.${index % 12}.1`;
        await login(one, { email, password: "wrong" }, { ...from, address }).catch(() => {});
      }
      await expect(login(one, right, { ...from, address: "10.99.0.1" })).rejects.toMatchObject({
        code: "RATE_LIMITED",
      });
      await login(one, right, home);
      await login(one, right, cafe);
      await login(one, right, { ...from, address: "2001:db8:7:1::6" });
    }
  });

  test("fifty right ones at once all pass", async () => {
    const { email } = await makeOwner(auth);
    const one = (): Promise<unknown> => login(auth, { email, password: PASSWORD }, { ...from, address: "192.0.2.60" });
    expect(new Set(await Promise.all(Array.from({ length: 50 }, one))).size).toBe(50);
  });

  test("of fifty wrong ones at once ten are tried", async () => {
    const { email } = await makeOwner(auth);
    const one = (): Promise<string> =>
      login(auth, { email, password: "wrong" }, { ...from, address: "192.0.2.61" }).then(
        () => "in",
        (error: { code: string }) => error.code,
      );
    const outcomes = await Promise.all(Array.from({ length: 50 }, one));
    expect(outcomes.filter((code) => code === "UNAUTHENTICATED")).toHaveLength(10);
    expect(outcomes.filter((code) => code === "RATE_LIMITED")).toHaveLength(40);
  });

  test("a user without an organization is told so", async () => {
    const { caller, email } = await makeOwner(auth);
    await database.query("delete from members where organization_id = $1", [caller.organizationId]);
    await expect(login(auth, { email, password: PASSWORD }, from)).rejects.toMatchObject({ code: "FORBIDDEN" });
  });

  test("goes to the organization last used, at first to the one joined first", async () => {
    const { caller, email } = await makeOwner(auth);
    auth.clock.pass(1_000);
    const { organization: second } = await createOrganization(auth, { name: "Second", owner: { email } });
    const one = await login(auth, { email, password: PASSWORD }, from);
    expect(one.organizationId).toBe(caller.organizationId);
    await refreshSession(auth, { refreshToken: one.refreshToken, organizationId: second.id });
    expect((await login(auth, { email, password: PASSWORD }, from)).organizationId).toBe(second.id);
  });
});

describe("the Authorization header", () => {
  test("none is nobody", async () => {
    expect(await authenticate(auth, undefined, ADDRESS)).toBeUndefined();
  });

  test.each([
    "",
    "Bearer",
    "Bearer ",
    "Basic YTpi",
    "Bearer a b",
    "Bearer a.b.c",
    "Bearer \u0000",
    "Bearer ü",
    `Bearer ${"x".repeat(5_000)}`,
    `Bearer ag_live_${"0".repeat(38)}`,
    "Bearer ag_live_",
    `Bearer rt_${"A".repeat(91)}`,
    "Bearer undefined",
  ])("%j is refused", async (header) => {
    await expect(authenticate(auth, header, ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("an access token of another installation or an ended one is refused", async () => {
    const { email } = await makeOwner(auth);
    const { accessToken } = await login(auth, { email, password: PASSWORD }, from);
    auth.clock.pass(600_000);
    await expect(authenticate(auth, bearer(accessToken), ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });
});

describe("refreshing", () => {
  test("each refresh token works once, and using one again ends the session", async () => {
    const { email } = await makeOwner(auth);
    const first = await login(auth, { email, password: PASSWORD }, from);
    const second = await refreshSession(auth, first);
    const third = await refreshSession(auth, second);
    expect(new Set([first, second, third].map((one) => one.refreshToken)).size).toBe(3);
    expect(third.sessionId).toBe(first.sessionId);
    await authenticate(auth, bearer(third.accessToken), ADDRESS);
    await expect(refreshSession(auth, first)).rejects.toThrow("used before");
    await expect(refreshSession(auth, third)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(authenticate(auth, bearer(third.accessToken), ADDRESS)).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
    });
  });

  test("of many at once with one token at most one gets through", async () => {
    const { email } = await makeOwner(auth);
    const { refreshToken } = await login(auth, { email, password: PASSWORD }, from);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => refreshSession(auth, { refreshToken })));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const reasons = outcomes.filter((outcome) => outcome.status === "rejected").map(({ reason }) => reason.code);
    expect(reasons).toEqual(Array(9).fill("UNAUTHENTICATED"));
  });

  describe("in the web UI", () => {
    const page: LoginFrom = { ...from, client: "ui" };
    const signIn = async () => {
      const { email } = await makeOwner(auth);
      const { sessionId, refreshToken } = await login(auth, { email, password: PASSWORD }, page);
      return { sessionId, refreshToken };
    };
    const endOf = async (id: string): Promise<number> => {
      const text = "select expires_at from sessions where organization_id is not null and id = $1";
      return (await database.query(text, [id]))[0]!["expires_at"].getTime();
    };

    test("a token is kept for 10 s and then replaced; the one before is good for 10 s more", async () => {
      const { sessionId, refreshToken } = await signIn();
      const began = await endOf(sessionId);
      auth.clock.pass(9_999);
      expect((await refreshSession(auth, { refreshToken })).refreshToken).toBe(refreshToken);
      expect(await endOf(sessionId)).toBe(began);
      auth.clock.pass(1);
      const { refreshToken: next } = await refreshSession(auth, { refreshToken });
      expect(next).not.toBe(refreshToken);
      expect(await endOf(sessionId)).toBe(auth.clock.now() + 30 * 86_400_000);
      auth.clock.pass(9_999);
      for (const token of [refreshToken, next])
        expect((await refreshSession(auth, { refreshToken: token })).refreshToken).toBe(next);
      auth.clock.pass(1);
      await expect(refreshSession(auth, { refreshToken })).rejects.toThrow("used before");
      await expect(refreshSession(auth, { refreshToken: next })).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    });

    test("a tab that moves to another organization while others refresh signs none of them out", async () => {
      const [{ caller, email }, other] = [await makeOwner(auth), await makeOwner(auth)];
      const join = "insert into members (organization_id, user_id, role, created_at) values ($1, $2, 'viewer', $3)";
      await database.query(join, [other.caller.organizationId, caller.user.id, new Date(auth.clock.now())]);
      const organizations = [other.caller.organizationId, caller.organizationId];
      let { refreshToken } = await login(auth, { email, password: PASSWORD }, page);
      for (let round = 0; round < 20; round++) {
        if (round % 2 === 0) auth.clock.pass(LIMITS.uiRefreshGraceSeconds * 1_000);
        const organizationId = organizations[round % 2];
        const tabs = [{ refreshToken }, { refreshToken, organizationId }, { refreshToken }, { refreshToken }];
        const [first, ...others] = await Promise.all(tabs.map((tab) => refreshSession(auth, tab)));
        for (const one of others) expect(one.refreshToken).toBe(first!.refreshToken);
        ({ refreshToken } = first!);
      }
    });

    test("a clock that is behind by a moment ends nothing, and one that is set back by hours keeps nothing", async () => {
      const { refreshToken } = await signIn();
      auth.clock.pass(10_000);
      const { refreshToken: next } = await refreshSession(auth, { refreshToken });
      auth.clock.pass(-9_999);
      expect((await refreshSession(auth, { refreshToken })).refreshToken).toBe(next);
      auth.clock.pass(-3_600_000);
      expect((await refreshSession(auth, { refreshToken: next })).refreshToken).not.toBe(next);
      auth.clock.pass(3_609_999);
    });

    test("of many at once, at two processes, all get the same; an older token still ends the session", async () => {
      const { refreshToken } = await signIn();
      await using other = openAuth(database);
      auth.clock.pass(10_000);
      other.clock.pass(auth.clock.now() - other.clock.now());
      const one = async (index: number): Promise<string> =>
        (await refreshSession(index % 2 === 0 ? auth : other, { refreshToken })).refreshToken;
      const second = new Set(await Promise.all(Array.from({ length: 20 }, (_, index) => one(index))));
      expect(second.size).toBe(1);
      expect(second.has(refreshToken)).toBe(false);
      for (const each of [auth, other]) each.clock.pass(10_000);
      const [token] = second;
      const third = await refreshSession(other, { refreshToken: token! });
      await refreshSession(auth, { refreshToken: token! });
      await expect(refreshSession(auth, { refreshToken })).rejects.toThrow("used before");
      await expect(refreshSession(auth, third)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    });
  });

  test("a token of a program has no such grace: two processes at once, and its session has ended", async () => {
    const { email } = await makeOwner(auth);
    const { refreshToken } = await login(auth, { email, password: PASSWORD }, from);
    await using other = openAuth(database);
    other.clock.pass(auth.clock.now() - other.clock.now());
    const both = await Promise.allSettled([auth, other].map((each) => refreshSession(each, { refreshToken })));
    const done = both.find((outcome) => outcome.status === "fulfilled");
    expect(both.filter(({ status }) => status === "rejected")).toHaveLength(1);
    await expect(refreshSession(auth, { refreshToken: done!.value.refreshToken })).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
    });
  });

  test("lasts 30 days from the last one", async () => {
    const { email } = await makeOwner(auth);
    const first = await login(auth, { email, password: PASSWORD }, from);
    auth.clock.pass(30 * 86_400_000 - 1);
    const second = await refreshSession(auth, first);
    auth.clock.pass(30 * 86_400_000);
    await expect(refreshSession(auth, second)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("the token is hashed at rest", async () => {
    const { email } = await makeOwner(auth);
    const { refreshToken, sessionId } = await login(auth, { email, password: PASSWORD }, from);
    const [row] = await database.query("select * from sessions where organization_id is not null and id = $1", [
      sessionId,
    ]);
    expect(JSON.stringify(row)).not.toContain(refreshToken.slice(3));
    expect(row!.secret_hash).toHaveLength(32);
    // The row decides, not the number in the token alone.
    await database.query(
      "update sessions set secret_hash = sha256('another') where organization_id is not null and id = $1",
      [sessionId],
    );
    await expect(refreshSession(auth, { refreshToken })).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("a move to another organization changes the caller, and the former token is void", async () => {
    const { caller, email } = await makeOwner(auth);
    const { organization: second } = await createOrganization(auth, { name: "Second", owner: { email } });
    const first = await login(auth, { email, password: PASSWORD }, from);
    await authenticate(auth, bearer(first.accessToken), ADDRESS);
    const moved = await refreshSession(auth, { refreshToken: first.refreshToken, organizationId: second.id });
    expect((await authenticate(auth, bearer(moved.accessToken), ADDRESS))!.organizationId).toBe(second.id);
    await expect(authenticate(auth, bearer(first.accessToken), ADDRESS)).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
    });
    const back = await refreshSession(auth, {
      refreshToken: moved.refreshToken,
      organizationId: caller.organizationId,
    });
    expect((await authenticate(auth, bearer(back.accessToken), ADDRESS))!.organizationId).toBe(caller.organizationId);
  });

  test("another's organization is NOT_FOUND like one that is not there, and the token stays good", async () => {
    const { email } = await makeOwner(auth);
    const other = await makeOwner(auth);
    const { refreshToken } = await login(auth, { email, password: PASSWORD }, from);
    const refusals: unknown[] = [];
    for (const organizationId of [other.caller.organizationId, newId<"organization">()]) {
      refusals.push(await refreshSession(auth, { refreshToken, organizationId }).catch((error: unknown) => error));
    }
    expect(refusals[0]).toEqual(refusals[1]);
    expect(refusals[0]).toMatchObject({ code: "NOT_FOUND", message: "Organization not found" });
    await refreshSession(auth, { refreshToken });
  });

  test("junk costs no session", async () => {
    for (const refreshToken of ["", "rt_", "x".repeat(1_000_000), `rt_${"A".repeat(91)}`, "\u0000"]) {
      await expect(refreshSession(auth, { refreshToken })).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    }
  });
});

describe("signing keys", () => {
  test("eight at most are in use; those whose tokens have ended are removed", async () => {
    const kids = async (): Promise<string[]> =>
      (await database.query("select id from signing_keys order by signs_from, id")).map(({ id }) => id as string);
    const [first] = await kids();
    const life = 660_000;
    const made = [];
    for (let count = 1; count < LIMITS.signingKeysInUse; count++) {
      made.push(await rotateSigningKey(database, auth.clock, true));
      auth.clock.pass(1_000);
    }
    expect(await kids()).toEqual([first, ...made.map(({ id }) => id)]);
    expect(await auth.signingKeys.inUse()).toHaveLength(LIMITS.signingKeysInUse);
    await expect(rotateSigningKey(database, auth.clock, true)).rejects.toThrow(
      "8 signing keys are in use already: try again when the tokens of one have ended, in 11 minutes at most",
    );
    auth.clock.pass(made[0]!.signsFrom + life - auth.clock.now() - 1);
    await expect(rotateSigningKey(database, auth.clock, true)).rejects.toThrow(OperatorError);
    expect((await kids())[0]).toBe(first);
    auth.clock.pass(1);
    const last = await rotateSigningKey(database, auth.clock, false);
    expect(last).toMatchObject({ signsFrom: auth.clock.now() + 60_000, formerUntil: auth.clock.now() + 60_000 + life });
    expect(await kids()).toEqual([...made, last].map(({ id }) => id));
  });
});

describe("the end of a session", () => {
  test("logout ends it at once here and within 5 s in another process", async () => {
    const { email } = await makeOwner(auth);
    await using other = openAuth(database);
    other.clock.pass(auth.clock.now() - other.clock.now());
    const { accessToken, refreshToken } = await login(auth, { email, password: PASSWORD }, from);
    const caller = (await authenticate(auth, bearer(accessToken), ADDRESS))!;
    const there = (await authenticate(other, bearer(accessToken), ADDRESS))!;
    await logout(auth, { ...caller, from });
    await expect(authenticate(auth, bearer(accessToken), ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    expect(await isStillValid(auth, caller)).toBe(false);
    other.clock.pass(5_000);
    expect(await isStillValid(other, there)).toBe(false);
    await expect(authenticate(other, bearer(accessToken), ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(refreshSession(auth, { refreshToken })).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("signing out of one that has ended by itself is no event", async () => {
    const { caller, email } = await makeOwner(auth);
    const eventsAfter = async ({ refreshToken }: { refreshToken: string }): Promise<number> => {
      await endSession(auth, refreshToken, { address: ADDRESS });
      const text = "select count(*) as n from audit_events where organization_id = $1 and action = 'signed_out'";
      return (await database.query(text, [caller.organizationId]))[0]!["n"];
    };
    const [first, second] = [
      await login(auth, { email, password: PASSWORD }, from),
      await login(auth, { email, password: PASSWORD }, from),
    ];
    for (let time = 0; time < 2; time++) expect(await eventsAfter(first)).toBe(1);
    auth.clock.pass(LIMITS.refreshTokenDays * 86_400_000);
    expect(await eventsAfter(second)).toBe(1);
  });

  test("a new password ends all of the user's, and none of others", async () => {
    const [ada, grace] = [await makeOwner(auth), await makeOwner(auth)];
    const sessions = [];
    for (const { email } of [ada, ada, grace]) sessions.push(await login(auth, { email, password: PASSWORD }, from));
    for (const { accessToken } of sessions) await authenticate(auth, bearer(accessToken), ADDRESS);
    await resetPassword(auth, { email: ada.email.toUpperCase(), password: "another password" });
    for (const { accessToken } of sessions.slice(0, 2)) {
      await expect(authenticate(auth, bearer(accessToken), ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    }
    await authenticate(auth, bearer(sessions[2]!.accessToken), ADDRESS);
    await expect(login(auth, { email: ada.email, password: PASSWORD }, from)).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
    });
    await login(auth, { email: ada.email, password: "another password" }, from);
    await expect(resetPassword(auth, { email: "nobody@x", password: PASSWORD })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    await expect(resetPassword(auth, { email: ada.email, password: "short" })).rejects.toMatchObject({
      code: "BAD_USER_INPUT",
    });
  });

  test("a lost membership or another role ends what a long connection may do, within 5 s", async () => {
    const { caller } = await makeOwner(auth);
    const email = `editor-${caller.organizationId}@example.com`;
    await createUser(auth, caller.organizationId, { email, name: "Ed", password: PASSWORD, role: "editor" });
    const { accessToken, userId } = await login(auth, { email, password: PASSWORD }, from);
    const editor = (await authenticate(auth, bearer(accessToken), ADDRESS))!;
    expect(editor.scopes.has("agents:write") && !editor.scopes.has("admin")).toBe(true);
    const change = (text: string): Promise<unknown> => database.query(text, [caller.organizationId, userId]);
    await change("update members set role = 'viewer' where organization_id = $1 and user_id = $2");
    expect(await isStillValid(auth, editor)).toBe(true);
    auth.clock.pass(5_000);
    expect(await isStillValid(auth, editor)).toBe(false);
    const viewer = (await authenticate(auth, bearer(accessToken), ADDRESS))!;
    expect(viewer.scopes.has("agents:write")).toBe(false);
    // More than before is another role, too.
    await change("update members set role = 'editor' where organization_id = $1 and user_id = $2");
    auth.clock.pass(5_000);
    expect([await isStillValid(auth, viewer), await isStillValid(auth, editor)]).toEqual([false, true]);
    await change("delete from members where organization_id = $1 and user_id = $2");
    auth.clock.pass(5_000);
    await expect(authenticate(auth, bearer(accessToken), ADDRESS)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("a long connection ends with its access token", async () => {
    const { email } = await makeOwner(auth);
    const caller = (await authenticate(
      auth,
      bearer((await login(auth, { email, password: PASSWORD }, from)).accessToken),
      ADDRESS,
    ))!;
    auth.clock.pass(caller.credential.expiresAt! - auth.clock.now() - 1);
    expect(await isStillValid(auth, caller)).toBe(true);
    auth.clock.pass(1);
    expect(await isStillValid(auth, caller)).toBe(false);
  });
});
