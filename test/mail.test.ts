/** Mail over the real wire: a running server and a real SMTP server. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { cli } from "./command-line.ts";
import { agentOf, CANCEL, ENDED, ran, until } from "./runs.ts";
import { sharedServer } from "./shared-server.ts";
import { headerOf, reply, startSmtp, type Smtp } from "./smtp.ts";

const settings = (port: number, user = ""): Record<string, string> => ({
  SMTP_URL: `smtp://${user}127.0.0.1:${port}`,
  MAIL_FROM: "Autograph <agents@example.org>",
});
const mailTest = (env: Record<string, string>, ...args: string[]) => cli(["mail", "test", ...args], { env });

test("autograph mail test sends a mail and prints the server's words", async () => {
  await using smtp = await startSmtp({ onMail: () => "queued as 4711" });
  const sent = await mailTest(settings(smtp.port), "ada@example.com");
  expect(sent).toEqual({
    code: 0,
    stdout: `sent to ada@example.com by 127.0.0.1:${smtp.port}: 250 queued as 4711\n`,
    stderr: "",
  });
  const json = await mailTest(settings(smtp.port), "ada@example.com", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({ accepted: ["ada@example.com"], rejected: [] });
  expect(smtp.received).toHaveLength(2);
});

test("autograph mail test says in one line what is wrong, without the password, and exits with 1", async () => {
  await using smtp = await startSmtp({ user: { name: "agents", password: "right" } });
  const { port } = smtp;
  const refused = await mailTest(settings(port, "agents:planted@"), "ada@example.com");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toBe(
    `autograph: 127.0.0.1:${port} refused the user and password of SMTP_URL: 535 5.7.8 [password] is not the password of agents\n`,
  );
  smtp.behaviour.onRecipient = () => {
    throw reply(550, "5.1.1 nobody of that name");
  };
  const lines = [
    [await mailTest(settings(port, "agents:right@"), "ada@example.com"), "refused the recipients: 550 5.1.1 nobody"],
    [await mailTest({}, "ada@example.com"), "mail is not configured: set SMTP_URL and MAIL_FROM"],
    [await mailTest(settings(port), "not an address"), '"not an address" is not an e-mail address'],
    [await mailTest({ ...settings(port), MAIL_FROM: "" }, "a@example.com"), "must be set together"],
  ] as const;
  for (const [{ code, stdout, stderr }, words] of lines) {
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^autograph: [^\n]+\n$/);
    expect(stderr).toContain(words);
  }
});

describe("call: email", () => {
  let smtp: Smtp;
  let server: TestServer;
  beforeAll(async () => {
    smtp = await startSmtp();
    server = await startTestServer({ env: settings(smtp.port) });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await smtp[Symbol.asyncDispose]();
  });
  afterEach(() => {
    smtp.received.splice(0);
    for (const name of Object.keys(smtp.behaviour)) delete smtp.behaviour[name as keyof Smtp["behaviour"]];
  });

  const email = (own: object = {}): object => ({
    call: "email:1.0.0@default",
    with: { to: "ada@example.com", subject: "Report", text: "Good morning.", ...own },
  });
  const runOfTasks = async (tasks: object[]): Promise<Data> =>
    ran(server, await agentOf(server, `do: ${JSON.stringify(tasks)}`));
  const RETRIED = { retry: { delay: { milliseconds: 1 }, limit: { attempt: { count: 3 } } } };

  test("sends a mail, and its output is what the server said", async () => {
    smtp.behaviour.onRecipient = (address) => {
      if (address.startsWith("gone")) throw reply(550, "nobody of that name");
    };
    const run = await runOfTasks([
      { name: { set: { who: "Ada" } } },
      {
        tell: email({
          to: ['${ .who + " <ada@example.com>" }', "gone@example.com"],
          replyTo: "desk@example.net",
          subject: '${ "Report for " + .who }',
          html: "<p>Hello</p>",
          attachments: [{ name: "a.csv", type: "text/csv", content: '${ .who + ",1" }' }],
        }),
      },
    ]);
    expect(run).toMatchObject({ status: "completed" });
    const [mail] = smtp.received;
    expect(run.output).toEqual({
      messageId: headerOf(mail!, "Message-ID"),
      accepted: ["ada@example.com"],
      rejected: ["gone@example.com"],
      response: "250 OK: queued",
    });
    expect(headerOf(mail!, "From")).toBe("Autograph <agents@example.org>");
    expect(headerOf(mail!, "Subject")).toBe("Report for Ada");
    expect(mail!.raw).toContain("a.csv");
  });

  test("copies are named, and blind copies are not", async () => {
    const run = await runOfTasks([{ tell: email({ cc: "Carl <carl@example.com>", bcc: ["eve@example.com"] }) }]);
    expect(run.output.accepted.toSorted()).toEqual(["ada@example.com", "carl@example.com", "eve@example.com"]);
    const [mail] = smtp.received;
    expect(mail!.to.toSorted()).toEqual(run.output.accepted.toSorted());
    expect(headerOf(mail!, "Cc")).toBe("Carl <carl@example.com>");
    expect(mail!.raw).not.toContain("eve@");
  });

  test("a try after a refusal for now has the same Message-ID, and one for good is the error's status", async () => {
    let tries = 0;
    const ids: unknown[] = [];
    smtp.behaviour.onMail = (mail) => {
      ids.push(headerOf(mail, "Message-ID"));
      if (++tries < 3) throw reply(451, "greylisted");
    };
    const run = await runOfTasks([{ safe: { try: [{ tell: email() }], catch: RETRIED } }]);
    expect(run).toMatchObject({ status: "completed" });
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
    smtp.behaviour.onMail = () => {
      tries++;
      throw reply(554, "looks like spam");
    };
    tries = 0;
    const forGood = { errors: { with: { status: 451 } }, ...RETRIED };
    const failed = await runOfTasks([{ safe: { try: [{ tell: email() }], catch: forGood } }]);
    expect(failed).toMatchObject({ status: "failed", error: { status: 554 } });
    expect(failed.error.type).toMatch(/communication$/);
    expect(failed.error.detail).toContain("refused the mail: 554 looks like spam");
    expect(tries).toBe(1);
  });

  test("an address from a run's data adds neither header nor recipient", async () => {
    for (const to of ["ada@example.com\r\nBcc: eve@example.com", "ada@example.com, eve@example.com"]) {
      const run = await runOfTasks([{ given: { set: { to } } }, { tell: email({ to: "${ .to }" }) }]);
      expect(run).toMatchObject({ status: "failed", error: { status: 400 } });
      expect(run.error.detail).toContain("is no e-mail address");
    }
    expect(smtp.received).toEqual([]);
  });

  test("a cancelled run's mail ends, and a server that is killed sends the same mail again", async () => {
    const hanging = Promise.withResolvers<void>();
    smtp.behaviour.onMail = () => hanging.promise;
    const agentId = await agentOf(server, `do: ${JSON.stringify([{ tell: email() }])}`);
    const cancelled = await start(server, agentId);
    await eventually(() => smtp.open === 1);
    await server.data(CANCEL, { id: cancelled });
    await eventually(() => smtp.open === 0);
    const seen = Promise.withResolvers<string | undefined>();
    smtp.behaviour.onMail = (mail) => (seen.resolve(headerOf(mail, "Message-ID")), hanging.promise);
    const killed = await start(server, agentId);
    const id = await seen.promise;
    await server.kill();
    delete smtp.behaviour.onMail;
    smtp.received.splice(0);
    await server.restart();
    expect((await until(server, killed, ...ENDED)).status).toBe("completed");
    expect(smtp.received.map((mail) => headerOf(mail, "Message-ID"))).toEqual([id]);
    hanging.resolve();
  });

  test("the recipients of a day are the plan's, for a stranger's webhook too", async () => {
    const organizationId = server.world.organizationId;
    await server.setPlan(organizationId, "free");
    const to = Array.from({ length: 25 }, (_, index) => `a${index}@example.com`);
    const runs = [];
    for (let run = 0; run < 3; run++) runs.push(await runOfTasks([{ tell: email({ to }) }]));
    await server.setPlan(organizationId, "enterprise");
    expect(runs.at(-1)).toMatchObject({ status: "failed", error: { status: 429 } });
    expect(runs.at(-1).error.detail).toContain("no recipients left today");
  });

  test("without SMTP_URL it is an error that says what is missing", async () => {
    const other = await sharedServer();
    const run = await ran(other, await agentOf(other, `do: ${JSON.stringify([{ tell: email() }])}`));
    expect(run.error.type).toMatch(/configuration$/);
    expect(run.error.detail).toBe("mail is not configured: set SMTP_URL and MAIL_FROM");
    await other[Symbol.asyncDispose]();
  });
});
