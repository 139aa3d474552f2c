/** Who subscribes to what within this process. Delivery is a call: listeners must be quick and must not throw. */
export class Hub<Message> {
  readonly #listeners = new Map<string, Set<(message: Message) => void>>();

  subscribe(topic: string, listener: (message: Message) => void): Disposable {
    let listeners = this.#listeners.get(topic);
    if (!listeners) this.#listeners.set(topic, (listeners = new Set()));
    listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        if (listeners.delete(listener) && listeners.size === 0) this.#listeners.delete(topic);
      },
    };
  }

  publish(topic: string, message: Message): void {
    const listeners = this.#listeners.get(topic);
    if (listeners) for (const listener of listeners) listener(message);
  }

  /** Whether anybody listens, so that a message is worth making. */
  hasListeners(topic: string): boolean {
    return this.#listeners.has(topic);
  }

  /** Topics that somebody listens to, for a notice that came from another process. */
  topics(): Iterable<string> {
    return this.#listeners.keys();
  }
}
