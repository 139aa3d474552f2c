/** The way to an SMTP server, against a real one that does what such servers do. */
import net from "node:net";
import { once } from "node:events";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { CERTIFICATE } from "../../../test/certificate.ts";
import { testClock } from "../../../test/clock.ts";
import { headerOf, reply, startSmtp, type Smtp } from "../../../test/smtp.ts";
import { LIMITS } from "../lib/limits.ts";
import { parseSmtpUrl } from "../lib/mail/smtp-server.ts";
import { MailFailure } from "./failure.ts";
import { createTransport, type Letter, type Transport } from "./transport.ts";

const FROM = { name: "Autograph", address: "agents@example.org" };
const clock = testClock();
const authorities = getCACertificates("default");
afterEach(() => setDefaultCACertificates(authorities));

const transportTo = (url: string): Transport => {
  const server = parseSmtpUrl(url);
  if (typeof server === "string") throw new Error(server);
  return createTransport({ server, from: FROM }, clock);
};
const letter = (own: Partial<Letter> = {}): Letter => ({
  messageId: "<one@example.org>",
  date: new Date(clock.now()),
  to: [{ name: "", address: "ada@example.com" }],
  subject: "Hello",
  text: "Good morning.",
  ...own,
});
const never = (): AbortSignal => new AbortController().signal;
const send = (transport: Transport, own: Partial<Letter> = {}) => transport.send(letter(own), never());
const failureOf = async (sending: Promise<unknown>): Promise<MailFailure> => {
  const error: unknown = await sending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof MailFailure) return error;
  throw new Error(`no MailFailure but ${String(error)}`);
};
const plain = (smtp: Smtp, query = ""): string => `smtp://127.0.0.1:${smtp.port}${query}`;

test("a mail comes with its sender, id, date and texts, and the server's words are the answer", async () => {
  await using smtp = await startSmtp({ onMail: () => "queued as 4711" });
  const sent = await send(transportTo(plain(smtp)), {
    cc: [{ name: "Grace Höpper", address: "grace@example.com" }],
    bcc: [{ name: "", address: "secret@example.com" }],
    replyTo: [{ name: "", address: "desk@example.net" }],
    html: "<p>Good morning.</p>",
  });
  expect(sent).toMatchObject({
    messageId: "<one@example.org>",
    accepted: ["ada@example.com", "grace@example.com", "secret@example.com"],
    rejected: [],
    response: expect.stringContaining("queued as 4711") as string,
  });
  const [mail] = smtp.received;
  expect(mail).toMatchObject({ from: "agents@example.org", to: sent.accepted, isSecure: false });
  expect(headerOf(mail!, "From")).toBe("Autograph <agents@example.org>");
  expect(headerOf(mail!, "Message-ID")).toBe("<one@example.org>");
  expect(headerOf(mail!, "Date")).toBe("Sat, 21 Nov 2026 12:00:00 +0000");
  expect(headerOf(mail!, "Reply-To")).toBe("desk@example.net");
  expect(headerOf(mail!, "Auto-Submitted")).toBe("auto-generated");
  expect(headerOf(mail!, "Bcc")).toBeUndefined();
  expect(mail!.raw).not.toContain("secret@example.com");
});

test("what looks like a file, an address of the web or an image as data is sent as it is, and nothing is read for it", async () => {
  await using smtp = await startSmtp();
  await send(transportTo(plain(smtp)), {
    html: '<img src="data:image/png;base64,AAAA"><img src="/etc/passwd">',
    attachments: [{ filename: "/etc/passwd", contentType: "text/plain", content: Buffer.from("mine") }],
  });
  expect(smtp.received[0]!.raw).toContain("data:image/png;base64,AAAA");
  expect(smtp.received[0]!.raw).toContain(Buffer.from("mine").toString("base64"));
  expect(smtp.received[0]!.raw).not.toContain("root:");
});

test("STARTTLS and TLS from the first byte are verified, and the user signs in", async () => {
  const user = { name: "agents@example.org", password: "p%40ss word" };
  const credentials = `${encodeURIComponent(user.name)}:${encodeURIComponent(user.password)}`;
  await using starting = await startSmtp({ user });
  await using wrapped = await startSmtp({ user, isWrapped: true });
  const urls = [
    `smtp://${credentials}@localhost:${starting.port}?tls=required`,
    `smtps://${credentials}@localhost:${wrapped.port}`,
  ];
  for (const url of urls) {
    const failure = await failureOf(send(transportTo(url)));
    expect(failure).toMatchObject({ kind: "tls", isPermanent: false });
    expect(failure.message).toMatch(
      /^(?:localhost:\d+ offers no encryption|the certificate of localhost:\d+ is not trusted)/,
    );
  }
  setDefaultCACertificates([...authorities, CERTIFICATE]);
  for (const url of urls) await send(transportTo(url));
  for (const { received } of [starting, wrapped]) expect(received).toMatchObject([{ isSecure: true, user: user.name }]);
});

test("nothing is sent unencrypted to a server that must offer STARTTLS and does not", async () => {
  await using smtp = await startSmtp({ isPlain: true, user: { name: "u", password: "secret-password" } });
  const failure = await failureOf(send(transportTo(`smtp://u:secret-password@127.0.0.1:${smtp.port}?tls=required`)));
  expect(failure).toMatchObject({ kind: "tls" });
  expect(failure.message).toContain("?tls=none");
  expect(smtp.received).toEqual([]);
});

