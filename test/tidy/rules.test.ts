import { expect, test } from "vitest";
import { RULES, SERVER_RULES, type Rule } from "./rules.ts";
import { allSources, parse, serverSources, type Source } from "./source.ts";

/** A sample is code, or for rules about names a path. */
const sampleOf = ({ bad }: Rule): Source => {
  const isPath = /^[\w/-]+\.ts$/.test(bad);
  return parse(isPath ? bad : "sample.ts", isPath ? "" : bad);
};

function held(rule: Rule, sources: Source[]): void {
  expect(rule.find(sampleOf(rule)), "the rule finds its own sample").not.toEqual([]);
  const places = sources.filter(({ path }) => !rule.except?.includes(path)).flatMap((source) => rule.find(source));
  expect(places, rule.advice).toEqual([]);
}

const server = serverSources();
test.each(SERVER_RULES)("server: $name", (rule) => held(rule, server));

const all = allSources();
test.each(RULES)("everywhere: $name", (rule) => held(rule, all));
