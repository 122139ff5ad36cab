// Sends the messages to each thing one after the other: an answer before the notification that it
// causes, and notifications in the order of the changes.

export class Delivery {
  readonly #last = new Map<string, Promise<void>>();

  /** Sends after all earlier messages to the thing. `send` reports its own failures. */
  enqueue(thing: string, send: () => Promise<void>): void {
    const sent = (this.#last.get(thing) ?? Promise.resolve()).then(send).catch(() => {});
    this.#last.set(thing, sent);
    void sent.then(() => {
      if (this.#last.get(thing) === sent) this.#last.delete(thing);
    });
  }
}
