/** `autograph sessions` and `autograph password`, as processes against one server. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { cli, cliJson, settingsOf, type Ended } from "./command-line.ts";
import { type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

const PASSWORD = "correct horse battery";
const LOGIN = `mutation ($email: String!, $password: String!) {
  login(email: $email, password: $password) { accessToken } }`;

let server: SharedServer;
let email: string;
beforeAll(async () => {
  server = await sharedServer();
  email = (await server.member("ada@cli.example.org", "viewer")).email;
});
afterAll(() => server[Symbol.asyncDispose]());

const given = (stdin: string) => ({ env: settingsOf(server), stdin });
const autograph = (args: string[], stdin = `${PASSWORD}\n`): Promise<Ended> =>
  cli([...args, "--email", email], given(stdin));
const json = (args: string[], stdin = `${PASSWORD}\n`): Promise<Data> =>
  cliJson<Data>([...args, "--email", email], given(stdin));
const signIn = async (password = PASSWORD): Promise<string> =>
  (await server.data(LOGIN, { email, password }, null)).login.accessToken;
const isSignedIn = async (token: string): Promise<boolean> =>
  (await server.graphql("{ me { id } }", {}, token)).status === 200;

test("sessions are listed and ended; the command's own is gone when it ends", async () => {
  const [one, two, three] = [await signIn(), await signIn(), await signIn()];
  const { code, stdout, stderr } = await autograph(["sessions", "list"]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^id +refreshed +from +program\n/);
  expect(stdout.match(/^session_\w{26} +\d{4}-\d\d-\d\d \d\d:\d\d +127\.0\.0\.1 +\w/gm)).toHaveLength(4);
  expect(stdout.split("\n")[1]).toMatch(/ this command$/);
  const listed = await json(["sessions", "list", "--first", "4"]);
  expect(listed.map(({ isCurrent }: Data) => isCurrent)).toEqual([true, false, false, false]);
  const first = await autograph(["sessions", "list", "--first", "1"]);
  expect(first.stderr).toContain("only the newest 1 are shown");

  const { id } = listed[3];
  expect(await autograph(["sessions", "revoke", id])).toEqual({
    code: 0,
    stdout: `${id} is ended (127.0.0.1)\n`,
    stderr: "",
  });
  expect([await isSignedIn(one), await isSignedIn(two), await isSignedIn(three)]).toEqual([false, true, true]);
  expect(await json(["sessions", "revoke", listed[2].id])).toMatchObject({ id: listed[2].id, client: "api" });
  expect((await autograph(["sessions", "revoke", id])).stderr).toBe("autograph: Session not found\n");
  expect((await autograph(["sessions", "revoke", "--others"])).stdout).toBe("1 session is ended\n");
  expect(await isSignedIn(three)).toBe(false);
  expect(await json(["sessions", "revoke", "--others"])).toEqual({ revokedCount: 0 });
});

test("the password is changed, and everybody is signed out", async () => {
  const token = await signIn();
  const changed = await autograph(["password"], `${PASSWORD}\nanother password\n`);
  expect(changed).toEqual({ code: 0, stdout: `${email} has a new password, and no session any longer\n`, stderr: "" });
  expect(await isSignedIn(token)).toBe(false);
  await signIn("another password");
  expect(await json(["password"], `another password\r\n${PASSWORD}\r\n`)).toMatchObject({ email, name: "viewer" });
  expect(await json(["sessions", "list"])).toHaveLength(1);
});

test("mistakes are one line each", async () => {
  const said = async (args: string[], stdin?: string): Promise<string> => {
    const { code, stdout, stderr } = await autograph(args, stdin);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^autograph: .+\n$/);
    return stderr;
  };
  expect(await said(["sessions", "list"], "wrong password\n")).toContain("the e-mail or the password is wrong");
  expect(await said(["sessions", "list"], "")).toContain("pipe in the password, on a line");
  expect(await said(["password"], `${PASSWORD}\n`)).toContain(
    "pipe in the current password, then the new password, a line each",
  );
  expect(await said(["password"], `${PASSWORD}\nshort\n`)).toContain("must have at least");
  expect(await said(["sessions", "revoke"])).toContain("say which session to end");
  expect(await said(["sessions", "revoke", "key_1"])).toContain("is not a session id");
  expect((await cli(["sessions", "list"], given(""))).stderr).toContain("--email");
  await signIn();
});
