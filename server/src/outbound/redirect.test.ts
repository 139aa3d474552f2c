import { describe, expect, it } from "vitest";
import { OutboundRefused } from "./errors.ts";
import { get } from "./loopback.testsuite.ts";
import { redirected } from "./redirect.ts";
import { checkRequest, type CheckedRequest } from "./request.ts";

const headers = {
  authorization: "Bearer x",
  cookie: "a=b",
  "idempotency-key": "k",
  "x-api-key": "k",
  "content-type": "application/json",
  accept: "application/json",
};
const post = checkRequest(get("https://a.example/x/y", { method: "POST", headers, body: "{}" }));

const follow = (status: number, location: string, request: CheckedRequest = post): CheckedRequest | undefined =>
  redirected(request, { status, headers: { location } });

describe("a redirect", () => {
  it.each([301, 302, 303])("%i turns POST into GET without body", (status) => {
    const next = follow(status, "z")!;
    expect([next.method, next.body, next.url.href]).toEqual(["GET", undefined, "https://a.example/x/z"]);
    expect(next.headers).toMatchObject({ authorization: "Bearer x", "idempotency-key": "k" });
    expect(next.headers).not.toHaveProperty("content-type");
  });

  it.each([307, 308])("%i keeps method, body and, on the same origin, all headers", (status) => {
    expect(follow(status, "/z")).toEqual({ ...post, url: new URL("https://a.example/z") });
  });

  it.each([301, 302, 307])("%i keeps PUT", (status) =>
    expect(follow(status, "/z", { ...post, method: "PUT" })?.method).toBe("PUT"),
  );

  it("303 keeps HEAD", () => expect(follow(303, "/z", { ...post, method: "HEAD" })?.method).toBe("HEAD"));

  it.each(["https://b.example/", "https://a.example:8443/", "//b.example/"])(
    "to %s takes no credential along",
    (location) => {
      const next = follow(308, location)!;
      expect(Object.keys(next.headers).toSorted()).toEqual(["accept", "accept-encoding", "content-type", "user-agent"]);
      expect(next.body).toBe("{}");
    },
  );

  it("to another origin takes nothing with a secret along: no header, even a harmless one, and no body", () => {
    const confidential = { url: false, headers: new Set(["accept", "x-api-key", "content-type"]), body: true };
    const secretly = { ...post, confidential };
    expect(follow(308, "/z", secretly)).toEqual({ ...secretly, url: new URL("https://a.example/z") });
    expect(() => follow(307, "https://b.example/", secretly)).toThrow(
      "the redirect that https://a.example answered is refused: it leads to another origin, which must not get the secret in the body",
    );
    const next = follow(302, "https://b.example/", secretly)!;
    expect([next.method, next.body, Object.keys(next.headers).toSorted()]).toEqual([
      "GET",
      undefined,
      ["accept-encoding", "user-agent"],
    ]);
    // And none comes back with a redirect to where it was.
    expect(follow(307, "https://a.example/", next)!.headers).not.toHaveProperty("x-api-key");
    const inHeader = { ...secretly, confidential: { ...confidential, body: false } };
    expect(follow(307, "https://b.example/", inHeader)).toMatchObject({ body: "{}" });
    expect(follow(307, "https://b.example/", inHeader)!.headers).not.toHaveProperty("accept");
  });

  it.each(["http://a.example/", "file:///etc/passwd", "https://u:p@a.example/", "gopher://a.example/"])(
    "to %s is refused",
    (location) => expect(() => follow(302, location)).toThrow(OutboundRefused),
  );

  it("says nothing of what it led to, which may be a credential", () =>
    expect(() => follow(302, "s3cret-token:x")).toThrow(
      /^the redirect that https:\/\/a\.example answered is refused: only http and https can be called$/,
    ));

  it("may lead from http to http and to https", () => {
    const plain = { ...post, url: new URL("http://a.example/") };
    expect(follow(302, "http://b.example/", plain)?.url.href).toBe("http://b.example/");
    expect(follow(302, "https://b.example/#part", plain)?.url.href).toBe("https://b.example/");
  });

  it("to no valid URL is an error of the other side", () => {
    expect(() => follow(302, "http://[")).toThrow(expect.objectContaining({ kind: "network" }));
  });

  it.each([200, 300, 304, 305])("%i is none", (status) => expect(follow(status, "/z")).toBeUndefined());

  it("without Location is none", () => expect(redirected(post, { status: 302, headers: {} })).toBeUndefined());
});
