/** A pool that counts how long who asks waits for a connection, their turn included, and how long statements take. */
import type pg from "pg";
import { Histogram } from "../lib/figures.ts";
import { UnderWay } from "../lib/under-way.ts";

export class MeasuredPool {
  readonly pool: pg.Pool;
  readonly waitSeconds = Histogram.ofSeconds();
  /** The time of a statement, or of a transaction as a whole. */
  readonly querySeconds = Histogram.ofSeconds();
  /** Counts from the request for a connection until it is given back. */
  readonly #underWay = new UnderWay();
  #waiting = 0;

  constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get connections(): { in_use: number; idle: number } {
    const { totalCount, idleCount } = this.pool;
    return { in_use: totalCount - idleCount, idle: idleCount };
  }

  /** Somebody waits from now on: returns what `connect` is given, which must be called for each. */
  ask(): number {
    this.#waiting++;
    this.#underWay.begin();
    return performance.now();
  }

  async connect(askedAt: number): Promise<pg.PoolClient> {
    try {
      return this.#countedOut(await this.pool.connect());
    } catch (error) {
      this.#underWay.end();
      throw error;
    } finally {
      this.#waiting--;
      this.waitSeconds.since(askedAt);
    }
  }

  /** Not by the pool's event `release`, which also comes for a connection that is too old and for who waits no longer. */
  #countedOut(client: pg.PoolClient): pg.PoolClient {
    const give = client.release;
    client.release = (error) => {
      // To give it back twice is still the pool's to refuse.
      client.release = give;
      this.#underWay.end();
      give(error);
    };
    return client;
  }

  /** Ends it once everybody has given back what they asked for. The caller lets nobody ask from now on. */
  async close(): Promise<void> {
    await this.#underWay.ended();
    await this.pool.end();
  }
}
