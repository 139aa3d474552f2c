/** The audit over the wire: each action makes one event, a refused one none, and nobody else sees it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFINITIONS, publish, start } from "./agents.ts";
import {
  ACCEPT,
  CANCEL_MANY,
  DECIDE,
  DELETE_SECRET,
  INVITE,
  LEAVE,
  LIST,
  LOGIN,
  LOGOUT,
  MAKE_KEY,
  MAKE_PROJECT,
  PASSWORD,
  ADDRESS,
  USER_AGENT,
  PUBLISH,
  REMOVE,
  RENAME,
  REVOKE_KEY,
  SET_ROLE,
  SET_SECRET,
  SET_LIMIT,
  SET_STATUS,
  UNINVITE,
  done,
  eventsOf,
  here,
  list,
  meOf,
  memberOf,
  open,
  pagesOf,
  refresh,
  send,
  signIn,
  tokenOf,
} from "./audit.ts";
import { eventually, type Data, type Variables } from "./client.ts";
import { sharedServer } from "./shared-server.ts";

beforeAll(async () => open(await sharedServer()));
afterAll(() => here.server[Symbol.asyncDispose]());

type Expected = { action: string; subject: object | null; detail?: object };

describe("each action makes exactly one event", () => {
  /** By whom, from where. */
  let actor: { kind: string; id: string; name: string };
  let token: string;
  beforeAll(async () => {
    token = (await signIn()).accessToken;
    actor = { kind: "user", id: await meOf(token), name: "audited" };
  });

  async function expectOne(work: () => Promise<unknown>, expected: () => Expected, by: object = actor): Promise<void> {
    const events = await eventsOf(work);
    expect(events).toEqual([
      {
        id: expect.stringMatching(/^audit_[0-9a-z]{26}$/),
        number: expect.any(Number),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        actor: by,
        address: ADDRESS,
        userAgent: USER_AGENT,
        detail: {},
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        ...expected(),
      },
    ]);
    const [{ id, action }] = events as [Data];
    expect(
      await here.server.data(`{ node(id: "${id}") { ... on AuditEvent { action } } }`, {}, here.world.apiKey),
    ).toEqual({
      node: { action },
    });
  }

  test("signing in and out, and a wrong password", async () => {
    let signedIn: Data;
    const session = { kind: "session", id: expect.stringMatching(/^session_/), name: null };
    await expectOne(
      async () => (signedIn = await signIn()),
      () => ({ action: "signed_in", subject: session, detail: { client: "api" } }),
    );
    await expectOne(
      () => done(LOGOUT, {}, signedIn.accessToken),
      () => ({ action: "signed_out", subject: session }),
    );
    await expectOne(
      async () => {
        const { number } = (await list({ first: 1 }))[0];
        expect((await send(LOGIN, { email: here.world.email, password: "wrong horse" }, null)).errors).toHaveLength(1);
        // Nobody waits for it, so that the answer takes as long as for an unknown e-mail.
        await eventually(async () => (await list({ first: 1 }))[0].number > number);
      },
      () => ({ action: "sign_in_failed", subject: { kind: "user", id: actor.id, name: null } }),
    );
  });

  test("signing in and out by the cookie of a page", async () => {
    const at = new URL("/auth/session", here.server.url);
    const headers = {
      origin: at.origin,
      "content-type": "application/json",
      "user-agent": USER_AGENT,
      "x-forwarded-for": ADDRESS,
    };
    const session = { kind: "session", id: expect.stringMatching(/^session_/), name: null };
    let cookie = "";
    await expectOne(
      async () => {
        const body = JSON.stringify({ email: here.world.email, password: PASSWORD });
        const response = await fetch(at, { method: "POST", headers, body });
        cookie = response.headers.get("set-cookie")!.split(";")[0]!;
      },
      () => ({ action: "signed_in", subject: session, detail: { client: "ui" } }),
    );
    await expectOne(
      () => fetch(at, { method: "DELETE", headers: { ...headers, cookie } }),
      () => ({ action: "signed_out", subject: session }),
    );
  });

  test("sessions ended by their user, and a changed password", async () => {
    const { email } = await here.server.memberOf(here.world, "own@audit.example.org", "viewer");
    const [one, two, three] = [await signIn(email), await signIn(email), await signIn(email)];
    const id = await meOf(one.accessToken);
    const by = { kind: "user", id, name: "viewer" };
    const user = { kind: "user", id, name: null };
    const query = "{ sessions { nodes { id isCurrent } } }";
    const { nodes } = (await here.server.data(query, {}, two.accessToken)).sessions;
    const current = nodes.find(({ isCurrent }: Data) => isCurrent).id;
    await expectOne(
      () =>
        done("mutation ($id: ID!) { revokeSession(input: {sessionId: $id}) { id } }", { id: current }, one.accessToken),
      () => ({ action: "session_revoked", subject: { kind: "session", id: current, name: null } }),
      by,
    );
    const others = "mutation { revokeOtherSessions { revokedCount } }";
    await expectOne(
      () => done(others, {}, three.accessToken),
      () => ({ action: "session_revoked", subject: user, detail: { sessions: 1 } }),
      by,
    );
    expect(await eventsOf(() => done(others, {}, three.accessToken))).toEqual([]);
    const change = "mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { id } }";
    const input = { currentPassword: PASSWORD, newPassword: `${PASSWORD} 2` };
    await expectOne(
      () => done(change, { input }, three.accessToken),
      () => ({ action: "password_changed", subject: user }),
      by,
    );
  });

  test("a refresh token that is used twice", async () => {
    const { refreshToken } = await signIn();
    await refresh(refreshToken);
    const subject = { kind: "session", id: expect.stringMatching(/^session_/), name: null };
    await expectOne(
      async () => {
        for (let times = 0; times < 3; times++) expect((await refresh(refreshToken)).errors).toHaveLength(1);
      },
      () => ({ action: "refresh_token_reused", subject }),
    );
  });

  test("a session that comes over from another organization", async () => {
    const { email } = await here.server.member("two@audit.example.org", "viewer");
    await here.server.memberOf(here.world, email, "viewer");
    const { refreshToken, accessToken } = await signIn(email);
    const id = await meOf(accessToken);
    let moved: Data;
    await expectOne(
      async () => (moved = await refresh(refreshToken, here.world.organizationId)),
      () => ({
        action: "signed_in",
        subject: { kind: "session", id: expect.stringMatching(/^session_/), name: null },
        detail: { client: "api", switched: true },
      }),
      { kind: "user", id, name: "viewer" },
    );
    // Where it is already.
    expect(await eventsOf(() => refresh(moved.data.refreshToken.refreshToken, here.world.organizationId))).toEqual([]);
  });

  test("keys, by a user and by a key", async () => {
    let key: Data;
    await expectOne(
      async () => (key = await done(MAKE_KEY, { input: { name: "deploys", scopes: ["admin", "runs:read"] } }, token)),
      () => ({
        action: "api_key_created",
        subject: { kind: "api_key", id: key.id, name: "deploys" },
        detail: { scopes: ["runs:read", "admin"] },
      }),
    );
    const agentId = await publish(here.server, "echo", here.world);
    const expiresAt = "2099-01-01T00:00:00.000Z";
    let narrow: Data;
    await expectOne(
      async () =>
        (narrow = await done(
          MAKE_KEY,
          { input: { name: "narrow", scopes: ["runs:read"], agentIds: [agentId], expiresAt } },
          token,
        )),
      () => ({
        action: "api_key_created",
        subject: { kind: "api_key", id: narrow.id, name: "narrow" },
        detail: { scopes: ["runs:read"], agentIds: [agentId], expiresAt },
      }),
    );
    await expectOne(
      () => done(REVOKE_KEY, { id: narrow.id }, key.secret),
      () => ({ action: "api_key_revoked", subject: { kind: "api_key", id: narrow.id, name: "narrow" } }),
      { kind: "key", id: key.id, name: "deploys" },
    );
    expect(await eventsOf(() => done(REVOKE_KEY, { id: narrow.id }, token))).toEqual([]);
  });

  test("the organization's name and its projects", async () => {
    const subject = { kind: "organization", id: here.world.organizationId };
    await expectOne(
      () => done(RENAME, { name: "Audited Ltd" }, token),
      () => ({
        action: "organization_renamed",
        subject: { ...subject, name: "Audited Ltd" },
        detail: { from: "audited" },
      }),
    );
    expect(await eventsOf(() => done(RENAME, { name: " Audited Ltd" }, token))).toEqual([]);
    let project: Data;
    await expectOne(
      async () => (project = await done(MAKE_PROJECT, { input: { handle: "ops", name: "Operations" } }, token)),
      () => ({
        action: "project_created",
        subject: { kind: "project", id: project.id, name: "Operations" },
        detail: { handle: "ops" },
      }),
    );
  });

  test("members: invited, joined, another role, removed, left", async () => {
    const email = here.world.email.replace(/^\w+/, "new");
    let invitation: Data;
    await expectOne(
      async () => (invitation = await done(INVITE, { input: { role: "viewer", email } }, token)),
      () => ({
        action: "member_invited",
        subject: { kind: "invitation", id: invitation.id, name: email },
        detail: { role: "viewer" },
      }),
    );
    let joined: Data;
    const events = await eventsOf(async () => {
      const input = { token: tokenOf(invitation), name: "Newcomer", email, password: PASSWORD };
      joined = await done(ACCEPT, { input }, null);
    });
    const id = await meOf(joined.accessToken);
    const member = { kind: "member", id: memberOf(id), name: null };
    const newcomer = { kind: "user", id, name: "Newcomer" };
    expect(events).toMatchObject([
      { action: "member_joined", actor: newcomer, subject: member, detail: { role: "viewer" }, address: ADDRESS },
      { action: "signed_in", actor: newcomer, subject: { kind: "session" }, address: ADDRESS },
    ]);
    await expectOne(
      () => done(SET_ROLE, { input: { memberId: memberOf(id), role: "editor" } }, token),
      () => ({ action: "member_role_set", subject: member, detail: { from: "viewer", to: "editor" } }),
    );
    expect(await eventsOf(() => done(SET_ROLE, { input: { memberId: memberOf(id), role: "editor" } }, token))).toEqual(
      [],
    );
    await expectOne(
      () => done(LEAVE, {}, joined.accessToken),
      () => ({ action: "member_left", subject: member, detail: { role: "editor" } }),
      newcomer,
    );
    await here.server.memberOf(here.world, email, "viewer");
    await expectOne(
      () => done(REMOVE, { id: memberOf(id) }, token),
      () => ({ action: "member_removed", subject: member, detail: { role: "viewer" } }),
    );
    invitation = await done(INVITE, { input: { role: "viewer" } }, token);
    await expectOne(
      () => done(UNINVITE, { id: invitation.id }, token),
      () => ({ action: "invitation_revoked", subject: { kind: "invitation", id: invitation.id, name: null } }),
    );
  });

  test("agents: published, again another version, another status and another limit", async () => {
    const publishing = (version: string): Promise<Data> => {
      const definition = DEFINITIONS.three.replace("1.0.0", version);
      return done(PUBLISH, { input: { projectId: here.world.projectId, definition } }, token);
    };
    let agent: Data;
    const subject = (): object => ({ kind: "agent", id: agent.id, name: agent.name });
    await expectOne(
      async () => (agent = await publishing("1.0.0")),
      () => ({ action: "agent_published", subject: subject(), detail: { version: "1.0.0" } }),
    );
    await expectOne(
      () => publishing("1.1.0"),
      () => ({ action: "agent_published", subject: subject(), detail: { version: "1.1.0", from: "1.0.0" } }),
    );
    expect(await eventsOf(() => publishing("1.1.0"))).toEqual([]);
    const pause = (): Promise<Data> => done(SET_STATUS, { input: { agentId: agent.id, status: "paused" } }, token);
    await expectOne(pause, () => ({
      action: "agent_status_set",
      subject: subject(),
      detail: { from: "active", to: "paused" },
    }));
    expect(await eventsOf(pause)).toEqual([]);
    const limit = (concurrency?: number | null) => (): Promise<Data> =>
      done(SET_LIMIT, { input: { agentId: agent.id, concurrency } }, token);
    const limited = (from: number | null, to: number | null) => (): Expected => ({
      action: "agent_limit_set",
      subject: subject(),
      detail: { from, to },
    });
    await expectOne(limit(3), limited(null, 3));
    for (const same of [3, undefined]) expect(await eventsOf(limit(same))).toEqual([]);
    await expectOne(limit(null), limited(3, null));
  });

  test("secrets", async () => {
    let secret: Data;
    const setting = async (): Promise<void> => {
      secret = await done(
        SET_SECRET,
        { input: { projectId: here.world.projectId, name: "api", value: "pl4nted" } },
        token,
      );
    };
    const detail = { projectId: here.world.projectId };
    for (let times = 0; times < 2; times++)
      await expectOne(setting, () => ({
        action: "secret_set",
        subject: { kind: "secret", id: secret.id, name: "api" },
        detail,
      }));
    await expectOne(
      () => done(DELETE_SECRET, { id: secret.id }, token),
      () => ({ action: "secret_deleted", subject: { kind: "secret", id: secret.id, name: "api" }, detail }),
    );
  });

  test("model connections", async () => {
    let id = "";
    const detail = {
      projectId: here.world.projectId,
      provider: "openai",
      baseUrl: null,
      model: "m",
      apiKeyHeader: null,
    };
    const subject = (name: string) => ({ kind: "model_connection", id, name });
    const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
    const UPDATE = "mutation($input: UpdateModelConnectionInput!) { updateModelConnection(input: $input) { id } }";
    const DELETE = "mutation($input: DeleteModelConnectionInput!) { deleteModelConnection(input: $input) { id } }";
    const { projectId } = here.world;
    const input = { projectId, name: "cheap", provider: "openai", model: "m", apiKey: "pl4nted" };
    await expectOne(
      async () => void ({ id } = await done(CREATE, { input }, token)),
      () => ({ action: "model_connection_created", subject: subject("cheap"), detail }),
    );
    await expectOne(
      () => done(UPDATE, { input: { modelConnectionId: id, name: "dear", apiKey: "pl4nted-too" } }, token),
      () => ({
        action: "model_connection_updated",
        subject: subject("dear"),
        detail: { ...detail, isKeyChanged: true },
      }),
    );
    await expectOne(
      () => done(DELETE, { input: { modelConnectionId: id } }, token),
      () => ({ action: "model_connection_deleted", subject: subject("dear"), detail }),
    );
  });

  test("a decision once, and the order to cancel many", async () => {
    const agentId = await publish(here.server, "approve", here.world);
    const run = await start(here.server, agentId, {}, here.world.apiKey);
    const approvals = `{ approvals(filter: {runId: "${run}", status: open}) { nodes { id } } }`;
    const id = await eventually(
      async () => (await here.server.data(approvals, {}, here.world.apiKey)).approvals.nodes[0]?.id,
    );
    const input = { approvalId: id, decision: "approve", answer: { costCentre: "office" } };
    await expectOne(
      () => Promise.all([1, 2, 3].map(() => send(DECIDE, { input }, token))),
      () => ({
        action: "approval_decided",
        subject: { kind: "approval", id, name: null },
        detail: { decision: "approve", runId: run },
      }),
    );
    const waiting = await publish(here.server, "patient", here.world);
    const ids = [
      await start(here.server, waiting, {}, here.world.apiKey),
      await start(here.server, waiting, {}, here.world.apiKey),
    ];
    for (const [runs, detail] of [
      [{ runIds: ids }, { runs: 2 }],
      [{ filter: { agentId: [waiting] } }, { filter: ["agentId"] }],
      [{ all: true }, { all: true }],
    ])
      await expectOne(
        () => done(CANCEL_MANY, { input: { runs } }, token),
        () => ({ action: "runs_cancelled", subject: null, detail: detail! }),
      );
  });
});

