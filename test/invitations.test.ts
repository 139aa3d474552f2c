/** Invitations by link: who makes them, who may use them, and that each works once. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, type Data } from "./client.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import type { World } from "./server.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

type Role = "owner" | "admin" | "editor" | "runner" | "viewer";
type Given = { token?: string; name?: string; email?: string; password?: string };
type Made = { id: string; url: string; token: string; email: string | null; role: Role };

const PASSWORD = "correct horse battery";
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

let server: MovedServer;
/** The organization whose members are invited in these tests. */
let world: World;
beforeAll(async () => {
  server = await movedServer();
  world = await server.organization("inviting");
});
afterAll(() => server[Symbol.asyncDispose]());

const INVITE = `mutation ($input: InviteMemberInput!) { inviteMember(input: $input) {
  id email role url createdAt expiresAt createdBy { kind name } } }`;
const inviting = (input: { role: Role; email?: string }, token = world.apiKey): Promise<Answer> =>
  server.graphql(INVITE, { input }, token);
async function invite(input: { role: Role; email?: string }, token?: string): Promise<Made> {
  const { data, errors } = await inviting(input, token);
  if (errors) throw new Error(JSON.stringify(errors));
  return { ...data.inviteMember, token: data.inviteMember.url.split("#invitation=")[1] };
}

const ACCEPT = "mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { accessToken } }";
const accept = (input: Given, token: string | null = null): Promise<Answer> => server.graphql(ACCEPT, { input }, token);
const PREVIEW = "query ($token: String!) { invitation(token: $token) { organizationName email role expiresAt } }";
const preview = (token: string): Promise<Answer> => server.graphql(PREVIEW, { token }, null);
const LOGIN = `mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }`;
const login = (email: string, password = PASSWORD): Promise<Answer> => server.graphql(LOGIN, { email, password }, null);
const signIn = async (email: string): Promise<string> => (await login(email)).data.login.accessToken;
const revoke = (id: string): Promise<Answer> =>
  server.graphql(
    "mutation ($id: ID!) { revokeInvitation(input: {invitationId: $id}) { id url } }",
    { id },
    world.apiKey,
  );

const codeOf = ({ errors }: Answer): string | undefined => errors?.[0]?.extensions.code;
const reasonOf = ({ errors }: Answer): string | undefined => errors?.[0]?.extensions.reason;
const membersOf = async (): Promise<Data[]> =>
  (await server.data("{ members(first: 200) { nodes { role user { email } } } }", {}, world.apiKey)).members.nodes;
const openOnes = async (): Promise<Data[]> =>
  (await server.data("{ invitations(first: 200) { nodes { id email role url } } }", {}, world.apiKey)).invitations
    .nodes;
const HERE = "{ organization { id } caller { role } }";

let made = 0;
const fresh = (): { name: string; email: string; password: string } => ({
  name: `New ${++made}`,
  email: `new${made}@invited.example.org`,
  password: PASSWORD,
});

