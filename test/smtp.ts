/** An SMTP server on loopback, as a provider's is: it keeps what it was sent, and does as the test says. */
import { once } from "node:events";
import type net from "node:net";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { CERTIFICATE, KEY } from "./certificate.ts";

/** A mail as it came: the envelope, and the text with its headers. */
export type Received = { from: string; to: string[]; raw: string; user: string | undefined; isSecure: boolean };

/** A refusal in the protocol's words. */
export const reply = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode });

type Behaviour = {
  /** From the first byte. */
  isWrapped?: boolean;
  /** Offers no STARTTLS. */
  isPlain?: boolean;
  /** Offers nobody to sign in. */
  isOpen?: boolean;
  /** The only one who may sign in. */
  user?: { name: string; password: string };
  /** Throws the answer, if that is no. A promise that doesn't end: the server hangs there. */
  onConnect?: () => unknown;
  onSender?: (address: string) => unknown;
  onRecipient?: (address: string) => unknown;
  /** When the text has come whole. What it returns is said with 250. */
  onMail?: (mail: Received) => unknown;
  /** In the middle of the text. */
  onText?: (cut: () => void) => unknown;
};

export type Smtp = {
  port: number;
  received: Received[];
  /** May be changed by the test. */
  behaviour: Behaviour;
  /** The connections so far, and those that are open. */
  readonly connections: number;
  readonly open: number;
  /** Mails with this Message-ID or whose text has these words. */
  having(words: string): Received[];
} & AsyncDisposable;

/** The text of a mail in this format, decoded: its first part of the type. */
export function partOf({ raw }: Received, type: "text/plain" | "text/html"): string {
  const boundary = /boundary="?([^"\r\n;]+)/.exec(raw)?.[1];
  const parts = boundary === undefined ? [raw] : raw.split(`--${boundary}`);
  const part = parts.find((one) => new RegExp(`^content-type: ${type}`, "im").test(one));
  if (part === undefined) throw new Error(`the mail has no ${type}`);
  const [, head = "", body = ""] = /^([^]*?)\r\n\r\n([^]*)$/.exec(part) ?? [];
  const [, encoding = "7bit"] = /^content-transfer-encoding: (\S+)/im.exec(head) ?? [];
  if (encoding === "base64") return Buffer.from(body, "base64").toString();
  if (encoding !== "quoted-printable") return body;
  const bytes = body
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

export async function startSmtp(behaviour: Behaviour = {}): Promise<Smtp> {
  const received: Received[] = [];
  const now = { ...behaviour };
  let connections = 0;
  const answered = async (asked: () => unknown, callback: (error?: Error | null) => void): Promise<void> => {
    let refusal: Error | undefined;
    try {
      // It has no end on a server that hangs.
      await asked();
    } catch (error) {
      refusal = error as Error;
    }
    callback(refusal);
  };
  const server = new SMTPServer({
    secure: behaviour.isWrapped === true,
    key: KEY,
    cert: CERTIFICATE,
    authOptional: behaviour.user === undefined,
    allowInsecureAuth: true,
    disabledCommands: [...(behaviour.isPlain ? ["STARTTLS"] : []), ...(behaviour.isOpen ? ["AUTH"] : [])],
    logger: false,
    closeTimeout: 10,
    onConnect: (_session, callback) => {
      connections++;
      void answered(() => now.onConnect?.(), callback);
    },
    onAuth: ({ username, password }, _session, callback) => {
      const isKnown = username === now.user?.name && password === now.user?.password;
      if (isKnown) callback(null, { user: username });
      else callback(reply(535, `5.7.8 ${password} is not the password of ${username}`));
    },
    onMailFrom: ({ address }, _session, callback) => void answered(() => now.onSender?.(address), callback),
    onRcptTo: ({ address }, _session, callback) => void answered(() => now.onRecipient?.(address), callback),
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      const { mailFrom, rcptTo } = session.envelope;
      let isFirst = true;
      stream.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (isFirst) void now.onText?.(() => cutAll(server));
        isFirst = false;
      });
      stream.on("end", () => {
        const mail = {
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
          user: session.user as string | undefined,
          isSecure: session.secure,
        };
        let said: unknown;
        void answered(
          async () => {
            said = await now.onMail?.(mail);
            received.push(mail);
          },
          (error) => callback(error, typeof said === "string" ? said : "OK: queued"),
        );
      });
    },
  });
  server.on("error", () => {});
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    behaviour: now,
    get connections() {
      return connections;
    },
    get open() {
      return server.connections.size;
    },
    having: (words) => received.filter(({ raw }) => raw.includes(words)),
    [Symbol.asyncDispose]: async () => {
      cutAll(server);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Cuts each connection, as a server that dies does. */
function cutAll(server: SMTPServer): void {
  for (const { _socket } of server.connections as Set<{ _socket: net.Socket }>) _socket.destroy();
}

/** A header's text, with folded lines joined. */
export const headerOf = ({ raw }: Received, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, "im").exec(raw.split("\r\n\r\n")[0]!.replaceAll(/\r\n[ \t]+/g, " "))?.[1];
