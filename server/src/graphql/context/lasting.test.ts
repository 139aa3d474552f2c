import { expect, test } from "vitest";
import type { OrganizationId } from "../../lib/ids.ts";
import { Lasting } from "./lasting.ts";

const [A, B] = ["a", "b"] as OrganizationId[];

test("an organization has as many subscriptions and waits as stay free beside it, and gives back each once", () => {
  const lasting = new Lasting(6);
  const all = [lasting.begin(A), lasting.begin(A), lasting.begin(A)];
  expect(() => lasting.begin(A)).toThrow(
    expect.objectContaining({
      code: "UNAVAILABLE",
      message: expect.stringContaining("its share of the server's 6"),
      details: { retryAfter: 1 },
    }),
  );
  lasting.begin(B)[Symbol.dispose]();
  all[0]![Symbol.dispose]();
  all[0]![Symbol.dispose]();
  all[0] = lasting.begin(A);
  expect(() => lasting.begin(A)).toThrow("too many subscriptions and waits");
});
