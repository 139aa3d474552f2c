/** Mail over the real wire: a running server and a real SMTP server. */
import { expect, test } from "vitest";
import { cli } from "./command-line.ts";
import { reply, startSmtp } from "./smtp.ts";

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
