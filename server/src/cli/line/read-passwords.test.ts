import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { readPasswords } from "./read-passwords.ts";

/** A terminal at which `type` types. */
function terminal() {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const said: string[] = [];
  return { stdin, said, say: (text: string) => void said.push(text), type: (text: string) => void stdin.write(text) };
}

test("typed lines are returned one by one, with corrections, and never shown", async () => {
  const { stdin, said, say, type } = terminal();
  const reading = readPasswords(["One:", "Two:"], { stdin, say });
  type("fisrt\u007f\u007f\u007frst\r");
  await expect.poll(() => said).toEqual(["One:", "Two:"]);
  type("zweites Paßwort\r");
  expect(await reading).toEqual(["first", "zweites Paßwort"]);
  expect(said).toEqual(["One:", "Two:"]);
});

test.for([
  ["Ctrl-C", "\u0003"],
  ["Ctrl-D", "\u0004"],
])("%s ends the question", async ([, key]) => {
  const { stdin, say, type } = terminal();
  const reading = readPasswords(["One:"], { stdin, say });
  type(key!);
  await expect(reading).rejects.toThrow("no password was typed");
});

test("piped input is read up to the limit of a request", async () => {
  let pieces = 0;
  const endless = Readable.from(
    (function* () {
      for (;;) {
        pieces++;
        yield Buffer.alloc(64 * 1024, "a\n");
      }
    })(),
  );
  await expect(readPasswords(["One:"], { stdin: endless, say: () => {} })).rejects.toThrow();
  expect(pieces).toBeLessThan(100);
});
