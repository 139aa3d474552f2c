/** The public keys of access tokens, for anyone who checks tokens without asking this server (RFC 7517). */
import type { AccessTokens } from "./access-token.ts";
import type { SigningKeys } from "./signing-keys.ts";

type KeySet = {
  /** `iss` and `aud` of the tokens. */
  issuer: string;
  keys: { kty: string; crv: string; x: string; kid: string; use: "sig"; alg: "EdDSA" }[];
};

type Signing = { accessTokens: AccessTokens; signingKeys: SigningKeys };

export async function publicKeys({ accessTokens: { issuer }, signingKeys }: Signing): Promise<KeySet> {
  const keys = await signingKeys.inUse();
  return {
    issuer,
    keys: keys.map((key) => {
      const { kty, crv, x } = key.public.export({ format: "jwk" });
      return { kty: kty!, crv: crv!, x: x!, kid: key.id, use: "sig", alg: "EdDSA" };
    }),
  };
}
