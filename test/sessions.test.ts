/** A user's own account over the wire: where it is signed in, ending that, and another password. */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { publish } from "./agents.ts";
import { type Answer, type Data, type ShownError } from "./client.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const DAY_MS = 86_400_000;

let server: MovedServer;
let agentId: string;
beforeAll(async () => {
  server = await movedServer();
  agentId = await publish(server, "patient");
});
afterAll(() => server[Symbol.asyncDispose]());

type From = { address?: string; userAgent?: string };
type Credentials = { email: string; password: string };
type Tokens = { accessToken: string; refreshToken: string };

const LOGIN = `mutation ($email: String!, $password: String!) {
  login(email: $email, password: $password) { accessToken refreshToken } }`;

/** As a client with this address and name. */
async function sendFrom(
  { address = "192.0.2.1", userAgent = "test" }: From,
  query: string,
  variables: object,
  token?: string,
): Promise<{ data: Data; errors: ShownError[] | undefined }> {
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-forwarded-for": address,
      "user-agent": userAgent,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as { data: Data; errors: ShownError[] | undefined };
}

const signIn = async (who: Credentials, from: From = {}): Promise<Tokens> => {
  const { data, errors } = await sendFrom(from, LOGIN, who);
  expect(errors).toBeUndefined();
  return data.login;
};

let made = 0;
/** A new member of the server's own organization. */
const person = (): Promise<Credentials> => server.member(`person${++made}@sessions.example.org`, "editor");

const REFRESH = "mutation ($input: RefreshTokenInput!) { refreshToken(input: $input) { accessToken refreshToken } }";
const refresh = (refreshToken: string, organizationId?: string): Promise<Answer> =>
  server.graphql(REFRESH, { input: { refreshToken, organizationId } }, null);
const refreshTo = async (refreshToken: string, organizationId: string): Promise<Tokens> =>
  (await refresh(refreshToken, organizationId)).data.refreshToken;

const FIELDS = "id organization { id } client address userAgent createdAt refreshedAt expiresAt isCurrent";
const LIST = `query ($first: Int, $after: String) { sessions(first: $first, after: $after) {
  nodes { ${FIELDS} } pageInfo { hasNextPage endCursor } } }`;
const sessionsOf = async (token: string): Promise<Data[]> => (await server.data(LIST, {}, token)).sessions.nodes;
const currentOf = async (token: string): Promise<string> =>
  (await sessionsOf(token)).find(({ isCurrent }) => isCurrent).id;

const REVOKE = `mutation ($id: ID!) { revokeSession(input: {sessionId: $id}) { ${FIELDS} } }`;
const REVOKE_OTHERS = "mutation { revokeOtherSessions { revokedCount } }";
const CHANGE = "mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { id name email } }";
const change = (token: string, input: object): Promise<Answer> => server.graphql(CHANGE, { input }, token);

const codeOf = ({ errors }: Pick<Answer, "errors">): string | undefined => errors?.[0]?.extensions.code;
const isRefused = async (token: string): Promise<boolean> =>
  codeOf(await server.graphql("{ me { id } }", {}, token)) === "UNAUTHENTICATED";

/** A WebSocket, an event stream and a query that stay open: how each of them ended. */
async function open(token: string): Promise<() => Promise<unknown[]>> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "connection_init", payload: { Authorization: `Bearer ${token}` } }));
  await once(socket, "message");
  const closed = once(socket, "close").then(([code]) => code as number);
  const events = server.events("subscription { badgesChanged { openRuns } }", {}, token);
  await events.next();
  const wait = "mutation ($id: ID!) { runAgent(input: {agentId: $id, wait: 30}) { status } }";
  const waited = server.graphql(wait, { id: agentId }, token);
  return async () => {
    // Long connections are looked at every 4 s; by 10 s they have ended.
    await server.clock.advance(4_000);
    const changes = async (): Promise<string | undefined> => {
      for await (const { data } of events) if (data?.errors) return codeOf(data);
      return undefined;
    };
    return [await closed, await changes(), (await waited).status];
  };
}
const ENDED = [4403, "UNAUTHENTICATED", 401];

