/** Begins a text that stands for a number. It is random, so no other text begins with it. */
export const MARK = Array.from(crypto.getRandomValues(new Uint32Array(3)), (part) => part.toString(36)).join("");

/** A number that a double can't hold (docs/definitions.md, "Numbers"), as the server wrote it: shown and sent again with all its digits. */
export class ExactNumber {
  /** A JSON number. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  /**
   * `JSON.stringify` names the key. urql writes requests by itself, and does not: `unmarked` makes its text the number. In Firefox and
   * Safari of before 2025 JSON has no `rawJSON`, and the number is written as a text.
   */
  toJSON(key?: string): unknown {
    if (key === undefined) return MARK + this.text;
    const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => unknown };
    return rawJSON ? rawJSON(this.text) : this.text;
  }
}

/** Digits without zeros at either end, and the place of the point: what makes two spellings one number. */
function decimalOf(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^([-+]?)(\d*)(?:\.(\d*))?(?:e([-+]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const size = Number(exponent) + whole.length - (whole.length + fraction.length - digits.length);
  const kept = digits.replace(/(?<=[1-9])0+$/, "");
  return `${sign === "-" ? "-" : ""}${kept}e${kept === "" ? 0 : size}`;
}

/** The number that a decimal text stands for: a double if one gives the same decimal back. NaN if it is none. */
export function numberOf(text: string): number | ExactNumber {
  const value = Number(text);
  if (Number.isNaN(value) || String(value) === text || decimalOf(String(value)) === decimalOf(text)) return value;
  return /^-?(0|[1-9]\d*)(\.\d+)?(e[-+]?\d+)?$/i.test(text) ? new ExactNumber(text) : value;
}
