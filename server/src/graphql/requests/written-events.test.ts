import { expect, test } from "vitest";
import { isWritten, writtenEvents } from "./written-events.ts";

type Event = { at: number; text?: string; other?: boolean };

async function* from(events: Event[]) {
  yield* events;
}

const MARKS = { at: 2_147_000_000, text: "mark" };
const repeated = (events: Event[]) => ({
  source: from(events),
  valuesOf: ({ at, text }: Event) => (text === undefined ? undefined : { at, text }),
  marks: MARKS,
  marked: (event: Event): Event => ({ ...event, ...MARKS }),
});

/** The answers as a reader gets them, and how often an event was executed. */
async function read(events: Event[], answer: (event: Event) => object) {
  let executed = 0;
  const answers: string[] = [];
  const execute = async (event: Event) => (executed++, answer(event));
  for await (const result of writtenEvents(repeated(events), execute))
    answers.push(isWritten(result) ? result.json : JSON.stringify(result));
  return { answers, executed };
}

const data = ({ at, text, other }: Event) => ({
  data: {
    one: { at, "at again": at, list: [1, null], none: {}, in: { text, mark: "a", 'mar"k': text } },
    other: other ?? null,
  },
});
const EVENTS = Array.from({ length: 1_000 }, (_, at) => ({ at, text: `"${at}"\\ \u{1f600}\n` }));

test("events that are alike are executed once, and read as if each had been", async () => {
  const { answers, executed } = await read(EVENTS, data);
  expect(answers).toEqual(EVENTS.map((event) => JSON.stringify(data(event))));
  expect(executed).toBe(1);
});

test("others among them are executed, in their order", async () => {
  const events = EVENTS.flatMap((event): Event[] =>
    event.at % 100 === 0 ? [{ at: event.at, other: true }, event] : [event],
  );
  const { answers, executed } = await read(events, data);
  expect(answers).toEqual(events.map((event) => JSON.stringify(data(event))));
  expect(executed).toBe(11);
});

test("where their answers have errors, each is executed", async () => {
  const failed = (event: Event) => ({ ...data(event), errors: [{ message: "no" }] });
  const { answers, executed } = await read(EVENTS.slice(0, 3), failed);
  expect(answers).toEqual(EVENTS.slice(0, 3).map((event) => JSON.stringify(failed(event))));
  expect(executed).toBe(4);
});

test("what an answer has besides its data, and a value that says itself how it is written, are as in each answer", async () => {
  const more = (event: Event) => ({ ...data(event), extensions: { cost: event.at } });
  const { answers } = await read(EVENTS.slice(0, 3), more);
  expect(answers).toEqual(EVENTS.slice(0, 3).map((event) => JSON.stringify(more(event))));
  const dated = ({ at }: Event) => ({ data: { at, on: new Date(0) } });
  expect((await read(EVENTS.slice(0, 3), dated)).answers).toEqual(
    EVENTS.slice(0, 3).map((event) => JSON.stringify(dated(event))),
  );
});

test("the source ends with its reader", async () => {
  let isOver = false;
  const source = (async function* () {
    try {
      for (let at = 0; ; at++) yield { at, text: "a" };
    } finally {
      isOver = true;
    }
  })();
  for await (const result of writtenEvents<Event>({ ...repeated([]), source }, async (event) => data(event)))
    if (isWritten(result)) break;
  expect(isOver).toBe(true);
});
