import { expect, test } from "vitest";
import { secretKeys } from "./secret-key.ts";

const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index));

test("the same master key gives the same keys after every restart, another gives others", () => {
  const [one, again, other] = [secretKeys(bytes), secretKeys(Buffer.from(bytes)), secretKeys(Buffer.alloc(32))];
  // Held to a figure: a change here would end all sessions of all installations.
  expect(one.derive("refresh tokens v1").toString("hex")).toBe(
    "220416a5f96ff6b775321433f2cbc525782bd355477d6c0543bf127ff2cdd68a",
  );
  expect(one.derive("a")).not.toEqual(one.derive("b"));
  expect(one.derive("a")).not.toEqual(other.derive("a"));
  expect(one.derive("a")).toEqual(again.derive("a"));
});
