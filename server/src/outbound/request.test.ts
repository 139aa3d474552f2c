import { describe, expect, it } from "vitest";
import { OutboundError, OutboundRefused } from "./errors.ts";
import { get, SECRET } from "./loopback.testsuite.ts";
import { checkRequest, checkUrl } from "./request.ts";

const thrownBy = (action: () => unknown): OutboundError => {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(OutboundError);
    expect((error as Error).message).not.toContain(SECRET);
    return error as OutboundError;
  }
  throw new Error("nothing was thrown");
};

describe("the address of a call", () => {
  it.each([
    "2130706433",
    "0x7f000001",
    "0x7F.0.0.1",
    "017700000001",
    "0177.0.0.01",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "127%2e0%2e0%2e1",
    "①②⑦.⓪.⓪.①",
    "１２７.０.０.１",
    "127。0。0。1",
    "127.0.\t0.1",
  ])("%s is 127.0.0.1 before anybody looks at it", (host) => {
    expect(checkUrl(`http://${host}/`).hostname).toBe("127.0.0.1");
  });

  it.each([
    ["http://public.example#@127.0.0.1/", "public.example"],
    ["http://public.example?@127.0.0.1/", "public.example"],
    ["http://public.example\\@127.0.0.1/", "public.example"],
    ["http:\\\\127.0.0.1\\", "127.0.0.1"],
    ["http:127.0.0.1", "127.0.0.1"],
    ["  http://127.0.0.1  ", "127.0.0.1"],
  ])("%s calls %s", (url, host) => expect(checkUrl(url).hostname).toBe(host));

  it.each([
    `http://user:${SECRET}@example.com/`,
    `http://${SECRET}@example.com/`,
    `http://:${SECRET}@example.com/`,
    `http://example.com:80@127.0.0.1/`,
    `http://example.com%40@127.0.0.1/`,
  ])("%s is refused for its user name or password", (url) => {
    const error = thrownBy(() => checkUrl(url));
    expect(error).toBeInstanceOf(OutboundRefused);
    expect(error.message).toContain("user name or password");
  });

  it.each([
    "file:///etc/passwd",
    "ftp://h/",
    "gopher://h:70/_x",
    "data:,x",
    "ws://h/",
    "javascript:1",
    "unix:/run/x",
    "blob:http://h/1",
  ])("%s is refused for its scheme", (url) =>
    expect(thrownBy(() => checkUrl(url)).message).toContain("only http and https"),
  );

  it("names the scheme, but not that of a URL with a secret, of which it may be a part", () => {
    expect(thrownBy(() => checkUrl("user:key")).message).toMatch(/, not user:$/);
    expect(thrownBy(() => checkUrl("user:key", { isSecret: true })).message).toMatch(/https can be called$/);
  });

  it.each([
    "",
    "example.com",
    "http://",
    "http://[::1",
    "http://a b/",
    "http://1.2.3.4.5.6/",
    "http://256.1.1.1/",
    "http://h:65536/",
  ])("%s is no URL", (url) => expect(thrownBy(() => checkUrl(url)).kind).toBe("bad_request"));
});

describe("method and headers", () => {
  it("are sent in upper case and by names in lower case", () => {
    const checked = checkRequest(get("http://h/a?b#c", { method: "post", headers: { Accept: "text/plain" } }));
    expect(checked.method).toBe("POST");
    expect(checked.url.href).toBe("http://h/a?b");
    expect(checked.headers).toEqual({ accept: "text/plain", "accept-encoding": "gzip, br", "user-agent": "autograph" });
  });

  it.each(["CONNECT", "trace", "TRACK", "", "GET /", "GE T", "G\r\nX: y"])("%j is no method to send", (method) =>
    expect(thrownBy(() => checkRequest(get("http://h/", { method }))).kind).toBe("bad_request"),
  );

  it.each(["Host", "content-length", "Transfer-Encoding", "connection", "Expect", "upgrade", "TE"])(
    "%s can't be set",
    (name) =>
      expect(thrownBy(() => checkRequest(get("http://h/", { headers: { [name]: SECRET } }))).message).toContain(
        "can't be set",
      ),
  );

  it.each([`${SECRET}\r\nX-More: 1`, `${SECRET}\n`, `${SECRET}\0`, `${SECRET}\u{1f600}`])(
    "%j is no header value",
    (value) => {
      const error = thrownBy(() => checkRequest(get("http://h/", { headers: { "x-a": value } })));
      expect([error.kind, error.message]).toEqual(["bad_request", expect.stringContaining("x-a")]);
    },
  );

  it.each(["", "a b", "a:", "ä", "x\r\ny"])("%j is no header name", (name) =>
    expect(thrownBy(() => checkRequest(get("http://h/", { headers: { [name]: "1" } }))).kind).toBe("bad_request"),
  );
});
