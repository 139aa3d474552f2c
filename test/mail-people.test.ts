/** Mails of the service to people, over the real wire: a running server and a real SMTP server. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { agentOf, ENDED, ran, until } from "./runs.ts";
import { beside, cli } from "./command-line.ts";
import { headerOf, startSmtp, type Received, type Smtp } from "./smtp.ts";

let smtp: Smtp;
let server: TestServer;
beforeAll(async () => {
  smtp = await startSmtp();
  server = await startTestServer({
    env: { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: "Autograph <agents@example.org>" },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await smtp[Symbol.asyncDispose]();
});
afterEach(() => {
  smtp.received.splice(0);
  for (const name of Object.keys(smtp.behaviour)) delete smtp.behaviour[name as keyof Smtp["behaviour"]];
});

/** The text of a mail, as its reader sees it: quoted-printable is decoded. */
const textOf = ({ raw }: Received): string =>
  raw
    .slice(raw.indexOf("\r\n\r\n"))
    .replaceAll("=\r\n", "")
    .replaceAll(/=([\dA-F]{2})/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
const mailTo = (address: string): Promise<Received> =>
  eventually(() => smtp.received.find(({ to }) => to.includes(address)));

describe("an invitation", () => {
  const INVITE = `mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { id email url isMailed } }`;
  const invite = async (input: object, token?: string): Promise<Data> =>
    (await server.data(INVITE, { input }, token)).inviteMember;

  test("with an e-mail is mailed from the outbox, and its link makes the reader a member", async () => {
    const made = await invite({ role: "editor", email: "ada@example.com" });
    expect(made).toMatchObject({ email: "ada@example.com", isMailed: true });
    const mail = await mailTo("ada@example.com");
    expect(headerOf(mail, "Subject")).toMatch(/^Join .+ on Autograph$/);
    const [link] = /http\S+#invitation=\S+/.exec(textOf(mail))!;
    expect(link).toBe(made.url);
    const input = {
      token: link.split("=")[1],
      name: "Ada",
      email: "ada@example.com",
      password: "a good long password",
    };
    const accept = "mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { accessToken } }";
    expect((await server.graphql(accept, { input }, null)).errors).toBeUndefined();
    const { invitations } = await server.data("{ invitations(first: 100) { nodes { email isMailed url } } }");
    expect(invitations.nodes).not.toContainEqual(expect.objectContaining({ email: "ada@example.com" }));
  });

  test("without an e-mail, or one that is refused, is not mailed", async () => {
    expect(await invite({ role: "viewer" })).toMatchObject({ email: null, isMailed: false });
    const { errors } = await server.graphql(INVITE, { input: { role: "viewer", email: "ada@example.com" } });
    expect(errors![0]!.extensions.reason).toBe("already_member");
    await invite({ role: "viewer", email: "next@example.com" });
    await mailTo("next@example.com");
    expect(smtp.received).toHaveLength(1);
  });

  test("autograph members invite says that it was mailed, and on stdout is the link alone", async () => {
    const made = await cli(["members", "invite", "--role", "viewer", "--email", "eve@example.com"], {
      env: beside(server, server.world.apiKey),
    });
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^http\S+#invitation=\S+\n$/) as string });
    expect(made.stderr).toContain("it was also mailed to eve@example.com");
    expect(textOf(await mailTo("eve@example.com"))).toContain(made.stdout.trim());
  });
});

describe("runs that failed", () => {
  const FAILING = "{raise: {error: {type: 'https://example.org/x', status: 500}}}";
  const SET = `mutation ($agentId: ID!, $emails: [String!]!) {
    setFailureMails(input: {agentId: $agentId, emails: $emails}) { failureMails } }`;

  test("by a trigger are mailed to the members who were chosen, at once and then with the next hour's; others are not", async () => {
    const { email } = await server.member("oncall@example.com", "viewer");
    const atOnce = await agentOf(server, `do: [{fail: ${FAILING}}]`);
    const later = await agentOf(server, `do: [{rest: {wait: {milliseconds: 5}}}, {fail: ${FAILING}}]`);
    const trigger = async (agentId: string): Promise<string> => {
      const create = `mutation ($agentId: ID!) { createTrigger(input: {agentId: $agentId, name: "t", trigger: {type: webhook}}) { id } }`;
      return (await server.data(create, { agentId })).createTrigger.id;
    };
    const fire = async (triggerId: string): Promise<string> => {
      const asked =
        "mutation ($triggerId: ID!) { fireTrigger(input: {triggerId: $triggerId, payload: {}}) { run { id } } }";
      const { id } = (await server.data(asked, { triggerId })).fireTrigger.run;
      await until(server, id, ...ENDED);
      return id;
    };
    const [first, second] = [await trigger(atOnce), await trigger(later)];
    expect((await server.data(`{ agent(id: "${later}") { failureMails } }`)).agent.failureMails).toBeNull();
    for (const agentId of [atOnce, later])
      expect((await server.data(SET, { agentId, emails: [email] })).setFailureMails.failureMails).toEqual([email]);
    // A run that was started by hand makes no mail.
    await ran(server, later);
    await server.clock.advance(2_000);
    const failed = [await fire(first), await fire(second)];
    for (const id of failed) {
      await eventually(async () => {
        await server.clock.advance(1_000);
        return smtp.received.some((mail) => textOf(mail).includes(`/runs/${id}`));
      });
    }
    expect(smtp.received.map((mail) => [mail.to, headerOf(mail, "Subject")!.startsWith("A run of ")])).toEqual([
      [[email], true],
      [[email], true],
    ]);
    await fire(second);
    await fire(second);
    await eventually(async () => {
      await server.clock.advance(10 * 60_000);
      return smtp.received.length > 2;
    });
    expect(headerOf(smtp.received[2]!, "Subject")).toMatch(/^2 runs of .+ failed$/);
    const { auditEvents } = await server.data(
      "{ auditEvents(first: 50) { nodes { action subject { kind } detail } } }",
    );
    expect(auditEvents.nodes).toContainEqual({
      action: "agent_failure_mails_set",
      subject: { kind: "agent" },
      detail: { to: [email] },
    });
    expect((await server.data(SET, { agentId: later, emails: [] })).setFailureMails.failureMails).toBeNull();
  });

  test("are mailed to members alone", async () => {
    const agentId = await agentOf(server, `do: [{fail: ${FAILING}}]`);
    const { errors } = await server.graphql(SET, { agentId, emails: ["stranger@example.com"] });
    expect(errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path: "input.emails.0" }] });
  });
});

