/** Forgotten passwords: what cannot be asked over the wire. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { makeOwner, openAuth, PASSWORD, startDatabases, type TestAuth } from "../auth/handle/auth.testsuite.ts";
import { changePassword } from "../auth/accounts/change-password.ts";
import { authenticate } from "../auth/admission/authenticate.ts";
import { login, openSession } from "../auth/sessions/login.ts";
import { LIMITS } from "../lib/limits.ts";
import { openText } from "../lib/sealing/seal.ts";
import type { Mail } from "../mail/mail.ts";
import { openMail, UNANSWERED } from "../mail/mail.testsuite.ts";
import { subjectOf } from "../mail/outbox-store.ts";
import type { Database } from "../storage/database.ts";
import { createMembers, type Members } from "./members.ts";
import { requestPasswordReset } from "./request-password-reset.ts";
import { resetPassword } from "./reset-password.ts";

const FROM = { address: "192.0.2.9", client: "api" } as const;
const ANOTHER = "another good password";

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;
let mail: Mail;
let members: Members;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = stack.use(openAuth(database));
  mail = openMail(auth, UNANSWERED);
  members = stack.use(
    createMembers({ auth, mail, url: "https://agents.example.org", derive: (purpose) => Buffer.alloc(32, purpose) }),
  );
});
afterAll(() => stack.disposeAsync());
let addresses = 0;
let from: { address: string; client: "api" };
beforeEach(() => (from = { ...FROM, address: `192.0.2.${++addresses}` }));

/** Asks, and waits until what is done after the answer is done. */
async function ask(email: string): Promise<void> {
  expect(await requestPasswordReset(members, { email }, from)).toEqual({ email });
  await Promise.all(members.resets);
}
/** The tokens that were mailed, oldest first. */
async function tokensFor(email: string): Promise<string[]> {
  const rows = await database.query(
    "select organization_id, id, sealed from mails where organization_id is not null and recipient = $1 order by id",
    [email],
  );
  return Promise.all(
    rows.map(async (row) => {
      const subject = subjectOf({ organizationId: row["organization_id"], id: row["id"] });
      const text = await openText(row["sealed"] as string, subject, () => mail.key);
      return /#password-reset=(rst_[\w-]{64})\\n/.exec(text!)![1]!;
    }),
  );
}
const reset = (token: string, password = ANOTHER) => resetPassword(members, { token, password }, from);

test("a link sets the password once, in any case of the address, and ends the sessions", async () => {
  const { caller, email } = await makeOwner(auth);
  const { id: userId } = caller.user;
  const session = await openSession(auth, { userId, organizationId: caller.organizationId }, from);
  expect(await requestPasswordReset(members, { email: ` ${email.toUpperCase()}` }, from)).toMatchObject({});
  await Promise.all(members.resets);
  const [token] = await tokensFor(email);
  const kept = await database.query("select r::text as row from password_resets r where user_id = $1", [userId]);
  expect(JSON.stringify(kept)).not.toContain(token!.slice(4));
  await expect(reset(token!, "short")).rejects.toMatchObject({ code: "BAD_USER_INPUT" });
  expect(await reset(token!)).toEqual({ email });
  await expect(reset(token!)).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await login(auth, { email, password: ANOTHER }, from)).accessToken).toBeDefined();
  await expect(login(auth, { email, password: PASSWORD }, from)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  await expect(authenticate(auth, `Bearer ${session.accessToken}`, from.address)).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
  });
  const [event] = await database.query(
    "select actor_id, event from audit_events where organization_id = $1 and action = 'password_reset'",
    [caller.organizationId],
  );
  expect(event).toMatchObject({ actor_id: userId });
  expect(JSON.stringify(event!["event"])).toContain(from.address);
});

test("counts among the user's sign-ins, since each is an event in the audit, and stays good if those are used up", async () => {
  const { caller, email } = await makeOwner(auth);
  await ask(email);
  const [token] = await tokensFor(email);
  for (let index = 0; index < LIMITS.signInsPerUser; index++) auth.signIns.count(caller.user.id);
  await expect(reset(token!)).rejects.toMatchObject({ code: "RATE_LIMITED", details: { retryAfter: 1 } });
  auth.clock.pass(1_000);
  expect(await reset(token!)).toEqual({ email });
});

