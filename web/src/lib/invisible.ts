/**
 * Characters that nobody sees, or that turn the direction of a text: a model reads them. Those that lay out lines stay, and those that
 * belong to an emoji.
 */
const INVISIBLE =
  /(?![\t\n]|\r\n|(?<=\p{Extended_Pictographic})\ufe0f|(?<=[\d#*])\ufe0f(?=\u20e3)|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

export const hasInvisible = (text: string): boolean => text.search(INVISIBLE) >= 0;

/** Shows such characters by their numbers. */
export const showInvisible = (text: string): string =>
  text.replaceAll(INVISIBLE, (sign) => `\\u{${sign.codePointAt(0)!.toString(16)}}`);

/** Writes such characters in a JSON text by their numbers, as JSON does: its value stays the same. */
export const showInvisibleInJson = (json: string): string =>
  json.replaceAll(INVISIBLE, (sign) =>
    Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
