/** The nonce of this answer's Content-Security-Policy: styles that a script makes carry it. */
export const pageNonce = (): string => document.querySelector<HTMLElement>("script[nonce]")?.nonce ?? "";
