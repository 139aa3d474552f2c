/** A key that nobody else has: browsers have `crypto.randomUUID` on https and loopback alone. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
