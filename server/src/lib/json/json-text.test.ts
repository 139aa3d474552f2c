import { expect, test } from "vitest";
import { JsonText, stringify } from "./json-text.ts";

test("texts stand in the answer as they are, values as JSON.stringify writes them", () => {
  const text = JsonText.ofText('{"b": 1.50, "a":[]}');
  expect(stringify({ one: text, list: [text, JsonText.ofValue(["x"]), 'a"b'], none: null })).toBe(
    '{"one":{"b": 1.50, "a":[]},"list":[{"b": 1.50, "a":[]},["x"],"a\\"b"],"none":null}',
  );
  expect(stringify(text)).toBe('{"b": 1.50, "a":[]}');
  expect(stringify({ plain: 1 })).toBe('{"plain":1}');
});

test("elsewhere it is the value", () => {
  expect(JSON.stringify([JsonText.ofText("[1, 2]")])).toBe("[[1,2]]");
  expect(JsonText.ofText("[1, 2]").value).toEqual([1, 2]);
  expect(JsonText.ofValue({ a: "é" })).toMatchObject({ text: '{"a":"é"}', bytes: 10 });
});

test("an error while writing leaves nothing behind", () => {
  const cycle: unknown[] = [JsonText.ofText("1")];
  cycle.push(cycle);
  expect(() => stringify(cycle)).toThrow(TypeError);
  expect(JSON.stringify(JsonText.ofText("[1]"))).toBe("[1]");
});
