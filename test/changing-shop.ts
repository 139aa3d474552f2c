/** An MCP server on loopback that describes its tools as a test says. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type DescribedTool = {
  name: string;
  description?: string;
  inputSchema?: object;
  annotations?: object;
};

export type ChangingShop = {
  url: string;
  /** The next list. */
  tools: () => DescribedTool[];
  /** A list is answered once this resolves. */
  hold: Promise<void> | undefined;
  /** The lists that were asked for, and the arguments of each call. */
  lists: number;
  calls: object[];
} & AsyncDisposable;

export const PRICE: DescribedTool = {
  name: "price",
  description: "A price.",
  inputSchema: { type: "object", properties: { id: { type: "string" }, day: { type: "string" } } },
};

export async function startChangingShop(): Promise<ChangingShop> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id, method, params } = JSON.parse(await text(request));
    let result: object = { content: [{ type: "text", text: "It costs 5." }] };
    if (method === "tools/list") {
      shop.lists++;
      await shop.hold;
      result = { tools: shop.tools() };
    } else shop.calls.push(params.arguments);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } }));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const shop: ChangingShop = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    tools: () => [PRICE],
    hold: undefined,
    lists: 0,
    calls: [],
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
  return shop;
}
