/** A name in the DNS has 253 characters. To turn one of others than ASCII into it takes quadratic time: 67 ms for 7,000. */
const HOST_CHARACTERS = 1_000;

/** As `URL.parse`, of a text that others wrote. Null: it is no URL, or no host has such a name. */
export const parseUrl = (text: string, base?: string): URL | null =>
  hostLength(text) > HOST_CHARACTERS ? null : URL.parse(text, base);

/** What a URL's parser may take for user, host and port together. */
function hostLength(text: string): number {
  const start = /^(?:[^:/?#\\]*:[/\\]*|[\s]*[/\\]{2,})/.exec(text)?.[0].length;
  if (start === undefined) return 0;
  const length = text.slice(start).search(/[/?#\\]/);
  return length < 0 ? text.length - start : length;
}