describe("a forgotten password", () => {
  const REQUEST = "mutation ($email: String!) { requestPasswordReset(input: {email: $email}) { email } }";
  const RESET = `mutation ($token: String!, $password: String!) {
    resetPassword(input: {token: $token, password: $password}) { email } }`;
  const LOGIN =
    "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
  const NEW = "a new and good password";

  test("is replaced by a mailed link, which works once; who was signed in is out", async () => {
    const { email, password, accessToken } = await member("grace@example.com");
    expect((await server.data(REQUEST, { email: "nobody@example.com" }, null)).requestPasswordReset).toEqual({
      email: "nobody@example.com",
    });
    expect((await server.data(REQUEST, { email }, null)).requestPasswordReset).toEqual({ email });
    const mail = await mailTo(email);
    expect(headerOf(mail, "Subject")).toBe("A new password for Autograph");
    const [, token] = /#password-reset=(rst_\S+)/.exec(textOf(mail))!;
    // The link is its credential: another one beside it is ignored.
    expect((await server.data(RESET, { token, password: NEW }, "expired")).resetPassword).toEqual({ email });
    const [again, former, present, session] = [
      await server.graphql(RESET, { token, password: NEW }, null),
      await server.graphql(LOGIN, { email, password }, null),
      await server.graphql(LOGIN, { email, password: NEW }, null),
      await server.graphql("{ me { email } }", {}, accessToken),
    ];
    expect(again.errors![0]!.extensions.code).toBe("NOT_FOUND");
    expect(former.errors![0]!.extensions.code).toBe("UNAUTHENTICATED");
    expect(present.data.login.accessToken).toBeDefined();
    expect(session.errors![0]!.extensions.code).toBe("UNAUTHENTICATED");
    expect(smtp.received.flatMap(({ to }) => to)).toEqual([email]);
    const { auditEvents } = await server.data(
      "{ auditEvents(first: 50) { nodes { action actor { kind name } subject { kind } } } }",
    );
    expect(auditEvents.nodes).toContainEqual({
      action: "password_reset",
      actor: { kind: "user", name: expect.any(String) as string },
      subject: { kind: "user" },
    });
  });

  test("an operation asks once: a list of addresses can't be tried in one", async () => {
    const many = `mutation { a: requestPasswordReset(input: {email: "a@example.com"}) { email }
      b: requestPasswordReset(input: {email: "b@example.com"}) { email } }`;
    expect((await server.graphql(many, {}, null)).errors![0]!.extensions.code).toBe("GRAPHQL_VALIDATION_FAILED");
  });

  test("on a server that sends no mail is refused in the same words for every address", async () => {
    await using silent = await startTestServer();
    for (const email of [silent.world.email, "nobody@example.com"]) {
      const { errors } = await silent.graphql(REQUEST, { email }, null);
      expect(errors![0]).toMatchObject({
        message: expect.stringContaining("autograph user reset-password") as string,
        extensions: { code: "CONFLICT", reason: "mail_not_configured" },
      });
    }
  });

  async function member(email: string): Promise<{ email: string; password: string; accessToken: string }> {
    const { password } = await server.member(email, "viewer");
    const { data } = await server.graphql(LOGIN, { email, password }, null);
    return { email, password, accessToken: data.login.accessToken };
  }
});
