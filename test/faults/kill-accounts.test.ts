/** `kill -9` of the server while people sign in, join, are removed and change passwords: nothing is half done, nothing comes back to life. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startProcess } from "../cli-process.ts";
import { eventually, startTestServer, type Answer, type Data, type TestServer } from "../client.ts";
import { cli, settingsOf } from "../command-line.ts";
import { scaled } from "../scale.ts";
import { connectTo } from "./audit.ts";
import { seeded } from "./random.ts";

const LINKS = scaled({ whole: 6, part: 3 });
/** A kill after each number of changes that are done, of those that are begun together and of which one is held. */
const KILLED_AFTER = scaled({ whole: Array.from({ length: LINKS + 2 }, (_, kill) => kill), part: [0, 3] });
const PASSWORD = "correct horse battery";
const ANOTHER = "another password";

const TOKENS = "{ accessToken refreshToken }";
const LOGIN = `mutation ($email: String!, $password: String!) { login(email: $email, password: $password) ${TOKENS} }`;
const REFRESH = `mutation ($token: String!) { refreshToken(input: {refreshToken: $token}) ${TOKENS} }`;
const INVITE = "mutation { inviteMember(input: {role: viewer}) { url } }";
const ACCEPT = `mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) ${TOKENS} }`;
const PREVIEW = "query ($token: String!) { invitation(token: $token) { role } }";
const MEMBERS = "{ members(first: 200) { nodes { id user { id email } } } }";
const REMOVE = "mutation ($id: ID!) { removeMember(input: {memberId: $id}) { id } }";
const CHANGE = "mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { id } }";
const AUDIT =
  "query ($action: [AuditAction!]) { auditEvents(filter: {action: $action}, first: 200) { nodes { subject { id } } } }";

type Tokens = { accessToken: string; refreshToken: string };
type Outcome = "done" | "refused" | "lost";

const outcomeOf = async (answer: Promise<Answer>): Promise<Outcome> => {
  try {
    const { errors } = await answer;
    return errors ? "refused" : "done";
  } catch {
    return "lost";
  }
};

function clientOf(server: TestServer) {
  const login = (email: string, password = PASSWORD): Promise<Answer> =>
    server.graphql(LOGIN, { email, password }, null);
  const signIn = async (email: string): Promise<Tokens> => (await login(email)).data.login;
  return {
    login,
    signIn,
    canSignIn: async (email: string, password = PASSWORD): Promise<boolean> => !(await login(email, password)).errors,
    refresh: (token: string): Promise<Answer> => server.graphql(REFRESH, { token }, null),
    isGood: async ({ accessToken }: Tokens): Promise<boolean> =>
      (await server.graphql("{ caller { role } }", {}, accessToken)).status === 200,
    invite: async (): Promise<string> => (await server.data(INVITE)).inviteMember.url.split("#invitation=")[1],
    accept: (token: string, email: string): Promise<Answer> =>
      server.graphql(ACCEPT, { input: { token, email, name: "New", password: PASSWORD } }, null),
    isOpen: async (token: string): Promise<boolean> => !(await server.graphql(PREVIEW, { token }, null)).errors,
    members: async (): Promise<Map<string, string>> =>
      new Map((await server.data(MEMBERS)).members.nodes.map(({ id, user }: Data) => [user.email, id])),
    /** How often each account was changed. */
    told: async (action: string, id: string): Promise<number> =>
      (await server.data(AUDIT, { action: [action] })).auditEvents.nodes.filter(
        ({ subject }: Data) => subject.id === id,
      ).length,
  };
}

