/**
 * The only way to a socket. Looks the name up once, judges every address of the answer, and lets the system connect to
 * exactly one of those that passed: a name that changes its answer afterwards changes nothing.
 */
import type { LookupAddress } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { callbackify } from "node:util";
import type { buildConnector } from "undici";
import type { OrganizationId } from "../lib/ids.ts";
import { Slots } from "../fairness/slots.ts";
import { OutboundRefused, type RefusedAddress } from "./errors.ts";
import type { Guard } from "./guard.ts";

/** All addresses of a name. */
export type Lookup = (name: string) => Promise<string[]>;

export const lookupBySystem: Lookup = async (name) =>
  (await systemLookup(name, { all: true })).map(({ address }) => address);

/** The system's look-ups may use half of the threads of Node's pool (tools/commands.js sets the number). */
const LOOKUPS = 8;
/** One organization's share: slow names of three organizations leave some for others. */
const MAX_SHARE = 0.25;

/** The same look-up, with organizations taking turns. */
export function inTurns(lookup: Lookup, timeoutMs: number): (organizationId: OrganizationId) => Lookup {
  const slots = new Slots(LOOKUPS, MAX_SHARE);
  return (organizationId) => async (name) => {
    // After this time nobody waits for the answer.
    const hasSlot = slots.tryTake(organizationId) || (await slots.take(organizationId, AbortSignal.timeout(timeoutMs)));
    if (!hasSlot) throw Object.assign(new Error("not looked up in time"), { code: "ETIMEDOUT" });
    try {
      return await lookup(name);
    } finally {
      slots.release(organizationId);
    }
  };
}

type ConnectOptions = {
  guard: Guard;
  lookup: Lookup;
  timeoutMs: number;
  /** Called with 1 when a socket connects, with -1 when it closes. */
  count(change: 1 | -1): void;
};

export function guardedConnector(build: typeof buildConnector, options: ConnectOptions): buildConnector.connector {
  const { lookup, timeoutMs, count } = options;
  const resolve = async (name: string): Promise<string[]> => permitted(options, name, await lookup(name));
  const connect = build({ lookup: asNodeLookup(resolve), timeout: timeoutMs, allowH2: false });
  return (target, callback) => {
    try {
      // Node looks up names only.
      if (isIP(target.hostname) !== 0) permitted(options, target.hostname, [target.hostname]);
    } catch (error) {
      // undici does not expect the callback before this returns.
      process.nextTick(callback, error, null);
      return;
    }
    connect(target, (...result) => {
      if (result[1]) {
        count(1);
        result[1].once("close", () => count(-1));
      }
      callback(...result);
    });
  };
}

/** The addresses that may be called; throws OutboundRefused if there are none. */
function permitted({ guard }: ConnectOptions, host: string, addresses: string[]): string[] {
  const judged = addresses.map((address) => ({ address, reason: guard(address) }));
  const passed = judged.filter(({ reason }) => reason === undefined);
  const refused = judged.find(({ reason }) => reason !== undefined);
  if (passed.length > 0 || !refused) return passed.map(({ address }) => address);
  throw refusalOf({ host, address: refused.address, reason: refused.reason! });
}

/** Names the kind of address, not the address: refusals must not show authors a map of the inner network. */
function refusalOf(refused: RefusedAddress): OutboundRefused {
  const { host, reason } = refused;
  const what = isIP(host) === 0 ? `${host} resolves to ${reason}` : `${host} is ${reason}`;
  const message = `the call is refused: ${what} (the operator can permit addresses with OUTBOUND_ALLOW)`;
  return new OutboundRefused(message, refused);
}

function asNodeLookup(resolve: Lookup): LookupFunction {
  const resolveName = callbackify(resolve);
  return (name, options, callback) =>
    resolveName(name, (error, addresses) => {
      const first = error ? undefined : addresses[0];
      if (error) callback(error, "");
      else if (first === undefined) callback(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), "");
      else if (options.all) callback(null, addresses.map(withFamily));
      else callback(null, first, isIP(first));
    });
}

const withFamily = (address: string): LookupAddress => ({ address, family: isIP(address) });
