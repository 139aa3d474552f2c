/** Answers that are left before their body ends, because what has come is enough. */
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { get, LOOPBACK, outboundTo, serve, textOf, waitFor } from "./loopback.testsuite.ts";
import type { Outbound } from "./outbound.ts";

let outbound: Outbound & AsyncDisposable;
beforeEach(() => {
  outbound = outboundTo(LOOPBACK);
});
afterEach(() => outbound[Symbol.asyncDispose]());

it("what came while it was asked is asked about too, and the connection is closed", async () => {
  let more = (): void => {};
  await using server = await serve((_request, response) => {
    response.write("a");
    more = () => void response.write("b");
  });
  const asked: string[] = [];
  const isEnough =
    () =>
    async ({ body }: { body: Buffer }) => {
      asked.push(textOf(body));
      if (asked.length > 1) return true;
      more();
      // Until it is there: nothing else tells.
      await new Promise((resolve) => setTimeout(resolve, 100));
      return false;
    };
  const { body } = await outbound.request(get(server.url, { isEnough }));
  expect(textOf(body)).toBe("ab");
  expect(asked).toEqual(["a", "ab"]);
  await waitFor(() => expect(server.open()).toBe(0));
});

it("an answer that ends while it is asked is whole, and its connection serves the next", async () => {
  let end = (): void => {};
  await using server = await serve((request, response) => {
    if (request.url === "/next") return void response.end("next");
    response.write("a");
    end = () => void response.end();
  });
  let release = (_isEnough: boolean): void => {};
  const isEnough = () => (): Promise<boolean> => {
    end();
    return new Promise((resolve) => (release = resolve));
  };
  expect(textOf((await outbound.request(get(server.url, { isEnough }))).body)).toBe("a");
  // The socket is free in the tick after.
  await new Promise(setImmediate);
  const next = outbound.request(get(`${server.url}/next`));
  release(true);
  expect(textOf((await next).body)).toBe("next");
  expect(server.connections).toHaveLength(1);
});

it("a packed answer is read to its end", async () => {
  await using server = await serve((_request, response) => {
    const packed = gzipSync("whole");
    response.writeHead(200, { "content-encoding": "gzip" }).write(packed.subarray(0, 12));
    setTimeout(() => response.end(packed.subarray(12)), 400);
  });
  const { body } = await outbound.request(get(server.url, { isEnough: () => async () => true }));
  expect(textOf(body)).toBe("whole");
});