test("of two who use one link at the same moment one sets the password", async () => {
  const { email } = await makeOwner(auth);
  await ask(email);
  const [token] = await tokensFor(email);
  const both = await Promise.allSettled([reset(token!, "the first password"), reset(token!, "the second password")]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});

test("is void an hour later, and from the moment of another new password", async () => {
  const { caller, email } = await makeOwner(auth);
  await ask(email);
  await ask(email);
  const [first, second] = await tokensFor(email);
  auth.clock.pass(LIMITS.passwordResetMinutes * 60_000 - 1);
  expect(await reset(first!)).toEqual({ email });
  await expect(reset(second!)).rejects.toMatchObject({ code: "NOT_FOUND" });
  await ask(email);
  auth.clock.pass(LIMITS.passwordResetMinutes * 60_000);
  await expect(reset((await tokensFor(email))[2]!)).rejects.toMatchObject({ code: "NOT_FOUND" });
  await ask(email);
  const { accessToken } = await login(auth, { email, password: ANOTHER }, from);
  const acting = { ...(await authenticate(auth, `Bearer ${accessToken}`, from.address))!, from };
  await changePassword(auth, acting, { currentPassword: ANOTHER, newPassword: PASSWORD }, from);
  await expect(reset((await tokensFor(email))[3]!)).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(caller).toBeDefined();
});

test("a user has at most 3 open links, also of those asked for at once, and more when they have expired", async () => {
  const { email } = await makeOwner(auth);
  const most = LIMITS.passwordResetsPerUser;
  await Promise.all(Array.from({ length: most + 2 }, () => ask(email)));
  expect(await tokensFor(email)).toHaveLength(most);
  auth.clock.pass(LIMITS.passwordResetMinutes * 60_000);
  await ask(email);
  expect(await tokensFor(email)).toHaveLength(most + 1);
});

test("links whose mail was not queued, as too many wait, don't count as open ones", async () => {
  const { caller, email } = await makeOwner(auth);
  await database.query(
    `insert into mails (organization_id, id, kind, recipient, message_id, sealed, queued_at, expires_at, due_at)
     select $1, gen_random_uuid(), 'approval', 'a@example.com', 'm', 'sealed', $2, $2, $2 from generate_series(1, $3::int)`,
    [caller.organizationId, new Date(auth.clock.now()), LIMITS.mailsWaiting],
  );
  for (let index = 0; index < LIMITS.passwordResetsPerUser; index++) await ask(email);
  expect(await tokensFor(email)).toEqual([]);
  await database.query("delete from mails where organization_id = $1", [caller.organizationId]);
  await ask(email);
  expect(await tokensFor(email)).toHaveLength(1);
});

test("the answer waits for nothing that an account has and no account hasn't", async () => {
  const { caller, email } = await makeOwner(auth);
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holding = database.transaction(async (query) => {
    await query("select from users where id = $1 for update", [caller.user.id]);
    begun.resolve();
    await held.promise;
  });
  await begun.promise;
  expect(await requestPasswordReset(members, { email }, from)).toEqual({ email });
  expect(await requestPasswordReset(members, { email: "nobody@example.net" }, from)).toEqual({
    email: "nobody@example.net",
  });
  expect(members.resets.size).toBeGreaterThan(0);
  expect(await tokensFor(email)).toEqual([]);
  held.resolve();
  await holding;
  await eventually(async () => (await tokensFor(email)).length === 1);
  expect(await tokensFor("nobody@example.net")).toEqual([]);
});

test("nobody is mailed who could not sign in", async () => {
  const { caller, email } = await makeOwner(auth);
  await database.query("delete from members where user_id = $1", [caller.user.id]);
  await ask(email);
  expect(await tokensFor(email)).toEqual([]);
});

test("100 requests are under way at once and not one more", async () => {
  const never = (): void => void members.resets.add(Promise.withResolvers<void>().promise);
  for (let index = 1; index < LIMITS.passwordResetsAtOnce; index++) never();
  try {
    await requestPasswordReset(members, { email: "one@example.net" }, from);
    never();
    await expect(requestPasswordReset(members, { email: "two@example.net" }, from)).rejects.toMatchObject({
      code: "RATE_LIMITED",
      details: { retryAfter: 2 },
    });
  } finally {
    members.resets.clear();
  }
});

test("requests are held up by address as sign-ins are, whether there is an account or not, and hold up no sign-in", async () => {
  const { email } = await makeOwner(auth);
  for (const asked of [email, "nobody@example.org"]) {
    for (let index = 0; index < LIMITS.failedLoginsPerAccountAndAddress; index++) await ask(asked);
    await expect(ask(asked)).rejects.toMatchObject({
      code: "RATE_LIMITED",
      message: "too many requests for a new password: try again in 30 s",
    });
  }
  expect((await login(auth, { email, password: PASSWORD }, from)).accessToken).toBeDefined();
});

test("a made-up link, and one of another installation, are not found", async () => {
  const made = `rst_${"A".repeat(64)}`;
  for (const token of ["", "rst_", made, made.replace("rst_", "inv_"), `${made}A`, "\0"])
    await expect(reset(token)).rejects.toMatchObject({ code: "NOT_FOUND" });
});
