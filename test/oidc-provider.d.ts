/** The part of oidc-provider that the tests use. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  type Context = {
    body: unknown;
    req: { url?: string };
    oidc: { client: { clientId: string }; params: Record<string, string | undefined> };
  };
  type Kept = { save(): Promise<string>; addOIDCScope(scope: string): void };
  type Made<Fields> = new (fields: Fields) => Kept;

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    on(event: string, listener: (...all: any[]) => void): void;
    registerGrantType(
      name: string,
      handler: (context: any, next: () => Promise<void>) => Promise<void>,
      parameters: string[],
    ): void;
    Client: { find(id: string): Promise<object> };
    Grant: Made<{ accountId: string; clientId: string }>;
    RefreshToken: Made<object> & { find(token: string): Promise<{ destroy(): Promise<void> } | undefined> };
    AccessToken: Made<object> & { find(token: string): Promise<{ clientId: string; scope?: string } | undefined> };
    ClientCredentials: Made<object> & {
      find(token: string): Promise<{ clientId: string; scope?: string; destroy(): Promise<void> } | undefined>;
    };
  }
}
