import { expect, test } from "vitest";
import { parseSecretKey } from "./secret-key.ts";

const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index));

test.each([
  bytes.toString("hex"),
  bytes.toString("hex").toUpperCase(),
  bytes.toString("base64"),
  bytes.toString("base64url"),
  ` ${bytes.toString("hex")}\n`,
])("the key %j", (text) => {
  expect(parseSecretKey(text)).toEqual(bytes);
});

test.each(["", "secret", bytes.toString("hex").slice(1), `${bytes.toString("hex")}00`, "=".repeat(44), "ä".repeat(43)])(
  "not the key %j",
  (text) => {
    expect(parseSecretKey(text)).toBeUndefined();
  },
);
