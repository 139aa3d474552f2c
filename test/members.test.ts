/** People of an organization: who is in it, what they may do, and what they lose when that changes. */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { expectInTime } from "./in-time.ts";
import { publish, start } from "./agents.ts";
import { eventually, type Answer, type Data } from "./client.ts";
import type { World } from "./server.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { acknowledged, type Talk } from "./web-socket.ts";

type Role = "owner" | "admin" | "editor" | "runner" | "viewer";
type Person = { memberId: string; token: string; refreshToken: string; email: string; password: string };

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const LOGIN = `mutation ($email: String!, $password: String!) {
  login(email: $email, password: $password) { accessToken refreshToken } }`;

async function signIn({ email, password }: { email: string; password: string }): Promise<Person> {
  const { accessToken, refreshToken } = (await server.data(LOGIN, { email, password }, null)).login;
  const { me } = await server.data("{ me { id } }", {}, accessToken);
  return { memberId: me.id.replace("user", "member"), token: accessToken, refreshToken, email, password };
}

let made = 0;
/** A new member of the server's own organization. */
const person = async (role: Role): Promise<Person> =>
  signIn(await server.member(`person${++made}@members.example.org`, role));

const SET = "mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { id role user { email } } }";
const setRole = (memberId: string, role: Role, token?: string): Promise<Answer> =>
  server.graphql(SET, { input: { memberId, role } }, token);
const REMOVE = "mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id role user { name email } } }";
const remove = (id: string, token?: string): Promise<Answer> => server.graphql(REMOVE, { id }, token);
const leave = (token: string): Promise<Answer> =>
  server.graphql("mutation { leaveOrganization { id name } }", {}, token);
const codeOf = ({ errors }: Answer): string | undefined => errors?.[0]?.extensions.code;
const reasonOf = ({ errors }: Answer): string | undefined => errors?.[0]?.extensions.reason;

const LIST = `query ($first: Int, $after: String) { members(first: $first, after: $after) {
  edges { cursor node { id role createdAt user { id name email } } } pageInfo { hasNextPage endCursor } } }`;

describe("the list", () => {
  test("has who joined last first, by pages, with their e-mails", async () => {
    await server.clock.advance(1_000);
    const [ed, vera] = [await person("editor"), await person("viewer")];
    const first = (await server.data(LIST, { first: 1 })).members;
    expect(first.edges.map((edge: Data) => edge.node)).toEqual([
      {
        id: vera.memberId,
        role: "viewer",
        createdAt: expect.stringMatching(/Z$/),
        user: { id: vera.memberId.replace("member", "user"), name: "viewer", email: vera.email },
      },
    ]);
    const rest = (await server.data(LIST, { first: 200, after: first.pageInfo.endCursor })).members;
    expect(rest.edges[0].node.id).toBe(ed.memberId);
    expect(rest.edges.at(-1).node).toMatchObject({ role: "owner", user: { email: server.world.email } });
    expect(rest.edges.some((edge: Data) => edge.node.id === vera.memberId)).toBe(false);
    // The place is still there when the person is not.
    expect(codeOf(await remove(vera.memberId))).toBeUndefined();
    expect((await server.data(LIST, { first: 200, after: first.pageInfo.endCursor })).members).toEqual(rest);
    const other = Buffer.from(`members 1 ${ed.memberId}x`).toString("base64url");
    expect(reasonOf(await server.graphql(LIST, { after: other }))).toBe("invalid_cursor");
  });

  test("node finds a member, and no longer who has left", async () => {
    const { memberId } = await person("runner");
    const node = "query ($id: ID!) { node(id: $id) { id ... on Member { role } } }";
    expect((await server.data(node, { id: memberId })).node).toEqual({ id: memberId, role: "runner" });
    const removed = (await remove(memberId)).data.removeMember;
    expect(removed).toEqual({ id: memberId, role: "runner", user: { name: "runner", email: null } });
    expect(codeOf(await server.graphql(node, { id: memberId }))).toBe("NOT_FOUND");
  });
});

