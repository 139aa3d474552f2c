import { expect, test } from "vitest";
import { partsOf } from "./secret-fields.ts";

test("of a URL, what follows its host is hidden alone, too: the path, long words of it, and the values of its query", () => {
  const url = "HTTPS://hooks.example.com/services/T0/b64url_hook-token?key=a%20long%20key&v=1#top";
  expect(partsOf(url)).toEqual([
    url,
    "/services/T0/b64url_hook-token?key=a%20long%20key&v=1",
    "/services/T0/b64url_hook-token",
    "a long key",
    "b64url_hook-token",
  ]);
  for (const plain of [
    "https://example.com",
    "http://example.com/v1/",
    "a/path/of-many-characters",
    "x:y?z=longer-word",
  ])
    expect(partsOf(plain)).toEqual([plain]);
});

test("of a URL with thousands of parts, 30", () => {
  const words = Array.from({ length: 400 }, (_, index) => `a-rather-long-word-${index}`).join("/");
  expect(partsOf(`https://example.com/${words}`)).toHaveLength(31);
});
