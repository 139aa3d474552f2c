import { describe, expect, test } from "vitest";
import { isEmail } from "./../lib/mail/email-address.ts";
import { emailProblem, handleProblem, nameProblem, passwordProblem, refuseProblems, tidyName } from "./names.ts";
import { leastMs } from "../lib/processor-time.testsuite.ts";
import { samePassword } from "./sign-in/passwords.ts";

test.each(["Ada", " Ada Lovelace ", "日本語", "a".repeat(200), "it's <b>bold</b>", "👩‍👩‍👧"])("the name %j", (name) => {
  expect(nameProblem(name, "input.name")).toBeUndefined();
});

test.each([
  ["", "required"],
  [" \t\n", "required"],
  ["a".repeat(201), "too_long"],
  ["a".repeat(1_000_000), "too_long"],
  ["a\u0000b", "invalid"],
  ["a\nb", "invalid"],
  ["a\u009bb", "invalid"],
  ["a\u2028b", "invalid"],
  ["a\ud800b", "invalid"],
  ["\u200b\u200d\u2060", "invalid"],
  ["\u3164 \u2800 \ufe0f", "invalid"],
])("not the name %j", (name, code) => {
  expect(nameProblem(name, "input.name")).toMatchObject({ path: "input.name", code });
});

test("names are compared as NFC", () => {
  expect(tidyName(" e\u0301 ")).toBe("\u00e9");
});

test.each(["a", "demo", "a-b", "0", "a".repeat(63)])("the handle %j", (handle) => {
  expect(handleProblem(handle, "input.handle")).toBeUndefined();
});

test.each(["", "-a", "a-", "A", "a_b", "a.b", "a b", "ä", "a\n", "a\u0000", "a".repeat(64)])(
  "not the handle %j",
  (handle) => {
    expect(handleProblem(handle, "input.handle")).toMatchObject({ code: "invalid" });
  },
);

test.each(["a@b", "ada@example.com", "a+b@x.co", "Ada.Love'lace@EXAMPLE.com", "ünï@exämple.de"])(
  "the address %j",
  (email) => {
    expect(emailProblem(email, "input.email")).toBeUndefined();
  },
);

test.each([
  "",
  "a",
  "@b",
  "a@",
  "a@b@c",
  "a b@c",
  "a@b.",
  "a@.b",
  "a@b..c",
  "a@b\nBcc: c@d",
  "a\u0000@b",
  "\ud800@b",
  "<a@b>",
  `a@${"b".repeat(254)}`,
  `${"a".repeat(65)}@b`,
])("not the address %j", (email) => {
  expect(isEmail(email)).toBe(false);
});

test("a hostile address is judged at once", () => {
  const texts = [`a@${"b.".repeat(120)}!`, `${"a".repeat(1_000_000)}@`];
  expect(leastMs(50, () => texts.map(isEmail))).toBeLessThan(50);
});

describe("passwords", () => {
  test("10 to 256 characters, any of them", () => {
    expect(passwordProblem("xy".repeat(5), "p")).toBeUndefined();
    expect(passwordProblem("\u0000 \ud800 ü \n 🔑", "p")).toBeUndefined();
    expect(passwordProblem("x".repeat(9), "p")).toMatchObject({ code: "too_short" });
    expect(passwordProblem("x".repeat(257), "p")).toMatchObject({ code: "too_long" });
  });

  test.each([
    " ".repeat(10),
    " \u3000\t".repeat(4),
    "z".repeat(256),
    "🔑".repeat(10),
    "password123",
    " Qwertyuiop",
    "1234567890",
  ])("not %j, which is common", (password) => {
    expect(passwordProblem(password, "p")).toMatchObject({ code: "too_common", message: /a common password/ });
  });
});

test("all problems are told together", () => {
  const found = [nameProblem("", "input.name"), undefined, emailProblem("x", "input.email")];
  expect(() => refuseProblems(found)).toThrow(
    expect.objectContaining({
      code: "BAD_USER_INPUT",
      message: "name must not be empty; email must be an e-mail address of at most 254 characters",
      details: {
        reason: "invalid_input",
        fields: [expect.objectContaining({ path: "input.name" }), expect.objectContaining({ path: "input.email" })],
      },
    }),
  );
  expect(() => refuseProblems([undefined])).not.toThrow();
});

test("marks without end, which ICU puts in order in quadratic time, are refused at once", () => {
  const marks = `x${"\u0301".repeat(250_000)}${"\u0316".repeat(250_000)}`;
  const took = leastMs(100, () => {
    expect(nameProblem(marks, "name")?.code).toBe("too_long");
    expect(emailProblem(marks, "email")?.code).toBe("invalid");
    expect(samePassword(marks, "correct horse battery")).toBe(false);
  });
  expect(took).toBeLessThan(100);
  expect(tidyName("e\u0301 ")).toBe("\u00e9");
});
