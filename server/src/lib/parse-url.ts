/** A DNS name has 253 characters. Converting a name that is not ASCII takes quadratic time: 67 ms for 7,000 characters. */
const HOST_CHARACTERS = 1_000;

/** `URL.parse` for text from outside. Null: it is no URL, or its host is too long to be a name. */
export const parseUrl = (text: string, base?: string): URL | null =>
  hostLength(text) > HOST_CHARACTERS ? null : URL.parse(text, base);

/** The length of what a URL's parser may take for user, host and port together. */
function hostLength(text: string): number {
  const start = /^(?:[^:/?#\\]*:[/\\]*|[\s]*[/\\]{2,})/.exec(text)?.[0].length;
  if (start === undefined) return 0;
  const length = text.slice(start).search(/[/?#\\]/);
  return length < 0 ? text.length - start : length;
}
