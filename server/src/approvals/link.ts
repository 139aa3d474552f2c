/** The link in a mail: it decides one approval as one person, until the question closes. */
import type { LinkKind } from "../members/link-token.ts";
import type { Approvals } from "./approvals.ts";

export const linksOf = ({ linkKey }: Approvals): LinkKind => ({ prefix: "apl_", key: linkKey });

/** The token is in the fragment, which browsers keep to themselves: no server, proxy or preview is sent it. */
export const linkOf = ({ url }: Approvals, token: string): string => `${url}/#approval=${token}`;
