/**
 * How a text that nobody may read lies in the database: a compact JWE (RFC 7516), encrypted directly with AES-256-GCM. The header names
 * the key (`kid`) and the text's owner (`sub`), and is authenticated: a text that was copied to another row by somebody who can
 * write to the database does not open there.
 */
import { compactDecrypt, CompactEncrypt } from "jose";

const ALGORITHM = { alg: "dir", enc: "A256GCM" } as const;

export const sealText = (text: string, subject: string, keyId: string, key: Buffer): Promise<string> =>
  new CompactEncrypt(Buffer.from(text)).setProtectedHeader({ ...ALGORITHM, kid: keyId, sub: subject }).encrypt(key);

/** Undefined: it was not sealed with this key, or not for this owner, or was changed. */
export async function openText(
  sealed: string,
  subject: string,
  keyOf: (keyId: unknown) => Buffer,
): Promise<string | undefined> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(sealed, ({ kid }) => keyOf(kid), {
      keyManagementAlgorithms: [ALGORITHM.alg],
      contentEncryptionAlgorithms: [ALGORITHM.enc],
    });
    return protectedHeader["sub"] === subject ? Buffer.from(plaintext).toString() : undefined;
  } catch {
    return undefined;
  }
}
