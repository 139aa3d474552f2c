/** Events in definitions: the forms that are accepted, and what is said of others. */
import { expect, test } from "vitest";
import { LIMITS } from "../lib/limits.ts";
import { problemsOfTask } from "./definitions.fixture.ts";

const events = (count: number): string =>
  `[${Array.from({ length: count }, (_, n) => `{with: {type: t${n}}}`).join(", ")}]`;

test.each([
  ["{listen: {to: {one: {with: {source: shop}}}}}", "/listen/to/one/with/type", /./],
  ["{listen: {to: {any: []}}}", "/listen/to/any", /write 1 to 10 events/],
  ["{listen: {to: {all: [{with: {type: a}}], until: '${ true }'}}}", "/listen/to/until", /until/],
  ["{listen: {to: {one: {with: {type: a, data: {n: []}}}}}}", "/listen/to/one/with/data", /must have a value/],
  ["{listen: {to: {one: {with: {type: a, data: {n: {m: 1}}}}}}}", "/listen/to/one/with/data", /must be a list/],
  ["{listen: {to: {one: {with: {type: a, data: paid}}}}}", "/listen/to/one/with/data", /for each field/],
  ["{listen: {to: {one: {with: {type: a, data: '${ .n > }'}}}}}", "/listen/to/one/with/data", /does not compile/],
  ["{listen: {to: {one: {with: {type: a}, correlate: {o: {expect: b}}}}}}", "/listen/to/one/correlate/o/from", /./],
  [
    "{listen: {to: {one: {with: {type: a}, correlate: {o: {from: .a, expect: '${ $item }'}}}}}}",
    "/listen/to/one/correlate/o/expect",
    /not known/,
  ],
  ["{listen: {to: {one: {with: {type: a}}}, read: text}}", "/listen/read", /data, envelope/],
  ["{listen: {to: {one: {with: {type: a}}}}, foreach: {output: {as: '${ $itm }'}}}", "/foreach/output/as", /item/],
  ["{emit: {event: {with: {source: shop}}}}", "/emit/event/with/type", /./],
  ["{emit: {event: {with: {type: a, time: soon}}}}", "/emit/event/with/time", /RFC 3339/],
  ["{emit: {event: {with: {type: a, dataschema: 'https://a.example'}}}}", "/emit/event/with/dataschema", /not kept/],
  ["{emit: {event: {with: {type: a, data: '${ $secrets.key }'}}}}", "/emit/event/with/data", /secrets/],
])("%s", (task, place, message) => {
  const problems = problemsOfTask(task);
  expect(problems).toHaveLength(1);
  expect(problems[0]![0]).toBe(place);
  expect(problems[0]![1]).toMatch(message);
});

test("10 events, and not 11 events", () => {
  expect(problemsOfTask(`{listen: {to: {all: ${events(LIMITS.eventFiltersPerTask)}}}}`)).toEqual([]);
  expect(problemsOfTask(`{listen: {to: {all: ${events(LIMITS.eventFiltersPerTask + 1)}}}}`)).toHaveLength(1);
});
