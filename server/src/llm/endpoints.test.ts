import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import type { Connection } from "./connection.ts";
import { connectionOf } from "./connection.testsuite.ts";
import { Endpoints } from "./endpoints.ts";

const own: OrganizationId = newId<"organization">();
const connection = connectionOf({ id: newId(), apiKey: "one" });
const narrow = (concurrency: number): Connection => ({
  ...connection,
  limits: { concurrency, tokensPerDay: null, costPerDay: null },
});

test("an endpoint that refused to stream, or wants a pause, is remembered until its address or key changes", () => {
  const endpoints = new Endpoints(testClock());
  const endpoint = endpoints.of(connection);
  endpoint.isWhole = true;
  endpoint.pause.read({ status: 429, headers: {} });
  expect(endpoints.of({ ...connection, model: "large" })).toMatchObject({ isWhole: true });
  const changed = endpoints.of({ ...connection, apiKey: "two" });
  expect(changed.isWhole).toBe(false);
  expect(changed.pause.heldUntil()).toBeUndefined();
});

test("a changed limit holds for the next call; calls under way give back the slots that they took", () => {
  const endpoints = new Endpoints(testClock());
  const before = endpoints.of(narrow(1)).slots;
  expect(before.tryTake(own)).toBe(true);
  expect(endpoints.of(narrow(1)).slots.tryTake(own)).toBe(false);
  const { slots } = endpoints.of(narrow(2));
  expect([slots.tryTake(own), slots.tryTake(own), slots.tryTake(own)]).toEqual([true, true, false]);
  before.release(own);
  expect(slots.free).toBe(0);
});

test("a connection that is asked is kept; another is forgotten once a thousand others were asked after it", () => {
  const endpoints = new Endpoints(testClock());
  const endpoint = endpoints.of(connection);
  const askOthers = (): void => {
    for (let count = 0; count < 1_000; count++) endpoints.of({ ...connection, id: newId<"modelConnection">() });
  };
  const calls = [endpoints.use(connection, endpoint), endpoints.use(connection, endpoint)];
  calls[0]![Symbol.dispose]();
  askOthers();
  expect(endpoints.of(connection)).toBe(endpoint);
  calls[1]![Symbol.dispose]();
  expect(endpoints.of(connection)).toBe(endpoint);
  askOthers();
  expect(endpoints.of(connection)).not.toBe(endpoint);
});
