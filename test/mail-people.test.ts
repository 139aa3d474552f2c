/** Mails of the service to people, over the real wire: a running server and a real SMTP server. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
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