describe("sessions", () => {
  test("are the user's own that have not ended, newest first: from where, in which organization, and which one asks", async () => {
    const [ada, grace] = [await person(), await person()];
    const since = await server.clock.now();
    const first = await signIn(ada, { address: "2001:db8::7", userAgent: `Fire\tfox\u00ad/1.0 ${"x".repeat(300)}` });
    await signIn(grace);
    const second = await signIn(ada, { address: "198.51.100.9", userAgent: "curl/8.0" });
    const sessions = await sessionsOf(second.accessToken);
    const { organizationId } = server.world;
    const id = expect.stringMatching(/^session_[0-9a-z]{26}$/);
    expect(sessions).toMatchObject([
      {
        id,
        organization: { id: organizationId },
        client: "api",
        address: "198.51.100.9",
        userAgent: "curl/8.0",
        isCurrent: true,
      },
      { id, organization: { id: organizationId }, client: "api", address: "2001:db8::7", isCurrent: false },
    ]);
    expect(sessions[1].userAgent).toMatch(/^Firefox\/1.0 x+$/);
    expect(sessions[1].userAgent).toHaveLength(198);
    for (const { createdAt, refreshedAt, expiresAt } of sessions) {
      expect(refreshedAt).toBe(createdAt);
      expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(since);
      expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(30 * DAY_MS);
    }
    await server.clock.advance(60_000);
    const refreshed = (await refresh(first.refreshToken)).data.refreshToken;
    const [, again] = await sessionsOf(refreshed.accessToken);
    expect(again).toMatchObject({ id: sessions[1].id, address: "2001:db8::7", isCurrent: true });
    expect(Date.parse(again.refreshedAt) - Date.parse(again.createdAt)).toBeGreaterThanOrEqual(60_000);
    expect(Date.parse(again.expiresAt) - Date.parse(again.refreshedAt)).toBe(30 * DAY_MS);

    const node = `query ($id: ID!) { node(id: $id) { ... on Session { ${FIELDS} } } }`;
    expect((await server.data(node, { id: again.id }, refreshed.accessToken)).node).toEqual(again);
    const page = (await server.data(LIST, { first: 1 }, refreshed.accessToken)).sessions;
    expect(page).toMatchObject({ nodes: [{ id: sessions[0].id }], pageInfo: { hasNextPage: true } });
    const rest = await server.data(LIST, { after: page.pageInfo.endCursor }, refreshed.accessToken);
    expect(rest.sessions).toMatchObject({ nodes: [{ id: again.id }], pageInfo: { hasNextPage: false } });

    await server.data("mutation { logout { id } }", {}, second.accessToken);
    expect(await sessionsOf(refreshed.accessToken)).toHaveLength(1);
  });

  test("opened over a WebSocket have an address and a name too, and one without a name has none", async () => {
    const ada = await person();
    const client = server.webSocket(null);
    for await (const { data, errors } of client.iterate<Data>({ query: LOGIN, variables: ada })) {
      expect(errors).toBeUndefined();
      const [session] = await sessionsOf(data!.login.accessToken);
      expect(session).toMatchObject({ address: "127.0.0.1", userAgent: null });
    }
    await client.dispose();
  });

  test("of the web UI say so", async () => {
    const response = await fetch(`${server.url}/auth/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: server.url, "user-agent": "Firefox" },
      body: JSON.stringify(await person()),
    });
    const { accessToken } = (await response.json()) as Tokens;
    expect(await sessionsOf(accessToken)).toMatchObject([
      { client: "ui", address: "127.0.0.1", userAgent: "Firefox", isCurrent: true },
    ]);
  });

  test("of an organization that the user has left stay: they can move to another one", async () => {
    const ada = await person();
    const other = await server.organization("left-behind");
    await server.memberOf(other, ada.email, "viewer");
    const here = await signIn(ada);
    const moved = await refreshTo((await signIn(ada)).refreshToken, other.organizationId);
    expect((await sessionsOf(here.accessToken)).map(({ organization }) => organization?.id)).toEqual([
      other.organizationId,
      server.world.organizationId,
    ]);
    await server.data("mutation { leaveOrganization { id } }", {}, moved.accessToken);
    const [left] = await sessionsOf(here.accessToken);
    expect(left).toMatchObject({ organization: null, isCurrent: false });
    expect((await server.data(REVOKE, { id: left.id }, here.accessToken)).revokeSession).toEqual(left);
    expect(codeOf(await refresh(moved.refreshToken, server.world.organizationId))).toBe("UNAUTHENTICATED");
  });

  test.for(["was removed", "left"])(
    "of a member who %s stay dead in the organization after a new invitation, and move to another one",
    async (how) => {
      const world = await server.organization(`again-${how.replace(" ", "-")}`);
      const ada = await person();
      await server.memberOf(world, ada.email, "editor");
      const { organizationId } = world;
      const there = async (): Promise<Tokens> => refreshTo((await signIn(ada)).refreshToken, organizationId);
      const [first, second] = [await there(), await there()];
      const ended = await open(first.accessToken);
      const find = "{ members { nodes { id user { email } } } }";
      const found = (await server.data(find, {}, world.apiKey)).members.nodes;
      const { id } = found.find(({ user }: Data) => user.email === ada.email);
      if (how === "left") await server.data("mutation { leaveOrganization { id } }", {}, second.accessToken);
      else
        await server.data("mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }", { id }, world.apiKey);
      const invite = "mutation { inviteMember(input: {role: editor}) { url } }";
      const token = (await server.data(invite, {}, world.apiKey)).inviteMember.url.split("#invitation=")[1];
      const accept = "mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { accessToken } }";
      const { acceptInvitation } = await server.data(accept, { input: { token, ...ada } }, null);
      for (const { accessToken, refreshToken } of [first, second]) {
        expect(await isRefused(accessToken)).toBe(true);
        expect(codeOf(await refresh(refreshToken))).toBe("UNAUTHENTICATED");
        expect(codeOf(await refresh(refreshToken, organizationId))).toBe("NOT_FOUND");
      }
      // The agent that `open` runs is another organization's.
      expect((await ended()).slice(0, 2)).toEqual(ENDED.slice(0, 2));
      const listed = (await sessionsOf(acceptInvitation.accessToken)).map(({ organization }) => organization?.id);
      expect(listed).toEqual([organizationId, undefined, undefined]);
      const moved = await refreshTo(first.refreshToken, server.world.organizationId);
      expect(await isRefused(moved.accessToken)).toBe(false);
      await refreshTo(moved.refreshToken, organizationId);
    },
  );

  test("of a key there are none: it may not read or end its maker's, nor change the password", async () => {
    const { accessToken } = await signIn(server.world);
    const id = await currentOf(accessToken);
    const narrowed = await server.data(
      'mutation ($ids: [ID!]) { createApiKey(input: {name: "narrow", scopes: ["runs:read"], projectIds: $ids}) { secret } }',
      { ids: [server.world.projectId] },
    );
    const passwords = { currentPassword: server.world.password, newPassword: "another password" };
    for (const token of [server.world.apiKey, narrowed.createApiKey.secret]) {
      for (const { errors } of [
        await server.graphql(LIST, {}, token),
        await server.graphql("query ($id: ID!) { node(id: $id) { id } }", { id }, token),
        await server.graphql(REVOKE, { id }, token),
        await server.graphql(REVOKE_OTHERS, {}, token),
        await change(token, passwords),
      ]) {
        expect(errors).toMatchObject([{ extensions: { code: "FORBIDDEN" } }]);
        if (token === server.world.apiKey)
          expect(errors![0]!.message).toMatch(/^this needs a session \(\w+\): an API key may not/);
      }
    }
    expect(await isRefused(accessToken)).toBe(false);
    await signIn(server.world);
  });
});

describe("ending", () => {
  test("a session: its next request is refused, and what is open in it ends within 10 s; the others stay", async () => {
    const ada = await person();
    const [here, there] = [await signIn(ada), await signIn(ada)];
    const ended = await open(there.accessToken);
    const [session] = await sessionsOf(here.accessToken);
    expect((await server.data(REVOKE, { id: session.id }, here.accessToken)).revokeSession).toEqual(session);
    expect(await isRefused(there.accessToken)).toBe(true);
    expect(codeOf(await refresh(there.refreshToken))).toBe("UNAUTHENTICATED");
    expect(await ended()).toEqual(ENDED);
    expect(await isRefused(here.accessToken)).toBe(false);
    expect((await sessionsOf(here.accessToken)).map(({ isCurrent }) => isCurrent)).toEqual([true]);
  });

  test("one that has ended, another user's and one that never was are not found, in the same words", async () => {
    const [ada, grace] = [await person(), await person()];
    const [here, there, hers] = [await signIn(ada), await signIn(ada), await signIn(grace)];
    const ended = await currentOf(there.accessToken);
    await server.data(REVOKE, { id: ended }, here.accessToken);
    const ids = [
      ended,
      await currentOf(hers.accessToken),
      "session_01h455vb4pex5vsknk084sn02q",
      "session_x",
      "nothing",
    ];
    for (const id of ids) {
      const { errors } = await server.graphql(REVOKE, { id }, here.accessToken);
      expect(errors, id).toMatchObject([{ message: "Session not found", extensions: { code: "NOT_FOUND" } }]);
    }
    expect(await isRefused(hers.accessToken)).toBe(false);
    const node = await server.graphql("query ($id: ID!) { node(id: $id) { id } }", { id: ids[1] }, here.accessToken);
    expect(codeOf(node)).toBe("NOT_FOUND");
  });

  test("the session that asks: as logout", async () => {
    const { accessToken } = await signIn(await person());
    await server.data(REVOKE, { id: await currentOf(accessToken) }, accessToken);
    expect(await isRefused(accessToken)).toBe(true);
  });

  test("all others, in all organizations, says how many; nobody else's", async () => {
    const [ada, grace] = [await person(), await person()];
    const other = await server.organization("all-others");
    await server.memberOf(other, ada.email, "viewer");
    const [here, there, hers] = [await signIn(ada), await signIn(ada), await signIn(grace)];
    const moved = await refreshTo((await signIn(ada)).refreshToken, other.organizationId);
    const ended = await open(there.accessToken);
    const revoke = async (): Promise<number> =>
      (await server.data(REVOKE_OTHERS, {}, here.accessToken)).revokeOtherSessions.revokedCount;
    expect(await revoke()).toBe(2);
    for (const { accessToken } of [there, moved]) expect(await isRefused(accessToken)).toBe(true);
    for (const { accessToken } of [here, hers]) expect(await isRefused(accessToken)).toBe(false);
    expect(await ended()).toEqual(ENDED);
    expect(await revoke()).toBe(0);
    expect((await refresh(here.refreshToken)).errors).toBeUndefined();
  });
});

describe("another password", () => {
  test("ends the user's other sessions and what is open in them within 10 s; the one that asks stays, also when it is refreshed", async () => {
    const ada = await person();
    const [here, there] = [await signIn(ada), await signIn(ada)];
    const { me } = await server.data("{ me { id name email } }", {}, here.accessToken);
    const ended = await open(there.accessToken);
    const { data, errors } = await change(here.accessToken, {
      currentPassword: ada.password,
      newPassword: "ein anderes Paßwort",
    });
    expect({ data, errors }).toEqual({ data: { changePassword: me }, errors: undefined });
    expect(await isRefused(there.accessToken)).toBe(true);
    expect(codeOf(await refresh(there.refreshToken))).toBe("UNAUTHENTICATED");
    expect(await ended()).toEqual(ENDED);
    const again = (await refresh(here.refreshToken)).data.refreshToken;
    expect(await sessionsOf(again.accessToken)).toMatchObject([{ isCurrent: true }]);
    expect(codeOf(await sendFrom({}, LOGIN, ada))).toBe("UNAUTHENTICATED");
    await signIn({ ...ada, password: "ein anderes Paßwort" });
  });

  test("must be within the limits and another one, and the current one must be right", async () => {
    const ada = await person();
    const { accessToken } = await signIn(ada);
    const there = await signIn(ada);
    const bad: [object, string, string, string][] = [
      [{ newPassword: "short" }, "newPassword", "too_short", "newPassword must have at least 10 characters"],
      ...["1q2w3e4r5t6y", "Password123", "xxxxxxxxxxxx", " ".repeat(10)].map(
        (newPassword): [object, string, string, string] => [
          { newPassword },
          "newPassword",
          "too_common",
          "newPassword must not be a common password or one character repeated",
        ],
      ),
      [{ newPassword: "x".repeat(257) }, "newPassword", "too_long", "newPassword must have at most 256 characters"],
      [
        { newPassword: ada.password },
        "newPassword",
        "repeated",
        "newPassword must be another one than the current password",
      ],
      [{ currentPassword: "wrong" }, "currentPassword", "invalid", "currentPassword is wrong"],
      [{ currentPassword: "x".repeat(10_000) }, "currentPassword", "invalid", "currentPassword is wrong"],
      // Typed on another keyboard, it is the same one.
      [
        { currentPassword: "Ａ long password", newPassword: "A long password" },
        "newPassword",
        "repeated",
        "newPassword must be another one than the current password",
      ],
    ];
    for (const [input, name, code, message] of bad) {
      const { errors } = await change(accessToken, {
        currentPassword: ada.password,
        newPassword: "another password",
        ...input,
      });
      const fields = [expect.objectContaining({ path: `input.${name}`, code })];
      expect(errors, name).toMatchObject([
        { message, extensions: { code: "BAD_USER_INPUT", reason: "invalid_input", fields } },
      ]);
    }
    expect(await isRefused(there.accessToken)).toBe(false);
    expect(codeOf(await server.graphql(CHANGE, { input: { currentPassword: "x", newPassword: "y" } }, null))).toBe(
      "UNAUTHENTICATED",
    );
  });

  test("is guessed no faster than at the door: ten wrong ones, then pauses, for login from there as well", async () => {
    const ada = await person();
    const from = { address: "203.0.113.5" };
    const { accessToken } = await signIn(ada, from);
    const guess = (currentPassword: string): Promise<{ errors: ShownError[] | undefined }> =>
      sendFrom(from, CHANGE, { input: { currentPassword, newPassword: "another password" } }, accessToken);
    for (let index = 0; index < 10; index++) expect(codeOf(await guess(`wrong ${index}`))).toBe("BAD_USER_INPUT");
    const limited = [{ extensions: { code: "RATE_LIMITED", retryAfter: expect.any(Number) } }];
    expect((await guess(ada.password)).errors).toMatchObject(limited);
    expect((await sendFrom(from, LOGIN, ada)).errors).toMatchObject(limited);
    expect((await sendFrom({ address: "203.0.113.6" }, LOGIN, ada)).errors).toBeUndefined();
    await server.clock.advance(30_000);
    expect((await guess("wrong")).errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
    const { errors } = await guess(ada.password);
    expect(errors).toMatchObject(limited);
    expect(errors![0]!.extensions.retryAfter).toBeGreaterThan(30);
    await server.clock.advance(60_000);
    expect((await guess(ada.password)).errors).toBeUndefined();
  });

  test("is changed once in an operation, which tries no other password", async () => {
    const { accessToken } = await signIn(await person());
    const change = `changePassword(input: {currentPassword: "a", newPassword: "another password"}) { id }`;
    const login = `login(email: "a@example.org", password: "b") { expiresAt }`;
    for (const query of [`mutation { a: ${change} b: ${change} }`, `mutation { ${change} ${login} }`]) {
      const { errors } = await server.graphql(query, {}, accessToken);
      expect(errors).toMatchObject([
        {
          message: "an operation may have one mutation that asks for, tries or sets a password, such as login",
          extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
        },
      ]);
    }
  });
});