test("a password that the server repeats is hidden", async () => {
  await using smtp = await startSmtp({ user: { name: "u", password: "right" } });
  const failure = await failureOf(send(transportTo(`smtp://u:planted-password@127.0.0.1:${smtp.port}`)));
  expect(failure).toMatchObject({ kind: "credentials", status: 535, isPermanent: false });
  expect(failure.message).toBe(
    `127.0.0.1:${smtp.port} refused the user and password of SMTP_URL: 535 5.7.8 [password] is not the password of u`,
  );
});

test("a server without sign-in is not trusted with a mail if SMTP_URL has a user", async () => {
  await using smtp = await startSmtp({ isPlain: true, isOpen: true });
  expect(await failureOf(send(transportTo(`smtp://u:p@127.0.0.1:${smtp.port}`)))).toMatchObject({
    kind: "credentials",
  });
  expect(smtp.received).toEqual([]);
});

test.each([
  ["a sender for good", "onSender", 550, "refused the sender, which is MAIL_FROM: 550 no", true],
  ["a sender for now", "onSender", 451, "refused the sender, which is MAIL_FROM: 451 no", false],
  ["all recipients for good", "onRecipient", 550, "refused the recipients: 550 no", true],
  ["all recipients for now, as greylisting does", "onRecipient", 450, "refused the recipients: 450 no", false],
  ["the mail for good", "onMail", 554, "refused the mail: 554 no", true],
  ["the mail for now", "onMail", 452, "refused the mail: 452 no", false],
  ["a mail whose session it lost", "onMail", 503, "refused the mail: 503 no", false],
] as const)("a server that refuses %s", async (_, where, status, message, isPermanent) => {
  await using smtp = await startSmtp({
    [where]: () => {
      throw reply(status, "no");
    },
  });
  const failure = await failureOf(send(transportTo(plain(smtp))));
  expect(failure.message).toContain(message);
  expect(failure).toMatchObject({ kind: "refused", status, isPermanent });
});

test("a server that refuses one of two recipients has accepted the mail for the other", async () => {
  await using smtp = await startSmtp({
    onRecipient: (address) => {
      if (address.startsWith("no")) throw reply(550, "nobody of that name");
    },
  });
  const to = ["no@example.com", "ada@example.com"].map((address) => ({ name: "", address }));
  expect(await send(transportTo(plain(smtp)), { to })).toMatchObject({
    accepted: ["ada@example.com"],
    rejected: ["no@example.com"],
  });
});

test("a server that says 421 at its door, or in the middle, has refused for now", async () => {
  await using smtp = await startSmtp({
    onConnect: () => {
      throw reply(421, "too many connections");
    },
  });
  const failure = await failureOf(send(transportTo(plain(smtp))));
  expect(failure).toMatchObject({ isPermanent: false });
  expect(failure.message).toContain("421");
  delete smtp.behaviour.onConnect;
  smtp.behaviour.onMail = () => {
    throw reply(421, "closing");
  };
  expect(await failureOf(send(transportTo(plain(smtp))))).toMatchObject({ isPermanent: false });
});

test("a connection that is cut in the middle of the text, and a server that is not there", async () => {
  await using smtp = await startSmtp({ onText: (cut) => cut() });
  const failure = await failureOf(send(transportTo(plain(smtp)), { text: "x".repeat(500_000) }));
  expect(failure).toMatchObject({ kind: "connection", isPermanent: false });
  const { port } = smtp;
  await smtp[Symbol.asyncDispose]();
  const none = await failureOf(send(transportTo(`smtp://127.0.0.1:${port}`)));
  expect(none.message).toBe(`127.0.0.1:${port} cannot be reached: nothing listens there`);
  const unknown = await failureOf(send(transportTo("smtp://no-such-host.invalid?tls=none")));
  expect(unknown.message).toContain("the host no-such-host.invalid of SMTP_URL was not found");
});

test("something else than an SMTP server is told apart", async () => {
  const server = net.createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  const failure = await failureOf(send(transportTo(`smtp://127.0.0.1:${port}`)));
  expect(failure).toMatchObject({ kind: "connection", isPermanent: false });
  server.close();
});

test("a server that takes longer than a try may is given up, and one whose caller stops it ends at once", async () => {
  const hanging = Promise.withResolvers<void>();
  await using smtp = await startSmtp({ onMail: () => hanging.promise });
  const waits = Promise.withResolvers<void>();
  smtp.behaviour.onMail = () => (waits.resolve(), hanging.promise);
  const late = failureOf(send(transportTo(plain(smtp))));
  await waits.promise;
  clock.pass(LIMITS.mailSendSeconds * 1_000 - 1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(smtp.open).toBe(1);
  clock.pass(1);
  const { message } = await late;
  expect(message).toBe(`127.0.0.1:${smtp.port} took longer than ${LIMITS.mailSendSeconds} s for a mail`);
  const again = Promise.withResolvers<void>();
  smtp.behaviour.onMail = () => (again.resolve(), hanging.promise);
  const stop = new AbortController();
  const stopped = failureOf(transportTo(plain(smtp)).send(letter(), stop.signal));
  await again.promise;
  stop.abort();
  expect(await stopped).toMatchObject({ kind: "stopped" });
});