test("a refused action makes no event", async () => {
  const { email } = await here.server.memberOf(here.world, "viewer@audit.example.org", "viewer");
  const { accessToken: viewer } = await signIn(email);
  const owner = (await signIn()).accessToken;
  const invitation = await done(INVITE, { input: { role: "viewer" } });
  await done(UNINVITE, { id: invitation.id });
  const me = memberOf(await meOf(owner));
  const refused: [string, Variables, string | null][] = [
    [RENAME, { name: "" }, owner],
    [RENAME, { name: "Mine" }, viewer],
    [MAKE_KEY, { input: { name: "k", scopes: ["nothing"] } }, owner],
    [MAKE_KEY, { input: { name: "k", scopes: ["runs:read"] } }, viewer],
    [REVOKE_KEY, { id: "key_01h455vb4pex5vsknk084sn02q" }, owner],
    [MAKE_PROJECT, { input: { handle: "ops", name: "Again" } }, owner],
    [INVITE, { input: { role: "viewer", email: here.world.email } }, owner],
    [UNINVITE, { id: invitation.id }, owner],
    [ACCEPT, { input: { token: tokenOf(invitation), name: "X", email: "x@example.org", password: PASSWORD } }, null],
    [SET_ROLE, { input: { memberId: me, role: "viewer" } }, owner],
    [REMOVE, { id: me }, owner],
    [LEAVE, {}, owner],
    [PUBLISH, { input: { projectId: here.world.projectId, definition: "nothing" } }, owner],
    [PUBLISH, { input: { projectId: here.world.projectId, definition: `${DEFINITIONS.three}\n# other` } }, owner],
    [SET_STATUS, { input: { agentId: "agent_01h455vb4pex5vsknk084sn02q", status: "paused" } }, owner],
    [SET_LIMIT, { input: { agentId: "agent_01h455vb4pex5vsknk084sn02q", concurrency: 1 } }, owner],
    [SET_SECRET, { input: { projectId: here.world.projectId, name: "no name", value: "x" } }, owner],
    [DELETE_SECRET, { id: "secret_01h455vb4pex5vsknk084sn02q" }, owner],
    [CANCEL_MANY, { input: { runs: { runIds: ["run_01h455vb4pex5vsknk084sn02q"] } } }, owner],
    [CANCEL_MANY, { input: { runs: { filter: {} } } }, owner],
    [CANCEL_MANY, { input: { runs: { all: false } } }, owner],
    [DECIDE, { input: { approvalId: "approval_01h455vb4pex5vsknk084sn02q", decision: "approve" } }, owner],
    [LOGIN, { email: "nobody@audit.example.org", password: PASSWORD }, null],
    [LOGOUT, {}, here.world.apiKey],
  ];
  const events = await eventsOf(async () => {
    for (const [query, variables, token] of refused)
      expect((await send(query, variables, token)).errors, `${query} ${JSON.stringify(variables)}`).toHaveLength(1);
  });
  expect(events).toEqual([]);
});

