/** A request to the API as a command for a POSIX shell. `token`: as it stands between double quotes, so a variable is one. */
export const curlOf = (url: string, token: string, body: object): string =>
  [
    `curl ${quoted(url)}`,
    `-H "Authorization: Bearer ${token}"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(" \\\n  ");

/** Quotes any text as one word of a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
