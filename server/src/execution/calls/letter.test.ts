import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { letterOf } from "./letter.ts";

const mail = (own: JsonObject = {}): JsonObject => ({ to: "ada@example.com", subject: "Hello", text: "Hi", ...own });
const refusalOf = (own: JsonObject): string => {
  try {
    letterOf(mail(own), "/do/0/tell/with");
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("not refused");
};
const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `a${index}@example.com`);

test("one address or a list of them, with names", () => {
  const letter = letterOf(mail({ to: ["Ada <ada@example.com>", "grace@example.com"], cc: "joan@example.com" }), "");
  expect(letter.to).toEqual([
    { name: "Ada", address: "ada@example.com" },
    { name: "", address: "grace@example.com" },
  ]);
  expect(letter.cc).toEqual([{ name: "", address: "joan@example.com" }]);
});

test.each<[string, JsonObject, string]>([
  ["a header behind an address", { to: "ada@example.com\r\nBcc: eve@example.com" }, "/with/to is no e-mail address"],
  ["two addresses in one", { to: "ada@example.com, eve@example.com" }, "/with/to is no e-mail address"],
  ["a second address in a name", { to: '"eve@example.com> <" <ada@example.com>' }, "/with/to is no e-mail address"],
  ["a line break in a name", { to: ["A\nb <ada@example.com>"] }, "/with/to/0 is no e-mail address"],
  ["a group", { cc: "friends: ada@example.com;" }, "/with/cc is no e-mail address"],
  ["a header behind an address for answers", { replyTo: "a@b.c\nX: y" }, "/with/replyTo is no e-mail address"],
  ["a command of SMTP", { bcc: "<a@b.c> SIZE=1" }, "/with/bcc is no e-mail address"],
  ["a header behind a subject", { subject: "Hello\r\nBcc: eve@example.com" }, "/with/subject has a line break"],
  ["another line break of Unicode", { subject: "Hello\u2028Bcc" }, "/with/subject has a line break"],
  ["no address", { to: [] }, "/with/to has no address"],
  ["null as an address", { to: null }, "/with/to is no e-mail address: null"],
  ["no text", { text: null }, "/with/text is not a text"],
  ["a header in an attachment's name", { attachments: [{ name: 'a"\r\nX: y', content: "" }] }, "/attachments/0/name"],
  [
    "a header in its type",
    { attachments: [{ name: "a", type: "text/plain\r\nX: y", content: "" }] },
    "/attachments/0/type",
  ],
  ["a multipart as its type", { attachments: [{ name: "a", type: "text/plain; boundary=x", content: "" }] }, "/type"],
  ["a path instead of content", { attachments: [{ name: "a", path: "/etc/passwd" }] }, "and no path"],
  ["an address instead of content", { attachments: [{ name: "a", href: "http://10.0.0.1" }] }, "and no href"],
  [
    "what is not base64",
    { attachments: [{ name: "a.pdf", type: "application/pdf", content: "%PDF" }] },
    "is not base64",
  ],
])("%s is refused before anything is sent", (_, own, words) => {
  expect(refusalOf(own)).toContain(words);
  expect(refusalOf(own)).toContain("nothing was sent");
});

test("an attachment of text is the text, JSON is written, and anything else is base64", () => {
  const given: Json = [
    { name: "a.csv", type: "text/csv; charset=utf-8", content: "ä,b" },
    { name: "a.json", type: "application/json", content: { a: 1 } },
    { name: "a.pdf", type: "application/pdf", content: "JVBERg==" },
    { name: "a.bin", content: "AAE=" },
  ];
  const { attachments } = letterOf(mail({ attachments: given }), "");
  expect(attachments!.map(({ contentType, content }) => [contentType, content.toString("latin1")])).toEqual([
    ["text/csv; charset=utf-8", Buffer.from("ä,b").toString("latin1")],
    ["application/json", '{"a":1}'],
    ["application/pdf", "%PDF"],
    ["application/octet-stream", "\0\u0001"],
  ]);
});

test("fifty recipients are taken, one more is refused", () => {
  const most = LIMITS.emailRecipients;
  letterOf(mail({ to: many(most - 2), cc: many(1), bcc: many(1) }), "");
  expect(refusalOf({ to: many(most - 1), cc: many(1), bcc: many(1) })).toContain(`at most ${most}`);
  expect(refusalOf({ to: many(most + 1) })).toContain(`at most ${most}`);
});

test("500 characters of a subject are taken, one more is refused", () => {
  const most = LIMITS.emailSubjectCharacters;
  letterOf(mail({ subject: "a".repeat(most) }), "");
  expect(refusalOf({ subject: "a".repeat(most + 1) })).toContain(`more than ${most}`);
});

test("ten attachments are taken, one more is refused", () => {
  const attachments = Array.from({ length: LIMITS.emailAttachments }, () => ({ name: "a", content: "" }));
  letterOf(mail({ attachments }), "");
  expect(refusalOf({ attachments: [...attachments, attachments[0]!] })).toContain(`at most ${LIMITS.emailAttachments}`);
});

test("1 MiB of texts and attachments is taken, one byte more is refused", () => {
  const text = "a".repeat(LIMITS.emailBytes - 4);
  letterOf(mail({ text, html: "ab", attachments: [{ name: "a", type: "text/plain", content: "ä" }] }), "");
  expect(refusalOf({ text, html: "abc", attachments: [{ name: "a", type: "text/plain", content: "ä" }] })).toContain(
    `at most ${LIMITS.emailBytes}`,
  );
});