describe("who sees it", () => {
  test("administrators, by pages and filters", async () => {
    const all = await list();
    expect(all.map(({ number }) => number)).toEqual(Array.from(all, (_, index) => all.length - index));
    const pages = await pagesOf(LIST, { first: 7 });
    expect(pages).toEqual(all);
    const action = ["api_key_created", "api_key_revoked"];
    expect(await list({ filter: { action } })).toEqual(all.filter((one) => action.includes(one.action)));
    const actorId = [all.find(({ actor }) => actor.kind === "user").actor.id];
    expect(await list({ filter: { actorId } })).toEqual(all.filter(({ actor }) => actorId.includes(actor.id)));
    const [createdFrom, createdBefore] = [all[20].at, all[4].at];
    expect(await list({ filter: { createdFrom, createdBefore } })).toEqual(
      all.filter(({ at }) => at >= createdFrom && at < createdBefore),
    );
    expect(await list({ filter: { actorId: ["nobody"] } })).toEqual([]);
    for (const after of ["x", Buffer.from("runs 3").toString("base64url")])
      expect((await here.server.graphql(LIST, { after }, here.world.apiKey)).errors).toMatchObject([
        { extensions: { code: "BAD_USER_INPUT", reason: "invalid_cursor" } },
      ]);
  });

  test("no other organization, no editor, no narrowed key", async () => {
    const theirs = await list({ filter: {} }, here.server.world.apiKey);
    const ours = await list();
    const ids = new Set(ours.map(({ id }) => id));
    expect(theirs.filter(({ id }) => ids.has(id))).toEqual([]);
    expect(JSON.stringify(theirs)).not.toContain(here.world.organizationId);
    const node = await here.server.graphql(`{ node(id: "${ours[0].id}") { id } }`);
    expect(node.errors).toMatchObject([{ message: "Audit event not found", extensions: { code: "NOT_FOUND" } }]);

    const { email } = await here.server.memberOf(here.world, "editor@audit.example.org", "editor");
    const { accessToken } = await signIn(email);
    const narrow = await done(MAKE_KEY, {
      input: { name: "narrow", scopes: ["runs:read", "agents:read"], projectIds: [here.world.projectId] },
    });
    for (const token of [accessToken, narrow.secret])
      for (const query of [`{ auditEvents { nodes { id } } }`, `{ node(id: "${ours[0].id}") { id } }`]) {
        const { data, errors } = await here.server.graphql(query, {}, token);
        expect(Object.values(data ?? { none: null })).toEqual([null]);
        expect(errors).toMatchObject([{ extensions: { code: "FORBIDDEN" } }]);
      }
    expect((await here.server.graphql("{ auditEvents { nodes { id } } }", {}, null)).errors).toMatchObject([
      { extensions: { code: "UNAUTHENTICATED" } },
    ]);
  });
});
