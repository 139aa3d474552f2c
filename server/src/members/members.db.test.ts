/** Facts that cannot be asked over the wire: the maximum of members, and an invitation's columns. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeOwner, openAuth, PASSWORD, startDatabases, type TestAuth } from "../auth/handle/auth.testsuite.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { openMail, UNANSWERED } from "../mail/mail.testsuite.ts";
import { MAIL_RECIPIENTS_PER_DAY } from "../rates/plans.ts";
import type { Database } from "../storage/database.ts";
import { authenticate } from "../auth/admission/authenticate.ts";
import type { Acting } from "../auth/caller.ts";
import { createApiKey } from "../auth/api-keys/create-api-key.ts";
import { revokeApiKey } from "../auth/api-keys/api-keys.ts";
import { openSession } from "../auth/sessions/login.ts";
import { refreshSession } from "../auth/sessions/refresh-session.ts";
import type { SignedIn } from "../auth/sessions/session.ts";
import { ALL_SCOPES } from "../auth/scopes.ts";
import { acceptInvitation } from "./accept-invitation.ts";
import { inviteMember } from "./invite-member.ts";
import { findByToken } from "./invitations.ts";
import { listMembers } from "./list-members.ts";
import { memberIdOf } from "./member.ts";
import { createMembers, type Members } from "./members.ts";
import { leaveOrganization, removeMember } from "./remove-member.ts";
import { setMemberRole } from "./set-member-role.ts";

const FROM = { address: "192.0.2.7", client: "api" } as const;

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;
let members: Members;

beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  auth = stack.use(openAuth(database));
  members = createMembers({
    auth,
    mail: openMail(auth, undefined),
    url: "https://agents.example.org",
    derive: () => Buffer.alloc(32, 7),
  });
});
afterAll(() => stack.disposeAsync());

/** The owner of another organization, by a session. */
async function signedIn(): Promise<Acting> {
  const { user, organizationId } = (await makeOwner(auth)).caller;
  const { accessToken } = await openSession(auth, { userId: user.id, organizationId }, FROM);
  return { ...(await authenticate(auth, `Bearer ${accessToken}`, FROM.address))!, from: { address: FROM.address } };
}

const tokenOf = ({ url }: { url: string }): string => url.split("#invitation=")[1]!;

test(`an organization has at most ${LIMITS.membersPerOrganization} members`, async () => {
  const { caller } = await makeOwner(auth);
  const { organizationId } = caller;
  await database.query(
    `with u as (
       insert into users (id, email, name, password_hash, created_at)
       select gen_random_uuid(), 'm' || n || '@many.example.org', 'M', 'x', $2 from generate_series(1, $3::int) n returning id)
     insert into members (organization_id, user_id, role, created_at) select $1, id, 'viewer', $2 from u`,
    [organizationId, new Date(auth.clock.now()), LIMITS.membersPerOrganization - 2],
  );
  const join = async (email: string): Promise<unknown> => {
    const token = tokenOf(await inviteMember(members, caller, { email: undefined, role: "viewer" }));
    return acceptInvitation(members, undefined, { token, email, name: "N", password: PASSWORD }, FROM);
  };
  await join("last@many.example.org");
  await expect(join("more@many.example.org")).rejects.toMatchObject({
    details: { reason: "limit_reached" },
    message: `an organization has at most ${LIMITS.membersPerOrganization} members`,
  });
  // Many joined in one millisecond: each is on one page.
  const seen = new Set<string>();
  let after: string | undefined;
  for (;;) {
    const page = await listMembers(members, caller, { first: 200, ...(after !== undefined && { after }) });
    for (const { user } of page.items) seen.add(user.id);
    const last = page.items.at(-1)!;
    after = `${last.createdAt.getTime()} ${last.user.id}`;
    if (!page.hasNextPage) break;
  }
  expect(seen.size).toBe(LIMITS.membersPerOrganization);
});

