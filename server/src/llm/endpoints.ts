/** The state of the connections that are asked: the pause that an endpoint wants, and the slots of its limit. */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { LIMITS } from "../lib/limits.ts";
import { Slots } from "../fairness/slots.ts";
import type { Connection } from "./connection.ts";
import { Pause } from "./pause.ts";

/** Connections that nobody is asking now. */
const KEPT = 1_000;

const idOf = ({ id }: Pick<Connection, "id">): string => id ?? "own";

export class Endpoint {
  /** The endpoint and its caller: another address or key has no pause. */
  asked: string;
  pause: Pause;
  slots: Slots;
  concurrency: number;
  /** It refused to stream. */
  isWhole = false;
  /** Calls that have a slot or wait for one. */
  calls = 0;

  constructor(asked: string, pause: Pause, concurrency: number) {
    this.asked = asked;
    this.pause = pause;
    this.slots = new Slots(concurrency);
    this.concurrency = concurrency;
  }
}

export class Endpoints {
  readonly #clock: Clock;
  readonly #idle = new LRUCache<string, Endpoint>({ max: KEPT });
  /** None of these is forgotten: its slots are in use. */
  readonly #busy = new Map<string, Endpoint>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(connection: Connection): Endpoint {
    const { baseUrl, apiKey, apiKeyHeader, limits } = connection;
    const id = idOf(connection);
    const asked = `${baseUrl} ${apiKeyHeader} ${apiKey}`;
    const concurrency = limits?.concurrency ?? LIMITS.llmAtOnce;
    let endpoint = this.#busy.get(id) ?? this.#idle.get(id);
    if (!endpoint) this.#idle.set(id, (endpoint = new Endpoint(asked, new Pause(this.#clock), concurrency)));
    if (endpoint.asked !== asked) Object.assign(endpoint, { asked, isWhole: false, pause: new Pause(this.#clock) });
    // Calls that are under way give their slots back to the former ones.
    if (endpoint.concurrency !== concurrency) Object.assign(endpoint, { concurrency, slots: new Slots(concurrency) });
    return endpoint;
  }

  /** Keeps the connection's state until it is disposed. */
  use(connection: Connection, endpoint: Endpoint): Disposable {
    const id = idOf(connection);
    endpoint.calls++;
    this.#busy.set(id, endpoint);
    return {
      [Symbol.dispose]: () => {
        if (--endpoint.calls > 0) return;
        this.#busy.delete(id);
        this.#idle.set(id, endpoint);
      },
    };
  }
}
