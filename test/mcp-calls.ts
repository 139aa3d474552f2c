/** Runs of one `call: mcp`, and what a server of our own answers to them. */
import { expect } from "vitest";
import type { Data } from "./client.ts";
import type { Endpoint, EndpointAnswer } from "./endpoint.ts";
import { runOf } from "./runs.ts";

export const CALL = { method: "tools/call", parameters: { name: "price", arguments: { id: "7" } } };

export type With = { url?: string; transport?: object; [key: string]: unknown };

type Calls = {
  /** A task `ask`; `more` stands beside `with`. */
  task(given: With, more?: object): string;
  outputOf(given: With): Promise<Data>;
  errorOf(given: With, more?: object): Promise<Data>;
  /** A message to the endpoint, and the methods of all. */
  asked(index: number): Data;
  methods(): string[];
};

/** `places`: they are there when a test runs. */
export function callsTo(places: () => { server: Parameters<typeof runOf>[0]; endpoint: Endpoint }): Calls {
  const task = (
    { url = places().endpoint.url, transport = { http: { endpoint: url } }, ...given }: With,
    more = {},
  ): string => JSON.stringify({ ask: { call: "mcp", with: { transport, ...given }, ...more } });
  const asks = (given: With, more?: object): Promise<Data> =>
    runOf(places().server, `do: [${task(given, more)}]\noutput: {as: '\${ {it: .} }'}`);
  const outputOf = async (given: With): Promise<Data> => {
    const { output, error } = await asks(given);
    expect(error).toBe(null);
    return output.it;
  };
  const errorOf = async (given: With, more?: object): Promise<Data> => (await asks(given, more)).error;
  const asked = (index: number): Data => JSON.parse(places().endpoint.seen[index]!.body);
  const methods = (): string[] =>
    places().endpoint.seen.map(({ body }) => (body === "" ? "end" : JSON.parse(body).method));
  return { task, outputOf, errorOf, asked, methods };
}

export const typed = (type: string) => expect.stringMatching(new RegExp(`/${type}$`));

export const json = (body: unknown, status = 200, headers = {}): EndpointAnswer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});
export const result = (value: object): EndpointAnswer => json({ jsonrpc: "2.0", id: 1, result: value });
export const refusal = (code: unknown, message: string, status = 400, data?: object): EndpointAnswer =>
  json({ jsonrpc: "2.0", id: 1, error: { code, message, ...(data && { data }) } }, status);