describe("a link", () => {
  test("is shown once, tells a stranger what it is for, and makes a new user a member", async () => {
    const invitation = await invite({ role: "editor" });
    expect(invitation).toMatchObject({
      id: expect.stringMatching(/^invitation_/),
      email: null,
      role: "editor",
      url: expect.stringMatching(/^http:\/\/.+\/#invitation=inv_[\w-]{64}$/),
      createdBy: { kind: "key", name: "test" },
    });
    expect(await openOnes()).toContainEqual({ id: invitation.id, email: null, role: "editor", url: null });
    const node = "query ($id: ID!) { node(id: $id) { id ... on Invitation { role url } } }";
    expect((await server.data(node, { id: invitation.id }, world.apiKey)).node).toMatchObject({
      role: "editor",
      url: null,
    });
    expect((await preview(invitation.token)).data.invitation).toEqual({
      organizationName: "inviting",
      email: null,
      role: "editor",
      expiresAt: expect.stringMatching(/Z$/),
    });

    const ada = fresh();
    const { acceptInvitation } = (await accept({ token: invitation.token, ...ada })).data;
    expect(await server.data(HERE, {}, acceptInvitation.accessToken)).toEqual({
      organization: { id: world.organizationId },
      caller: { role: "editor" },
    });
    expect(await server.data(HERE, {}, await signIn(ada.email))).toMatchObject({ caller: { role: "editor" } });
    expect((await openOnes()).map(({ id }) => id)).not.toContain(invitation.id);
    expect(codeOf(await server.graphql(node, { id: invitation.id }, world.apiKey))).toBe("NOT_FOUND");
  });

  test("that is wrong, used, revoked or too old is not found, in the same words", async () => {
    const [used, revoked, old] = [
      await invite({ role: "viewer" }),
      await invite({ role: "viewer" }),
      await invite({ role: "viewer" }),
    ];
    expect(codeOf(await accept({ token: used.token, ...fresh() }))).toBeUndefined();
    expect((await revoke(revoked.id)).data.revokeInvitation).toEqual({ id: revoked.id, url: null });
    for (const id of [revoked.id, used.id, "invitation_x"]) expect(codeOf(await revoke(id))).toBe("NOT_FOUND");
    // Hours, as passwords take seconds on a slow machine.
    await server.clock.advance(7 * DAY_MS - HOUR_MS);
    expect((await preview(old.token)).data.invitation.role).toBe("viewer");
    await server.clock.advance(2 * HOUR_MS);
    const madeUp = `${used.token.slice(0, -1)}${used.token.endsWith("A") ? "B" : "A"}`;
    const refusals = await Promise.all(
      [used.token, revoked.token, old.token, madeUp, "", "inv_", "x".repeat(10_000), "\u0000"].flatMap((token) => [
        preview(token),
        accept({ token, ...fresh() }),
      ]),
    );
    for (const { data, errors } of refusals) {
      expect(Object.values(data)).toEqual([null]);
      expect(errors).toMatchObject([{ message: "Invitation not found", extensions: { code: "NOT_FOUND" } }]);
    }
  });

  test("that eight use at once makes one member, and no accounts for the others", async () => {
    const { token } = await invite({ role: "runner" });
    const before = await membersOf();
    const people = Array.from({ length: 8 }, fresh);
    const answers = await Promise.all(people.map((person) => accept({ token, ...person })));
    expect(answers.filter((answer) => !answer.errors)).toHaveLength(1);
    expect(answers.filter((answer) => codeOf(answer) === "NOT_FOUND")).toHaveLength(7);
    expect(await membersOf()).toHaveLength(before.length + 1);
    const winner = answers.findIndex((answer) => !answer.errors);
    const logins = await Promise.all(people.map(({ email }) => login(email)));
    expect(logins.map((answer) => codeOf(answer))).toEqual(
      people.map((_, index) => (index === winner ? undefined : "UNAUTHENTICATED")),
    );
  });

  test("that is used and revoked at once is one of the two", async () => {
    const { token, id } = await invite({ role: "runner" });
    const [accepted, revoked] = await Promise.all([accept({ token, ...fresh() }), revoke(id)]);
    const [lost, ...others] = [accepted, revoked].filter((answer) => answer.errors);
    expect([codeOf(lost!), others]).toEqual(["NOT_FOUND", []]);
  });

  test("with an e-mail fits only that one, in any case", async () => {
    const { email, name, password } = fresh();
    const { token } = await invite({ role: "viewer", email: ` ${email} ` });
    expect((await preview(token)).data.invitation.email).toBe(email);
    for (const answer of [
      await accept({ token, ...fresh() }),
      await accept({ token }, await signIn(server.world.email)),
    ]) {
      expect(answer.errors![0]).toMatchObject({
        message: "this invitation is for another e-mail",
        extensions: { code: "BAD_USER_INPUT", fields: [{ code: "differs" }] },
      });
    }
    expect(codeOf(await accept({ token, name, password, email: email.toUpperCase() }))).toBeUndefined();
  });
});

describe("who accepts", () => {
  test("with an account proves its password, in the words of a login", async () => {
    const { token } = await invite({ role: "viewer" });
    const elsewhere = await server.organization("with-account");
    const wrong = { message: "the e-mail or the password is wrong", extensions: { code: "UNAUTHENTICATED" } };
    for (const given of [
      { email: elsewhere.email, password: "wrong password" },
      { email: elsewhere.email, password: "wrong password", name: "Somebody" },
      // Without a name no account is made: whether there is one is not told.
      { email: "nobody@invited.example.org", password: PASSWORD },
    ]) {
      expect((await accept({ token, ...given })).errors).toMatchObject([wrong]);
    }
    const accepted = await accept({ token, email: elsewhere.email.toUpperCase(), password: PASSWORD, name: "Ignored" });
    const both = "{ organization { id } me { name } caller { memberships { role } } }";
    expect(await server.data(both, {}, accepted.data.acceptInvitation.accessToken)).toEqual({
      organization: { id: world.organizationId },
      me: { name: "with-account" },
      caller: { memberships: [{ role: "viewer" }, { role: "owner" }] },
    });
  });

  test("guesses no more passwords by a link than by login", async () => {
    const { token } = await invite({ role: "viewer" });
    const { email } = await server.organization("guessed");
    for (let guess = 0; guess < 10; guess++)
      expect(codeOf(await accept({ token, email, password: `wrong password ${guess}` }))).toBe("UNAUTHENTICATED");
    for (const answer of [await accept({ token, email, password: PASSWORD }), await login(email)]) {
      expect(answer.errors![0]!.extensions).toMatchObject({ code: "RATE_LIMITED", retryAfter: expect.any(Number) });
    }
    const twice = await server.graphql(
      `mutation ($input: AcceptInvitationInput!) { a: acceptInvitation(input: $input) { expiresAt } b: login(email: "a@b", password: "c") { expiresAt } }`,
      { input: { token } },
      null,
    );
    expect(codeOf(twice)).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  test("is not slowed by joining often: what led to something is no guess", async () => {
    const { email } = await server.memberOf(server.world, "often@invited.example.org", "viewer");
    for (let time = 0; time < 12; time++) {
      const { token } = await invite({ role: "viewer" });
      const { data, errors } = await accept({ token, email, password: PASSWORD });
      expect(errors, `time ${time}`).toBeUndefined();
      await server.data("mutation { leaveOrganization { id } }", {}, data.acceptInvitation.accessToken);
    }
  });

  test("is void after 20 wrong passwords, so that it tells of few who has an account", async () => {
    const { token } = await invite({ role: "viewer" });
    const accounts = await Promise.all(
      [1, 2, 3].map(async (number) => (await server.organization(`probed-${number}`)).email),
    );
    const seen: (string | undefined)[] = [];
    // Seven tries an account, which none has too many of; all of an account's at once.
    for (const email of accounts)
      for (const answer of await Promise.all(
        Array.from({ length: 7 }, (_, guess) =>
          accept({ token, email, password: `wrong password ${guess}`, name: "Somebody" }),
        ),
      ))
        seen.push(codeOf(answer));
    expect(seen.filter((code) => code === "UNAUTHENTICATED")).toHaveLength(LIMITS.invitationTries);
    expect(seen.filter((code) => code === "NOT_FOUND")).toHaveLength(1);
    expect(codeOf(await accept({ token, ...fresh() }))).toBe("NOT_FOUND");
    expect(codeOf(await preview(token))).toBe("NOT_FOUND");
  });

  test("learns what is missing", async () => {
    const { token } = await invite({ role: "viewer" });
    const paths = async (given: Given): Promise<string[]> =>
      (await accept({ token, ...given })).errors![0]!.extensions.fields!.map(({ path, code }) => `${path} ${code}`);
    expect(await paths({})).toEqual(["input.email required", "input.password required"]);
    expect(await paths({ email: "x", password: "short", name: "\n" })).toEqual([
      "input.email invalid",
      "input.name required",
      "input.password too_short",
    ]);
    expect((await preview(token)).errors).toBeUndefined();
  });

  test("signed in gives only the token; a member is told so and the link stays; a key is refused", async () => {
    const { token } = await invite({ role: "viewer" });
    const owner = await signIn(world.email);
    expect(reasonOf(await accept({ token }, owner))).toBe("already_member");
    const other = await server.organization("signed-in");
    const session = await signIn(other.email);
    const more = await accept({ token, name: "x", password: PASSWORD }, session);
    expect(more.errors![0]!.extensions.fields).toMatchObject([{ path: "input.name" }, { path: "input.password" }]);
    expect(reasonOf(await accept({ token }, other.apiKey))).toBe("wrong_credential");
    expect((await accept({ token }, "nonsense")).status).toBe(401);
    const { accessToken } = (await accept({ token }, session)).data.acceptInvitation;
    expect(await server.data(HERE, {}, accessToken)).toMatchObject({ organization: { id: world.organizationId } });
    // The other session is where it was.
    expect((await server.data(HERE, {}, session)).organization.id).toBe(other.organizationId);
  });

  test("while they are removed is a member or not, and their session agrees", async () => {
    const other = await server.organization("in-and-out");
    const { token: first } = await invite({ role: "viewer" });
    const session = await signIn(other.email);
    await accept({ token: first }, session);
    const { me } = await server.data("{ me { id } }", {}, session);
    const { token } = await invite({ role: "runner" });
    const [accepted] = await Promise.all([
      accept({ token }, session),
      server.graphql(
        "mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }",
        { id: me.id.replace("user", "member") },
        world.apiKey,
      ),
    ]);
    const isMember = (await membersOf()).some(({ user }) => user.email === other.email);
    expect(isMember).toBe(accepted.errors === undefined);
    if (accepted.errors) expect(reasonOf(accepted)).toBe("already_member");
    else expect((await server.data(HERE, {}, accepted.data.acceptInvitation.accessToken)).caller.role).toBe("runner");
  });
});

describe("who invites", () => {
  test("gives no more than they have: only an owner an owner, a key only what its scopes have", async () => {
    const admin = await signIn((await server.memberOf(world, "admin@invited.example.org", "admin")).email);
    for (const token of [admin, world.apiKey])
      expect((await inviting({ role: "owner" }, token)).errors).toMatchObject([
        { message: "only an owner makes, changes or removes an owner", extensions: { code: "FORBIDDEN" } },
      ]);
    expect((await invite({ role: "admin" }, admin)).role).toBe("admin");
    expect((await invite({ role: "owner" }, await signIn(world.email))).role).toBe("owner");
    const key = await server.key(["admin"]);
    expect((await inviting({ role: "viewer" }, key)).errors![0]!.extensions).toEqual({
      code: "FORBIDDEN",
      scope: "agents:read runs:read",
    });
    for (const email of ["", "no e-mail", "x".repeat(300)])
      expect((await inviting({ role: "viewer", email })).errors![0]!.extensions.fields).toMatchObject([
        { path: "input.email" },
      ]);
    expect(reasonOf(await inviting({ role: "viewer", email: world.email.toUpperCase() }))).toBe("already_member");
  });

  test("and is demoted, removed or revoked leaves no way in", async () => {
    const { email } = await server.memberOf(world, "leaving@invited.example.org", "admin");
    const admin = await signIn(email);
    const { token } = await invite({ role: "editor" }, admin);
    const memberId = (await server.data("{ me { id } }", {}, admin)).me.id.replace("user", "member");
    const set = (role: Role): Promise<Answer> =>
      server.graphql(
        "mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { id } }",
        { input: { memberId, role } },
        world.apiKey,
      );
    expect((await preview(token)).errors).toBeUndefined();
    await set("editor");
    expect(codeOf(await preview(token))).toBe("NOT_FOUND");
    expect(codeOf(await accept({ token, ...fresh() }))).toBe("NOT_FOUND");
    await set("admin");
    expect((await preview(token)).errors).toBeUndefined();
    await server.data(
      "mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }",
      { id: memberId },
      world.apiKey,
    );
    expect(codeOf(await accept({ token, ...fresh() }))).toBe("NOT_FOUND");

    const { email: second } = await server.memberOf(world, "second@invited.example.org", "owner");
    const [first, other] = [await signIn(world.email), await signIn(second)];
    const owning = await invite({ role: "owner" }, other);
    expect((await preview(owning.token)).errors).toBeUndefined();
    const { me } = await server.data("{ me { id } }", {}, other);
    const demote = `mutation { setMemberRole(input: {memberId: "${me.id.replace("user", "member")}", role: admin}) { id } }`;
    await server.data(demote, {}, first);
    expect(codeOf(await preview(owning.token))).toBe("NOT_FOUND");
    expect(codeOf(await accept({ token: owning.token, ...fresh() }))).toBe("NOT_FOUND");

    const create = `mutation { createApiKey(input: {name: "short", scopes: ["admin", "agents:read", "runs:read"]}) { id secret } }`;
    const key = (await server.data(create, {}, world.apiKey)).createApiKey;
    const byKey = await invite({ role: "viewer" }, key.secret);
    expect((await preview(byKey.token)).errors).toBeUndefined();
    await server.data(
      "mutation ($id: ID!) { revokeApiKey(input: {apiKeyId: $id}) { id } }",
      { id: key.id },
      world.apiKey,
    );
    expect(codeOf(await preview(byKey.token))).toBe("NOT_FOUND");
    expect(codeOf(await accept({ token: byKey.token, ...fresh() }))).toBe("NOT_FOUND");
  });

  test("and is a key that expires ends with it", async () => {
    const expiresAt = new Date((await server.clock.now()) + DAY_MS).toISOString();
    const create = `mutation { createApiKey(input: {name: "for a day", scopes: ["admin", "agents:read", "runs:read"], expiresAt: "${expiresAt}"}) { secret } }`;
    const { token } = await invite(
      { role: "viewer" },
      (await server.data(create, {}, world.apiKey)).createApiKey.secret,
    );
    expect((await preview(token)).errors).toBeUndefined();
    await server.clock.advance(DAY_MS);
    expect(codeOf(await preview(token))).toBe("NOT_FOUND");
    expect(codeOf(await accept({ token, ...fresh() }))).toBe("NOT_FOUND");
  });

  test("has at most 100 open ones", async () => {
    const full = await server.organization("full");
    const some = (count: number): string =>
      `mutation { ${Array.from({ length: count }, (_, index) => `i${index}: inviteMember(input: {role: viewer}) { id }`).join(" ")} }`;
    for (const count of [25, 25, 25, 25]) await server.data(some(count), {}, full.apiKey);
    const refused = await inviting({ role: "viewer" }, full.apiKey);
    expect(refused.errors![0]).toMatchObject({
      message: "an organization has at most 100 open invitations: revoke one first",
      extensions: { reason: "limit_reached" },
    });
    await server.clock.advance(7 * DAY_MS + 1_000);
    expect((await inviting({ role: "viewer" }, full.apiKey)).errors).toBeUndefined();
  });
});
