import { expect, test } from "vitest";
import { readEvents, type ServerEvent } from "./event-stream.ts";

async function collect(events: AsyncIterable<ServerEvent>): Promise<ServerEvent[]> {
  const all: ServerEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function eventsOf(text: string, chunkBytes: number): Promise<ServerEvent[]> {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  return collect(readEvents(chunks()));
}

const STREAM =
  ':\n\nevent: next\ndata: {"a":"ü😀"}\n\n: ping\n\ndata:x\r\ndata:  y\r\n\r\nevent: complete\ndata:\n\nevent: next\ndata: cut';

test.each([1, 2, 3, 7, 1_000])(
  "events are the same in chunks of %i bytes; one that was cut off is dropped",
  async (chunkBytes) => {
    expect(await eventsOf(STREAM, chunkBytes)).toEqual([
      { event: "next", data: '{"a":"ü😀"}' },
      { event: "message", data: "x\n y" },
      { event: "complete", data: "" },
    ]);
  },
);

test("a connection that breaks ends the events, another error does not pass for it", async () => {
  async function* broken(error: Error): AsyncGenerator<Uint8Array> {
    yield Buffer.from("data: 1\n\n");
    throw error;
  }
  expect(await collect(readEvents(broken(new TypeError("terminated"))))).toHaveLength(1);
  await expect(collect(readEvents(broken(new RangeError("a bug"))))).rejects.toThrow("a bug");
});
