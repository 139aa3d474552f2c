/** A credential that one process revokes, another refuses a moment later: a notice tells it, not the end of its cache. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "../agents.ts";
import { eventually, type Data } from "../client.ts";
import { startPair, type Pair } from "./pair.ts";

/** The cache is good for 5 s from its first use, which is just before each change here. */
const SOON_MS = 4_000;

let pair: Pair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair[Symbol.asyncDispose]());

const ME = "{ me { name } }";
const refusedBy = async (server: Pair["b"], token: string): Promise<boolean> =>
  (await server.graphql(ME, {}, token)).errors?.[0]?.extensions.code === "UNAUTHENTICATED";

/** Each revokes at the one what the other has just answered to. */
const bothWays = (): [Pair["a"], Pair["b"]][] => [
  [pair.a, pair.b],
  [pair.b, pair.a],
];

test("an API key", async () => {
  for (const [here, there] of bothWays()) {
    const { createApiKey: key } = await here.data(
      'mutation { createApiKey(input: {name: "short", scopes: ["runs:read", "runs:start"]}) { id secret } }',
      {},
      pair.token,
    );
    expect(await refusedBy(there, key.secret)).toBe(false);
    const revoke = "mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { id } }";
    await here.data(revoke, { input: { apiKeyId: key.id } }, pair.token);
    expect(await refusedBy(here, key.secret)).toBe(true);
    await eventually(() => refusedBy(there, key.secret), SOON_MS);
  }
});

test("a session that is signed out or ended from another one, or whose refresh token was used twice", async () => {
  const { email, password } = pair.a.world;
  const signIn = async (server: Pair["a"]): Promise<Data> => {
    const login = `mutation($email: String!, $password: String!) {
      login(email: $email, password: $password) { accessToken refreshToken } }`;
    return (await server.data(login, { email, password }, null)).login;
  };
  for (const [here, there] of bothWays()) {
    const { accessToken } = await signIn(here);
    expect(await refusedBy(there, accessToken)).toBe(false);
    await here.data("mutation { logout { name } }", {}, accessToken);
    await eventually(() => refusedBy(there, accessToken), SOON_MS);

    const mine = await signIn(there);
    for (const [end, others] of [
      ["revokeOtherSessions { revokedCount }", 2],
      ["revokeSession(input: {sessionId: $id}) { id }", 1],
    ] as const) {
      const theirs: string[] = [];
      for (let count = 0; count < others; count++) theirs.push((await signIn(there)).accessToken);
      for (const token of theirs) expect(await refusedBy(there, token)).toBe(false);
      const { sessions } = await here.data("{ sessions(first: 1) { nodes { id } } }", {}, mine.accessToken);
      const withId = end.includes("$id") ? "($id: ID!)" : "";
      await here.data(`mutation ${withId} { ${end} }`, { id: sessions.nodes[0].id }, mine.accessToken);
      await eventually(
        async () => (await Promise.all(theirs.map((token) => refusedBy(there, token)))).every(Boolean),
        SOON_MS,
      );
    }

    const stolen = await signIn(here);
    const refresh = () =>
      here.graphql(
        "mutation($input: RefreshTokenInput!) { refreshToken(input: $input) { accessToken } }",
        { input: { refreshToken: stolen.refreshToken } },
        null,
      );
    const { accessToken: second } = (await refresh()).data.refreshToken;
    expect(await refusedBy(there, second)).toBe(false);
    expect((await refresh()).errors![0]!.extensions.code).toBe("UNAUTHENTICATED");
    await eventually(() => refusedBy(there, second), SOON_MS);
  }
});

test("a password that is changed: the user's other sessions", async () => {
  const login = `mutation($email: String!, $password: String!) {
    login(email: $email, password: $password) { accessToken } }`;
  const change = `mutation($input: ChangePasswordInput!) { changePassword(input: $input) { id } }`;
  for (const [index, [here, there]] of bothWays().entries()) {
    const who = await pair.a.member(`changing${index}@example.org`, "viewer");
    const [mine, theirs] = [await here.data(login, who, null), await there.data(login, who, null)];
    for (const one of [mine, theirs]) expect(await refusedBy(there, one.login.accessToken)).toBe(false);
    const input = { currentPassword: who.password, newPassword: "another password" };
    await here.data(change, { input }, mine.login.accessToken);
    await eventually(() => refusedBy(there, theirs.login.accessToken), SOON_MS);
    expect(await refusedBy(there, mine.login.accessToken)).toBe(false);
  }
});

test("a member who is demoted, and one who is removed", async () => {
  const { organizationId } = pair.a.world;
  for (const [index, [here, there]] of bothWays().entries()) {
    const { email, password } = await pair.a.member(`member${index}@example.org`, "editor");
    const login =
      "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
    const { accessToken } = (await here.data(login, { email, password }, null)).login;
    const asMember = "{ me { id } organization { id } caller { scopes } }";
    const { me, organization } = await there.data(asMember, {}, accessToken);
    expect(organization.id).toBe(organizationId);
    const memberId = me.id.replace("user", "member");
    const maySave = async (): Promise<boolean> =>
      (await there.data(asMember, {}, accessToken)).caller.scopes.includes("agents:write");
    expect(await maySave()).toBe(true);
    const set = "mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { role } }";
    await here.data(set, { input: { memberId, role: "viewer" } }, pair.token);
    await eventually(async () => !(await maySave()), SOON_MS);
    await here.data(
      "mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }",
      { id: memberId },
      pair.token,
    );
    await eventually(() => refusedBy(there, accessToken), SOON_MS);
  }
});

test("an agent that is paused, and one that is active again", async () => {
  const agentId = await publish(pair.a, "echo");
  const start = async (server: Pair["a"]): Promise<string> => {
    const { errors } = await server.graphql(
      "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }",
      { input: { agentId } },
      pair.token,
    );
    return errors?.[0]!.extensions.code ?? "started";
  };
  const set = (server: Pair["a"], status: string) =>
    server.data(
      "mutation($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { id } }",
      { input: { agentId, status } },
      pair.token,
    );
  for (const [here, there] of bothWays()) {
    expect(await start(there)).toBe("started");
    await set(here, "paused");
    expect(await start(here)).toBe("CONFLICT");
    await eventually(async () => (await start(there)) === "CONFLICT", SOON_MS);
    await set(here, "active");
    await eventually(async () => (await start(there)) === "started", SOON_MS);
  }
});
