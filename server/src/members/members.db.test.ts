/** What cannot be asked over the wire: how many members there may be, and what of an invitation is in the database. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeOwner, openAuth, PASSWORD, startDatabases, type TestAuth } from "../auth/auth.testsuite.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import { authenticate } from "../auth/authenticate.ts";
import { createApiKey } from "../auth/create-api-key.ts";
import { revokeApiKey } from "../auth/api-keys.ts";
import { ALL_SCOPES } from "../auth/scopes.ts";
import { acceptInvitation } from "./accept-invitation.ts";
import { inviteMember } from "./invite-member.ts";
import { findByToken } from "./invitations.ts";
import { listMembers } from "./list-members.ts";
import { memberIdOf } from "./member.ts";
import type { Members } from "./members.ts";
import { removeMember } from "./remove-member.ts";
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
  members = { auth, invitationKey: Buffer.alloc(32, 7), url: "https://agents.example.org" };
});
afterAll(() => stack.disposeAsync());

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