test(`of many who join at once none is the member after the ${LIMITS.membersPerOrganization}th`, async () => {
  const { caller } = await makeOwner(auth);
  const { organizationId } = caller;
  const tokens: string[] = [];
  for (let count = 0; count < 8; count++)
    tokens.push(tokenOf(await inviteMember(members, caller, { email: undefined, role: "viewer" })));
  await database.query(
    `with u as (
       insert into users (id, email, name, password_hash, created_at)
       select gen_random_uuid(), 'm' || n || '@full.example.org', 'M', 'x', $2 from generate_series(1, $3::int) n returning id)
     insert into members (organization_id, user_id, role, created_at) select $1, id, 'viewer', $2 from u`,
    [organizationId, new Date(auth.clock.now()), LIMITS.membersPerOrganization - 3],
  );
  // Signed in, so that no password is in the way: all come to the last step at the same moment.
  const people = await Promise.all(tokens.map(signedIn));
  const joined = await Promise.allSettled(
    tokens.map((token, index) => acceptInvitation(members, people[index], { token }, FROM)),
  );
  expect(joined.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  for (const one of joined)
    if (one.status === "rejected") expect(one.reason).toMatchObject({ details: { reason: "limit_reached" } });
  const [row] = await database.query("select count(*) as n from members where organization_id = $1", [organizationId]);
  expect(row!["n"]).toBe(LIMITS.membersPerOrganization);
});

describe("the end of a membership", () => {
  const sessionsIn = async (organizationId: OrganizationId): Promise<number> => {
    const [row] = await database.query(
      `select count(*) as n from sessions s where organization_id = $1 and left_at is null and not exists (
         select from members m where m.organization_id = s.organization_id and m.user_id = s.user_id)`,
      [organizationId],
    );
    return row!["n"];
  };

  test("leaves no session in the organization, whatever is under way, and none waits for another in a circle", async () => {
    const [{ caller }, { caller: ada, email }] = [await makeOwner(auth), await makeOwner(auth)];
    const { organizationId } = caller;
    const memberId = memberIdOf(ada);
    for (let round = 0; round < 10; round++) {
      const token = tokenOf(await inviteMember(members, caller, { email: undefined, role: "viewer" }));
      const here = await acceptInvitation(members, undefined, { token, email, password: PASSWORD }, FROM);
      const elsewhere = await openSession(auth, { userId: ada.user.id, organizationId: ada.organizationId }, FROM);
      const ended = removeMember(members, caller, memberId);
      await Promise.allSettled([
        refreshSession(auth, { ...elsewhere, organizationId }),
        refreshSession(auth, { refreshToken: here.refreshToken }),
        openSession(auth, { userId: ada.user.id, organizationId }, FROM),
      ]);
      await ended;
      expect(await sessionsIn(organizationId)).toBe(0);
    }
  });

  test("comes before a sign-in that was under way: it opens nothing", async () => {
    const [{ caller }, { caller: ada, email }] = [await makeOwner(auth), await makeOwner(auth)];
    const { organizationId } = caller;
    const token = tokenOf(await inviteMember(members, caller, { email: undefined, role: "viewer" }));
    await acceptInvitation(members, undefined, { token, email, password: PASSWORD }, FROM);
    await removeMember(members, caller, memberIdOf(ada));
    await expect(openSession(auth, { userId: ada.user.id, organizationId }, FROM)).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
    });
  });

  test("is the end of what its sessions may grant, also for a new member, in a process that does not know it yet", async () => {
    const [{ caller }, { email }] = [await makeOwner(auth), await makeOwner(auth)];
    const invited = async (): Promise<SignedIn> => {
      const token = tokenOf(await inviteMember(members, caller, { email: undefined, role: "admin" }));
      return acceptInvitation(members, undefined, { token, email, password: PASSWORD }, FROM);
    };
    const former = await invited();
    const old = { ...(await authenticate(auth, `Bearer ${former.accessToken}`, FROM.address))!, from: caller.from };
    await removeMember(members, caller, memberIdOf(old));
    await invited();
    const refused = { code: "UNAUTHENTICATED" };
    await expect(inviteMember(members, old, { email: undefined, role: "viewer" })).rejects.toMatchObject(refused);
    await expect(createApiKey(auth, old, { name: "k", scopes: ["runs:read"] })).rejects.toMatchObject(refused);
    const other = tokenOf(await inviteMember(members, (await makeOwner(auth)).caller, { email, role: "viewer" }));
    await expect(acceptInvitation(members, old, { token: other }, FROM)).rejects.toMatchObject(refused);
  });
});

test("of two owners who leave at the very same moment one stays", async () => {
  const { caller } = await makeOwner(auth);
  for (let round = 0; round < 15; round++) {
    const other = await signedIn();
    const token = tokenOf(await inviteMember(members, caller, { email: undefined, role: "owner" }));
    const { accessToken } = await acceptInvitation(members, other, { token }, FROM);
    const second = { ...(await authenticate(auth, `Bearer ${accessToken}`, FROM.address))!, from: caller.from };
    const ended = await Promise.allSettled([caller, second].map((one) => leaveOrganization(members, one)));
    expect(ended.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    for (const one of ended)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ details: { reason: "last_owner" } });
    const { items } = await listMembers(members, caller, { first: 10 });
    expect(items).toHaveLength(1);
    if (items[0]!.user.id === caller.user.id) continue;
    const back = "insert into members (organization_id, user_id, role, created_at) values ($1, $2, 'owner', $3)";
    await database.query(back, [caller.organizationId, caller.user.id, new Date(auth.clock.now())]);
    await removeMember(members, caller, memberIdOf(second));
  }
});