test(`${KILLED_AFTER.length} times kill -9: a change is done with all that follows from it, or not at all, and everybody can sign in`, async () => {
  const random = seeded("kill -9 while people change");
  await using server = await startTestServer();
  const { signIn, canSignIn, refresh, isGood, invite, accept, isOpen, members, told } = clientOf(server);
  const seen = { lost: 0, done: 0 };

  for (const kill of KILLED_AFTER) {
    const email = (name: string): string => `${name}${kill}@kills.example.org`;
    for (const name of ["refreshing", "removed", "changing"]) await server.member(email(name), "viewer");
    const chain = [await signIn(email("refreshing"))];
    const [removed, changing, other] = [
      await signIn(email("removed")),
      await signIn(email("changing")),
      await signIn(email("changing")),
    ];
    const before = await members();
    const links = await Promise.all(Array.from({ length: LINKS }, invite));

    // Whatever the others do until the kill, it meets one that joins: its link is locked.
    const holder = await connectTo(server);
    await holder.query("begin");
    const locked = await holder.query("select from invitations where secret_hash = sha256($1) for update", [links[0]]);
    expect(locked.rowCount).toBe(1);
    const refreshing = (async () => {
      for (;;) chain.push((await refresh(chain.at(-1)!.refreshToken)).data.refreshToken);
    })().catch(() => undefined);
    const joining = links.map((token, index) => outcomeOf(accept(token, email(`joining${index}-`))));
    const removing = outcomeOf(server.graphql(REMOVE, { id: before.get(email("removed")) }));
    const input = { currentPassword: PASSWORD, newPassword: ANOTHER };
    const setting = outcomeOf(server.graphql(CHANGE, { input }, changing.accessToken));
    // By the command's own clock, so the server's is not moved: a former key would have ended long ago.
    const rotating = startProcess(["tokens", "rotate-key", "--at-once"], { env: settingsOf(server) });
    let settled = 0;
    for (const one of [...joining, removing, setting]) void one.then(() => settled++);
    await eventually(() => settled >= kill);
    await sleep(random.between(0, 20));
    await server.kill();
    rotating.kill("SIGKILL");
    await holder.end();
    await Promise.all([refreshing, rotating.ended]);
    await server.restart();

    // At most one of a session's tokens is good: the last one that was answered, or one that was lost.
    const last = chain.at(-1)!;
    const isLastGood = !(await refresh(last.refreshToken)).errors;
    if (!isLastGood) expect(await isGood(last)).toBe(false);
    for (const { refreshToken } of chain) expect((await refresh(refreshToken)).errors).toBeDefined();
    expect(await canSignIn(email("refreshing"))).toBe(true);

    const after = await members();
    for (const [index, joined] of (await Promise.all(joining)).entries()) {
      const who = email(`joining${index}-`);
      const isMember = after.has(who);
      seen[joined === "done" ? "done" : "lost"]++;
      if (joined === "done") expect(isMember).toBe(true);
      expect(await isOpen(links[index]!)).toBe(!isMember);
      if (isMember) expect(await told("member_joined", after.get(who)!)).toBe(1);
      else expect(await outcomeOf(accept(links[index]!, who))).toBe("done");
      expect(await canSignIn(who)).toBe(true);
    }

    const isRemoved = !after.has(email("removed"));
    if ((await removing) === "done") expect(isRemoved).toBe(true);
    expect(await told("member_removed", before.get(email("removed"))!)).toBe(isRemoved ? 1 : 0);
    expect(await isGood(removed)).toBe(!isRemoved);
    if (isRemoved) {
      await server.data(
        ACCEPT,
        { input: { token: await invite(), email: email("removed"), password: PASSWORD } },
        null,
      );
      expect(await isGood(removed)).toBe(false);
      expect((await refresh(removed.refreshToken)).errors).toBeDefined();
    }

    const isChanged = await canSignIn(email("changing"), ANOTHER);
    if ((await setting) === "done") expect(isChanged).toBe(true);
    expect(await canSignIn(email("changing"))).toBe(!isChanged);
    expect(await isGood(other)).toBe(!isChanged);
    expect((await refresh(other.refreshToken)).errors === undefined).toBe(!isChanged);
    expect(await isGood(changing)).toBe(true);
  }
  expect(seen.lost).toBeGreaterThan(0);
  expect(seen.done).toBeGreaterThan(0);

  const exported = await cli(["audit", "export"], { env: settingsOf(server) });
  const folder = mkdtempSync(path.join(os.tmpdir(), "autograph-kills-"));
  writeFileSync(path.join(folder, "audit.jsonl"), exported.stdout);
  const { code, stderr } = await cli(["audit", "verify", path.join(folder, "audit.jsonl")]);
  expect([code, stderr]).toEqual([0, ""]);
  rmSync(folder, { recursive: true });
});
