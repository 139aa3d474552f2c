/** A reader of a subscription over Server-Sent Events that stalls. */
import { once } from "node:events";
import net from "node:net";
import { eventually, type TestServer } from "./client.ts";

/**
 * Reads the beginning of the answer, and then nothing until `rest`, which has all that came. One that takes nothing at all for 20 s is
 * cut: where what comes meanwhile may take longer, `take` reads some 64 kB.
 */
export async function stalledReader({ url }: Pick<TestServer, "url">, query: string, apiKey: string) {
  const body = JSON.stringify({ query });
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await once(socket, "readable");
  let text = "";
  return {
    take: () => void (text += String(socket.read() ?? "")),
    async rest(): Promise<string[]> {
      socket.on("data", (chunk) => (text += String(chunk)));
      await eventually(() => text.includes("event: complete"));
      socket.destroy();
      return text.split("\n").filter((line) => line.startsWith("data: {"));
    },
  };
}