describe("roles", () => {
  test("an administrator changes all but owners, and makes none", async () => {
    const [owner, admin, editor] = [await person("owner"), await person("admin"), await person("editor")];
    expect((await setRole(editor.memberId, "admin", admin.token)).data.setMemberRole).toEqual({
      id: editor.memberId,
      role: "admin",
      user: { email: editor.email },
    });
    for (const answer of [
      await setRole(editor.memberId, "owner", admin.token),
      await setRole(admin.memberId, "owner", admin.token),
      await setRole(owner.memberId, "viewer", admin.token),
      await setRole(owner.memberId, "owner", admin.token),
      await remove(owner.memberId, admin.token),
      // A key is never an owner, whatever it may do.
      await setRole(editor.memberId, "owner"),
      await setRole(owner.memberId, "viewer"),
      await remove(owner.memberId),
    ]) {
      expect(answer.errors).toMatchObject([{ message: "only an owner makes, changes or removes an owner" }]);
      expect(codeOf(answer)).toBe("FORBIDDEN");
    }
    expect((await setRole(editor.memberId, "owner", owner.token)).data.setMemberRole.role).toBe("owner");
    expect((await setRole(editor.memberId, "viewer", owner.token)).data.setMemberRole.role).toBe("viewer");
    expect(codeOf(await remove(owner.memberId, owner.token))).toBeUndefined();
  });

  test("nobody grants more than they have: a key names the scopes that it lacks", async () => {
    const { memberId } = await person("viewer");
    const key = await server.key(["admin", "agents:read", "runs:read", "runs:start"]);
    const refused = await setRole(memberId, "runner", key);
    expect(refused.errors![0]).toMatchObject({
      message: "nobody grants more than they have: runner has runs:cancel and approvals:decide",
      extensions: { code: "FORBIDDEN", scope: "runs:cancel approvals:decide" },
    });
    expect(codeOf(await setRole(memberId, "viewer", key))).toBeUndefined();
  });

  test("the last owner is neither demoted nor removed, and does not leave", async () => {
    const world = await server.organization("alone");
    const { token, memberId } = await signIn(world);
    for (const answer of [await setRole(memberId, "admin", token), await remove(memberId, token), await leave(token)]) {
      expect(answer.errors![0]).toMatchObject({ extensions: { code: "CONFLICT", reason: "last_owner" } });
      expect(answer.errors![0]!.message).toContain("at least one owner");
    }
    expect((await setRole(memberId, "owner", token)).data.setMemberRole.role).toBe("owner");
  });

  test("of two owners who go at once in any way, one stays", async () => {
    const ways: [string, (of: Person, token: string) => Promise<Answer>][] = [
      ["leave", (_, token) => leave(token)],
      ["demoted by themselves", (of, token) => setRole(of.memberId, "viewer", token)],
      ["removed by the other", (of, token) => remove(of.memberId, token)],
    ];
    for (const [how, go] of ways) {
      const { world, owners } = await twoOwners();
      const [ada, grace] = owners;
      const answers = await Promise.all(
        how === "removed by the other"
          ? [go(ada, grace.token), go(grace, ada.token)]
          : [go(ada, ada.token), go(grace, grace.token)],
      );
      const refused = answers.filter((answer) => answer.errors);
      expect(refused, how).toHaveLength(1);
      const list = await server.data(LIST, {}, world.apiKey);
      expect(
        list.members.edges.filter((edge: Data) => edge.node.role === "owner"),
        how,
      ).toHaveLength(1);
    }
  });
});

/** Two people who own an organization of their own. */
async function twoOwners(): Promise<{ world: World; owners: [Person, Person] }> {
  const world = await server.organization(`pair${++made}`);
  const second = await server.memberOf(world, `second${made}@members.example.org`, "owner");
  return { world, owners: [await signIn(world), await signIn(second)] };
}

