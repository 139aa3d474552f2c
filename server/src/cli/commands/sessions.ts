/** A person's own sessions and password: an API key may touch neither, so each command signs in, and out again. */
import { Option, type Command } from "commander";
import { OperatorError } from "../../lib/errors.ts";
import { createApi, type Api } from "../server/api.ts";
import { addCommand, idArgument, type CommandLine } from "../line/command-line.ts";
import { addFirst, minuteOf, MORE, printPage, type Page, type Table } from "../line/page.ts";
import { readPasswords } from "../line/read-passwords.ts";
import { serverUrlFor } from "../server/server-address.ts";
import { plainText } from "../line/terminal.ts";

type Session = {
  id: string;
  address: string | null;
  userAgent: string | null;
  refreshedAt: string;
  isCurrent: boolean;
};
type Options = { email: string; url?: string; json?: true };

const FIELDS = "id organization { id name } client address userAgent createdAt refreshedAt expiresAt isCurrent";
const LOGIN = `mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }`;
const LOGOUT = "mutation { logout { id } }";
const LIST = `query ($first: Int!) { sessions(first: $first) { nodes { ${FIELDS} } ${MORE} } }`;
const REVOKE = `mutation ($input: RevokeSessionInput!) { revokeSession(input: $input) { ${FIELDS} } }`;
const REVOKE_OTHERS = "mutation { revokeOtherSessions { revokedCount } }";
const CHANGE = "mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { id name email } }";

export function addSessions(program: Command, line: CommandLine): void {
  const sessions = program.command("sessions").description("Where you are signed in, through the server's API.");
  addSignIn(addFirst(addCommand(sessions, "list", "Your sessions in all organizations, newest first."))).action(
    (options: Options & { first: number }) => list(line, options),
  );
  const id = idArgument("session", "sessions list").argOptional();
  addSignIn(addCommand(sessions, "revoke", "End one of your sessions, or all.").addArgument(id))
    .option("--others", "all your sessions, in all organizations")
    .action((sessionId: string | undefined, options: Options & { others?: true }) => revoke(line, sessionId, options));
}

export function addPassword(program: Command, line: CommandLine): void {
  addSignIn(addCommand(program, "password", "Change your own password, and end all your sessions.")).action(
    (options: Options) => change(line, options),
  );
}

const addSignIn = (command: Command): Command =>
  command
    .requiredOption("--email <email>", "who you are; the password is asked for, or read from stdin")
    .addOption(new Option("--url <url>", "the server (PUBLIC_URL, else http://HOST:PORT)"));

const CURRENT = "Password:";

const ask = ({ stdin, terminal }: CommandLine, questions: readonly string[]): Promise<string[]> =>
  readPasswords(questions, { stdin: stdin(), say: terminal.say });

/** The session lasts as long as the work. */
async function signedIn<Result>(
  line: CommandLine,
  { email, url }: Options,
  password: string,
  work: (api: Api) => Promise<Result>,
): Promise<Result> {
  const at = serverUrlFor(line, url);
  const { login } = await createApi(at).send<{ login: { accessToken: string } }>(LOGIN, { email, password });
  const api = createApi(at, login.accessToken);
  try {
    return await work(api);
  } finally {
    await api.send(LOGOUT).catch(() => line.terminal.say("this command's own session could not be ended"));
  }
}

const TABLE: Table<Session> = {
  head: ["id", "refreshed", "from", "program"],
  row: ({ id, refreshedAt, address, userAgent, isCurrent }) => [
    id,
    minuteOf(refreshedAt),
    plainText(address ?? "unknown"),
    isCurrent ? "this command" : plainText(userAgent ?? "unknown"),
  ],
  none: "there are no sessions",
};

async function list(line: CommandLine, options: Options & { first: number }): Promise<void> {
  const [password] = await ask(line, [CURRENT]);
  const { sessions } = await signedIn(line, options, password!, (api) =>
    api.send<{ sessions: Page<Session> }>(LIST, { first: options.first }),
  );
  printPage(line, sessions, TABLE, options);
}

async function revoke(
  line: CommandLine,
  sessionId: string | undefined,
  options: Options & { others?: true },
): Promise<void> {
  if ((sessionId === undefined) === (options.others === undefined))
    throw new OperatorError("say which session to end, by its id, or --others for all");
  const [password] = await ask(line, [CURRENT]);
  await signedIn(line, options, password!, async (api) => {
    if (sessionId === undefined) {
      type Data = { revokeOtherSessions: { revokedCount: number } };
      const { revokeOtherSessions: ended } = await api.send<Data>(REVOKE_OTHERS);
      if (options.json) return line.terminal.printJson(ended);
      return line.terminal.print(
        ended.revokedCount === 1 ? "1 session is ended" : `${ended.revokedCount} sessions are ended`,
      );
    }
    const { revokeSession: ended } = await api.send<{ revokeSession: Session }>(REVOKE, { input: { sessionId } });
    if (options.json) line.terminal.printJson(ended);
    else line.terminal.print(`${ended.id} is ended (${plainText(ended.address ?? "from an unknown address")})`);
  });
}

async function change(line: CommandLine, options: Options): Promise<void> {
  const isTyped = line.stdin().isTTY;
  const questions = ["Current password:", "New password:", ...(isTyped ? ["New password again:"] : [])];
  const [currentPassword, newPassword, again = newPassword] = await ask(line, questions);
  if (again !== newPassword) throw new OperatorError("the new password was typed in two ways: nothing is changed");
  const { changePassword: user } = await signedIn(line, options, currentPassword!, (api) =>
    api.send<{ changePassword: { email: string } }>(CHANGE, { input: { currentPassword, newPassword } }),
  );
  if (options.json) line.terminal.printJson(user);
  else line.terminal.print(`${plainText(user.email)} has a new password, and no session any longer`);
}
