// One message after the other to each thing, so that an answer comes before the notification that
// it causes, and notifications in the order in which things happened.

export class Delivery {
  readonly #last = new Map<string, Promise<void>>();

  /** Sends when all before it to the same thing have been sent. What fails is for `send` to tell. */
  bring(thing: string, send: () => Promise<void>): void {
    const sent = (this.#last.get(thing) ?? Promise.resolve()).then(send).catch(() => {});
    this.#last.set(thing, sent);
    void sent.then(() => {
      if (this.#last.get(thing) === sent) this.#last.delete(thing);
    });
  }
}
