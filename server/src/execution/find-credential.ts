/**
 * Recognises a credential in what a service answers, as it was sent or as JSON, a URL, a form or HTML have it. Not by one
 * pattern: of a token of 10,000 characters the engine refuses to make one, after up to a second of the thread.
 */

/**
 * Whoever has the beginning of a credential has recognised it: so many characters are hidden whatever follows. With all of
 * it compared at each place, a text that only nearly repeats it would cost its length squared.
 */
export const ENOUGH = 32;

/** So many bytes of a text are enough to recognise what begins before them: the longest usual encoding of a character has 12. */
export const ENOUGH_BYTES = 32 * ENOUGH;

/** Where a character of the credential ends in the text, if it is there at `at`. */
type Encoding = (text: string, at: number, character: string) => number | undefined;

/** How many characters of the text at `at` are the credential in any encoding; 0: none. */
export const credentialAt = (text: string, at: number, credential: string): number =>
  Math.max(...ENCODINGS.map((encoding) => lengthIn(encoding, text, at, credential)));

/** Whether a text can have a credential, encoded, where it has this character. */
export const beginsEncoded = (character: string): boolean => "\\%+&".includes(character);

function lengthIn(encoding: Encoding, text: string, from: number, credential: string): number {
  let at = from;
  let found = 0;
  for (const character of credential) {
    const end = encoding(text, at, character);
    if (end === undefined) return found < ENOUGH ? 0 : at - from;
    at = end;
    found++;
  }
  return at - from;
}

const plain: Encoding = (text, at, character) => (text.startsWith(character, at) ? at + character.length : undefined);

/** JSON as a text within JSON, three times over. */
const MOST_BACKSLASHES = 15;

/** `\"`, `\/`, `\u00e9`, and within a text of JSON again: `\\\"`. A backslash itself is two. */
const json: Encoding = (text, at, character) => {
  if (text[at] !== "\\") return plain(text, at, character);
  if (character === "\\") return text[at + 1] === "\\" ? at + 2 : undefined;
  let end = at;
  while (text[end] === "\\" && end < at + MOST_BACKSLASHES) end++;
  const short = CONTROLS.get(character) ?? character;
  if (text.startsWith(short, end)) return end + short.length;
  if (text[end] !== "u") return undefined;
  const units = Array.from({ length: character.length }, (_, index) => hex(character.charCodeAt(index), 4));
  return anyCase(text, end, units.map((unit) => `u${unit}`).join("\\"));
};

const CONTROLS = new Map(Object.entries({ "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t" }));

/** Of a URL or a form, in which a space is `+`. */
const percent: Encoding = (text, at, character) => {
  if (text[at] === "+" && character === " ") return at + 1;
  if (text[at] !== "%") return plain(text, at, character);
  return anyCase(text, at, [...Buffer.from(character)].map((byte) => `%${hex(byte, 2)}`).join(""));
};

const REFERENCE = /&(?:#0*(\d{1,7})|#x0*([\da-f]{1,6})|(amp|lt|gt|quot|apos));/iy;
const NAMED = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }));

const html: Encoding = (text, at, character) => {
  if (text[at] !== "&") return plain(text, at, character);
  REFERENCE.lastIndex = at;
  const [whole, decimal, hexadecimal, name] = REFERENCE.exec(text) ?? [];
  if (whole === undefined) return undefined;
  if (name) return NAMED.get(name.toLowerCase()) === character ? at + whole.length : undefined;
  const code = decimal ? Number(decimal) : Number.parseInt(hexadecimal!, 16);
  return code === character.codePointAt(0) ? at + whole.length : undefined;
};

const ENCODINGS = [plain, json, percent, html];

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");

function anyCase(text: string, at: number, wanted: string): number | undefined {
  const end = at + wanted.length;
  return text.slice(at, end).toLowerCase() === wanted ? end : undefined;
}
