/** Server-Sent Events (WHATWG HTML, "Interpreting an event stream"): the parts that a GraphQL subscription needs. */

export type ServerEvent = { event: string; data: string };

/** Ends when the body does; an event that was cut off is dropped. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  let event = "message";
  let data: string[] = [];
  for await (const line of readLines(body)) {
    if (line === "") {
      if (data.length > 0 || event !== "message") yield { event, data: data.join("\n") };
      event = "message";
      data = [];
      continue;
    }
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === "event") event = value ?? "";
    else if (field === "data") data.push(value ?? "");
  }
}

/** Lines end with LF or CRLF. What a cut connection left of a line is dropped. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  try {
    for await (const chunk of body) {
      const parts = decoder.decode(chunk, { stream: true }).split("\n");
      for (const part of parts.slice(0, -1)) {
        rest.push(part);
        yield rest.join("").replace(/\r$/, "");
        rest = [];
      }
      rest.push(parts.at(-1)!);
    }
  } catch (error) {
    // undici: the connection broke in the middle of the body. For the reader, the stream has ended.
    if (!(error instanceof TypeError)) throw error;
  }
}