test("who was demoted a moment ago changes nobody, though the process does not know it yet", async () => {
  const { caller } = await makeOwner(auth);
  const token = tokenOf(await inviteMember(members, caller, { email: undefined, role: "admin" }));
  const { accessToken, userId } = await acceptInvitation(members, await signedIn(), { token }, FROM);
  const admin = { ...(await authenticate(auth, `Bearer ${accessToken}`, FROM.address))!, from: caller.from };
  const joined = await acceptInvitation(
    members,
    await signedIn(),
    { token: tokenOf(await inviteMember(members, admin, { email: undefined, role: "viewer" })) },
    FROM,
  );
  const memberId = memberIdOf({ user: { id: joined.userId } });
  await setMemberRole(members, caller, { memberId: memberIdOf({ user: { id: userId } }), role: "viewer" });
  const refused = { code: "FORBIDDEN", details: { scope: "admin" } };
  await expect(setMemberRole(members, admin, { memberId, role: "viewer" })).rejects.toMatchObject(refused);
  await expect(removeMember(members, admin, memberId)).rejects.toMatchObject(refused);
  await expect(inviteMember(members, admin, { email: undefined, role: "viewer" })).rejects.toMatchObject(refused);
});

test("of a link only a hash is kept, and another installation's is unknown without a look at the database", async () => {
  const { caller } = await makeOwner(auth);
  const made = await inviteMember(members, caller, { email: undefined, role: "viewer" });
  const token = tokenOf(made);
  const rows = await database.query("select i::text as row from invitations i where i.organization_id = $1", [
    caller.organizationId,
  ]);
  expect(rows).toHaveLength(1);
  for (const part of [token, token.slice(4), Buffer.from(token.slice(4), "base64url").toString("hex")])
    expect(rows[0]!["row"]).not.toContain(part);
  const asked: string[] = [];
  const listening: Members = {
    ...members,
    invitationKey: Buffer.alloc(32, 8),
    auth: { ...auth, database: { ...database, query: async (text) => (asked.push(text), []) } },
  };
  await expect(findByToken(listening, token)).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(asked).toEqual([]);
  expect((await findByToken(members, token)).invitation.role).toBe("viewer");
});

test("a key that was revoked a moment ago changes nobody, though the process does not know it yet", async () => {
  const { caller } = await makeOwner(auth);
  const { key, secret } = await createApiKey(auth, caller, { name: "key", scopes: ALL_SCOPES });
  const byKey = { ...(await authenticate(auth, `Bearer ${secret}`, "192.0.2.1"))!, from: caller.from };
  const token = tokenOf(await inviteMember(members, byKey, { email: undefined, role: "viewer" }));
  const email = "joined@revoked.example.org";
  const { userId } = await acceptInvitation(members, undefined, { token, email, name: "N", password: PASSWORD }, FROM);
  const memberId = memberIdOf({ user: { id: userId } });
  expect(await setMemberRole(members, byKey, { memberId, role: "runner" })).toMatchObject({ role: "runner" });
  await revokeApiKey(auth, caller, key.id);
  const refused = { code: "UNAUTHENTICATED" };
  await expect(setMemberRole(members, byKey, { memberId, role: "admin" })).rejects.toMatchObject(refused);
  await expect(removeMember(members, byKey, memberId)).rejects.toMatchObject(refused);
  await expect(inviteMember(members, byKey, { email: undefined, role: "viewer" })).rejects.toMatchObject(refused);
  expect((await listMembers(members, caller, { first: 1 })).items).toMatchObject([{ role: "runner" }]);
});

describe("the mail of an invitation", () => {
  const invite = (by: Members, caller: Acting, email: string) => inviteMember(by, caller, { email, role: "viewer" });
  const queuedFor = async (email: string): Promise<number> =>
    (await database.query("select from mails where organization_id is not null and recipient = $1", [email])).length;

  test("is queued with the invitation, and not beyond the plan's recipients of the day", async () => {
    const mailing: Members = { ...members, mail: openMail(auth, UNANSWERED) };
    const { caller } = await makeOwner(auth);
    const { organizationId } = caller;
    await database.query("update organizations set plan = 'free' where id = $1", [organizationId]);
    expect(await invite(mailing, caller, "one@mailed.example.org")).toMatchObject({ isMailed: true });
    const most = MAIL_RECIPIENTS_PER_DAY.free;
    await database.query("update mail_days set recipients = $2 where organization_id = $1", [organizationId, most - 1]);
    expect(await invite(mailing, caller, "two@mailed.example.org")).toMatchObject({ isMailed: true });
    const last = await invite(mailing, caller, "three@mailed.example.org");
    expect(last).toMatchObject({ isMailed: false });
    expect(await findByToken(members, tokenOf(last))).toMatchObject({ invitation: { role: "viewer" } });
    const counts = await Promise.all(["one", "two", "three"].map((name) => queuedFor(`${name}@mailed.example.org`)));
    expect(counts).toEqual([1, 1, 0]);
  });

  test("is not queued without SMTP_URL, nor when the invitation is refused", async () => {
    const { caller, email } = await makeOwner(auth);
    expect(await invite(members, caller, "unset@mailed.example.org")).toMatchObject({ isMailed: false });
    const mailing: Members = { ...members, mail: openMail(auth, UNANSWERED) };
    await expect(invite(mailing, caller, email)).rejects.toMatchObject({ code: "CONFLICT" });
    expect([await queuedFor("unset@mailed.example.org"), await queuedFor(email)]).toEqual([0, 0]);
  });
});
