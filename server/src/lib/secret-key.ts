/** How an installation's secret key is written, in `SECRET_KEY` and in its file. */

export const SECRET_KEY_BYTES = 32;

/** 32 bytes as 64 hex digits, base64 or base64url; undefined for anything else. */
export function parseSecretKey(text: string): Buffer | undefined {
  const tidy = text.trim();
  if (/^[0-9a-f]{64}$/i.test(tidy)) return Buffer.from(tidy, "hex");
  if (!/^[\w+/-]{43}=?$/.test(tidy)) return undefined;
  const bytes = Buffer.from(tidy, "base64url");
  return bytes.length === SECRET_KEY_BYTES ? bytes : undefined;
}
