import { describe, expect, test } from "vitest";
import { readDocument } from "./read-document.ts";

const HEAD =
  'document: {dsl: "1.0.3", namespace: shop, name: intake, version: "1.2.0", title: Order intake, summary: Takes orders.}\n';
const WHOLE = {
  namespace: "shop",
  name: "intake",
  version: "1.2.0",
  title: "Order intake",
  summary: "Takes orders.",
};

describe("what a definition says it is", () => {
  test.each([
    ["a whole definition", "do:\n  - a: {set: {b: 1}}\n"],
    ["one without tasks", ""],
    ["a task that is none", "do:\n  - a: {sett: {b: 1}}\n"],
    ["tasks that are no list", "do: nothing yet\n"],
    ["a key twice", "do: []\ndo: []\n"],
    ["a key that is unknown", "does: []\n"],
  ])("is read of %s", (_, rest) => {
    expect(readDocument(HEAD + rest)).toEqual({ document: WHOLE, problems: [] });
  });

  test("needs a namespace and a name, and no more", () => {
    expect(readDocument("document: {namespace: shop, name: intake}")).toEqual({
      document: { namespace: "shop", name: "intake" },
      problems: [],
    });
  });

  test.each([
    ["a version", 'version: "1.0"'],
    ["a version that is a number", "version: 1.0"],
    ["a title", 'title: ""'],
    ["a title of two lines", 'title: "a\\nb"'],
    ["a summary with a NUL", 'summary: "a\\0b"'],
    ["a prototype", "__proto__: {version: '1.0.0'}"],
  ])("leaves out %s that could not be published", (_, part) => {
    expect(readDocument(`document: {namespace: shop, name: intake, ${part}}`)).toEqual({
      document: { namespace: "shop", name: "intake" },
      problems: [],
    });
  });

  test.each([
    ["nothing", "", ""],
    ["a list", "- a", ""],
    ["no document", "do: []", "/document"],
    ["a document that is a text", "document: intake", "/document"],
    ["no name", "document: {namespace: shop}", "/document/name"],
    ["a name that is none", "document: {namespace: shop, name: Order Intake}", "/document/name"],
    ["a name that is a number", "document: {namespace: shop, name: 1}", "/document/name"],
    ["no namespace", "document: {name: intake}", "/document/namespace"],
    ["a mistyped name", "document: {namespace: shop, nmae: intake}", "/document/name"],
    ["what is no YAML", "document: {namespace: shop, name: intake\ndo: ]", ""],
    ["a NUL", `${HEAD}\u0000`, ""],
  ])("is not read of %s, and why is told with its place", (_, text, path) => {
    const { document, problems } = readDocument(text);
    expect(document).toBeUndefined();
    expect(problems.length).toBeGreaterThan(0);
    expect(problems[0]).toMatchObject({ path, line: expect.any(Number), message: expect.stringMatching(/./) });
  });
});
