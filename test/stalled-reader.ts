/** A reader of a subscription over Server-Sent Events that stalls. */
import { once } from "node:events";
import net from "node:net";
import { eventually, type TestServer } from "./client.ts";

/** A reader for whom a piece waits for 20 s (`readerSeconds`) is cut off, and the system's buffers take the next one only when some of this is read. */
const TAKEN = { everyMs: 8_000, bytes: 1024 * 1024 };

/** Reads the beginning of the answer, then as little as keeps the server from cutting it off until `rest`, which has all that came. */
export async function stalledReader({ url }: Pick<TestServer, "url">, query: string, apiKey: string) {
  const body = JSON.stringify({ query });
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  let text = "";
  let wanted = 1;
  socket.on("data", (chunk) => {
    text += String(chunk);
    wanted -= chunk.length;
    if (wanted <= 0) socket.pause();
  });
  const take = (bytes: number): void => {
    wanted = bytes;
    socket.resume();
  };
  await once(socket, "data");
  const taking = setInterval(take, TAKEN.everyMs, TAKEN.bytes).unref();
  return {
    async rest(): Promise<string[]> {
      clearInterval(taking);
      take(Infinity);
      await eventually(() => text.includes("event: complete"));
      socket.destroy();
      return text.split("\n").filter((line) => line.startsWith("data: {"));
    },
  };
}