describe("leaving", () => {
  test("ends the membership, and the session goes on in another organization", async () => {
    const other = await server.organization("elsewhere");
    const both = await server.memberOf(other, server.world.email, "viewer");
    const ada = await signIn({ ...both, password: server.world.password });
    const into = (organizationId: string, refreshToken: string): Promise<Answer> =>
      server.graphql(
        "mutation ($input: RefreshTokenInput!) { refreshToken(input: $input) { accessToken refreshToken } }",
        { input: { refreshToken, organizationId } },
        null,
      );
    const there = (await into(other.organizationId, ada.refreshToken)).data.refreshToken;
    // The session is in one organization at a time: the token of the one it left is refused.
    expect(codeOf(await server.graphql("{ me { id } }", {}, ada.token))).toBe("UNAUTHENTICATED");
    const here = "{ organization { id } caller { role memberships { organization { id } } } }";
    expect(await server.data(here, {}, there.accessToken)).toMatchObject({
      organization: { id: other.organizationId },
      caller: { role: "viewer", memberships: { length: 2 } },
    });
    expect((await leave(there.accessToken)).data.leaveOrganization).toEqual({
      id: other.organizationId,
      name: "elsewhere",
    });
    expect(codeOf(await server.graphql("{ me { id } }", {}, there.accessToken))).toBe("UNAUTHENTICATED");
    expect(codeOf(await into(other.organizationId, there.refreshToken))).toBe("NOT_FOUND");
    const back = (await into(server.world.organizationId, there.refreshToken)).data.refreshToken;
    expect((await server.data(here, {}, back.accessToken)).caller).toMatchObject({ role: "owner" });
  });

  test("is nothing that an API key does", async () => {
    const answer = await server.graphql("mutation { leaveOrganization { id } }");
    expect(answer.errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", reason: "wrong_credential" });
  });
});

test("an organization is renamed; a name of nothing or of control characters is refused", async () => {
  const world = await server.organization("old-name");
  const rename = (name: string): Promise<Answer> =>
    server.graphql(
      "mutation ($name: String!) { renameOrganization(input: {name: $name}) { id name } }",
      { name },
      world.apiKey,
    );
  expect((await rename(" new name ")).data.renameOrganization).toEqual({ id: world.organizationId, name: "new name" });
  expect((await server.data("{ organization { name } }", {}, world.apiKey)).organization.name).toBe("new name");
  expect((await server.data("{ organization { name } }")).organization.name).toBe("first");
  for (const name of [" ", "a\nb", "x".repeat(201)])
    expect((await rename(name)).errors![0]!.extensions).toMatchObject({ fields: [{ path: "input.name" }] });
});

describe("what somebody loses", () => {
  /** A WebSocket and an event stream that stay open, and a query. */
  async function open({ token }: Person): Promise<{
    waited: Promise<Answer>;
    closed: Promise<number>;
    ended: Promise<Data>;
    isRefused(): Promise<string | undefined>;
  }> {
    const agentId = await publish(server, "patient");
    const id = await start(server, agentId);
    const query = "subscription ($id: ID!) { runUpdated(runId: $id) { status } }";
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "connection_init", payload: { Authorization: `Bearer ${token}` } }));
    await once(socket, "message");
    const closed = once(socket, "close").then(([code]) => code as number);
    const events = server.events(query, { id }, token);
    await events.next();
    const wait = "mutation ($id: ID!) { runAgent(input: {agentId: $id, wait: 30}) { status } }";
    const runs = async (): Promise<number> =>
      (await server.data("query ($id: ID!) { runCount(filter: {agentId: [$id]}) { value } }", { id: agentId })).runCount
        .value;
    const before = await runs();
    const waited = server.graphql(wait, { id: agentId }, token);
    // Only a start that was accepted is waited for.
    await eventually(async () => (await runs()) > before);
    return {
      waited,
      closed,
      ended: events.next().then(({ value }) => value.data),
      isRefused: async () => codeOf(await server.graphql('mutation { cancelRun(runId: "run_x") { id } }', {}, token)),
    };
  }

  test("a member who is removed: the next request is refused, sockets, streams and waits end within 10 s", async () => {
    const ed = await person("editor");
    const { waited, closed, ended, isRefused } = await open(ed);
    expect(await isRefused()).toBe("NOT_FOUND");
    const since = performance.now();
    await remove(ed.memberId);
    expect(await isRefused()).toBe("UNAUTHENTICATED");
    expect(await closed).toBe(4403);
    expect((await ended).errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
    expect(await waited).toMatchObject({
      status: 401,
      errors: [{ message: expect.stringContaining("the run goes on") }],
    });
    expectInTime(performance.now() - since, 10_000);
    expect(codeOf(await server.graphql(LOGIN, ed, null))).toBe("FORBIDDEN");
  });

  test("a member who is demoted: the same, and they sign in as what they are now", async () => {
    const ed = await person("editor");
    const { waited, closed, ended, isRefused } = await open(ed);
    await setRole(ed.memberId, "viewer");
    expect(await isRefused()).toBe("FORBIDDEN");
    expect(await closed).toBe(4403);
    expect((await ended).errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
    expect(codeOf(await waited)).toBe("UNAUTHENTICATED");
    const again = await signIn(ed);
    expect((await server.data("{ caller { role } }", {}, again.token)).caller.role).toBe("viewer");
  });

  const CANCEL = 'mutation { cancelRun(runId: "run_x") { id } }';
  /** The code of an operation's refusal; what a viewer may not do is NOT_FOUND to those who may. */
  async function askOver({ send, messages }: Talk, query = CANCEL): Promise<string | undefined> {
    const id = `asked${messages.length}`;
    send({ type: "subscribe", id, payload: { query } });
    const answer = await eventually(() => messages.find((one) => one.id === id));
    return (answer.type === "error" ? answer.payload : answer.payload.errors)?.[0].extensions.code;
  }

  test.each(["older", "newer"])(
    "a member who is demoted: each operation on each socket of their token asks again, and the older socket ends, with the %s one looked at first",
    async (first) => {
      const ed = await person("editor");
      // An entry that leaves gives its place among those that are read to the one that came last.
      using leaving = await acknowledged(server, ed.token);
      using older = await acknowledged(server, ed.token);
      expect([await askOver(leaving), await askOver(older)]).toEqual(["NOT_FOUND", "NOT_FOUND"]);
      older.send({ type: "subscribe", id: "watch", payload: { query: "subscription { agentsChanged { id } }" } });
      await setRole(ed.memberId, "viewer");
      using newer = await acknowledged(server, ed.token);
      expect([await askOver(older), await askOver(newer)]).toEqual(["FORBIDDEN", "FORBIDDEN"]);
      if (first === "newer") {
        leaving.socket.terminate();
        await leaving.closed;
        await server.clock.now();
      }
      await server.clock.advance(4_000);
      expect(await older.closed).toEqual({ code: 4403, reason: "Forbidden" });
      expect(await askOver(newer, "{ me { id } }")).toBeUndefined();
      expect(newer.socket.readyState).toBe(WebSocket.OPEN);
    },
  );

  test("on an open socket a key that is revoked, a session that is signed out and a member who is removed are refused at once", async () => {
    const [out, gone] = [await person("editor"), await person("editor")];
    const create = 'mutation { createApiKey(input: {name: "short", scopes: ["runs:cancel"]}) { id secret } }';
    const { id, secret } = (await server.data(create)).createApiKey;
    const sockets = await Promise.all([secret, out.token, gone.token].map((token) => acknowledged(server, token)));
    const ask = () => Promise.all(sockets.map((socket) => askOver(socket)));
    expect(await ask()).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
    await server.data("mutation ($id: ID!) { revokeApiKey(input: {apiKeyId: $id}) { id } }", { id });
    await server.data("mutation { logout { name } }", {}, out.token);
    await remove(gone.memberId);
    expect(await ask()).toEqual(["UNAUTHENTICATED", "UNAUTHENTICATED", "UNAUTHENTICATED"]);
    await server.clock.advance(4_000);
    expect(await Promise.all(sockets.map(async ({ closed }) => (await closed).code))).toEqual([4403, 4403, 4403]);
  });

  test("an administrator who is removed grants nothing in the moment before others know", async () => {
    const [admin, friend] = [await person("admin"), await person("viewer")];
    const [removed] = await Promise.all([
      remove(admin.memberId),
      ...Array.from({ length: 5 }, () => setRole(friend.memberId, "admin", admin.token)),
    ]);
    expect(codeOf(removed)).toBeUndefined();
    expect(codeOf(await setRole(friend.memberId, "editor", admin.token))).toBe("UNAUTHENTICATED");
    await eventually(async () => (await setRole(friend.memberId, "viewer")).data.setMemberRole.role === "viewer");
  });
});
