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

  /** Of browsers before 2025 Firefox and Safari lack `rawJSON`: there it is sent as a text, which a form refuses. */
  toJSON(): unknown {
    const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => unknown };
    return rawJSON ? rawJSON(this.text) : this.text;
  }
}

/** Digits without zeros at either end, and the place of the point: what makes two spellings one number. */
function decimalOf(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^([-+]?)(\d*)\.?(\d*)(?:e([-+]?\d+))?$/i.exec(text) ?? [];
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
