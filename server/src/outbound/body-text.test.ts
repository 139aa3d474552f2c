import { expect, test } from "vitest";
import { textIn } from "./body-text.ts";

test.each([
  ["short-charset", 'the answer is text in the charset "short-charset", which can\'t be read'],
  // Cut, it would have a beginning of what it repeats, which may be a secret and too short to be recognised.
  [`${"x".repeat(20)}a-secret-of-many-characters`, "the answer is text in a charset which can't be read"],
])("a charset that can't be read is named whole or not at all: %s", (charset, message) => {
  const answer = { body: Buffer.of(0xff, 0x80), headers: { "content-type": `text/plain; charset=${charset}` } };
  expect(() => textIn(answer)).toThrow(`${message}; \`output: raw\` yields its bytes`);
});
