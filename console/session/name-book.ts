// Names of servers, projects and users. A screen shows ids at once, and names when they have come;
// ids that are asked for together share a request.

import type { Api } from '#console/api/client.ts';

export type NamedKind = 'servers' | 'projects' | 'users';

type Answer = Readonly<Record<NamedKind, Readonly<Record<string, string>>>>;

interface Entry {
  readonly kind: NamedKind;
  readonly id: string;
  readonly watchers: Set<(name: string | undefined) => void>;
  name?: string | undefined;
  /** Not asked for again before; also an id without a name. */
  untilMs: number;
}

interface Clock {
  readonly now: () => number;
  readonly after: (ms: number, run: () => void) => void;
}

const browserClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => void setTimeout(run, ms),
};

const gatherMs = 100;
/** The API takes as many. */
const idsMax = 50;
/** Ids that wait: what a screen shows beyond that stays an id. */
const waitingMax = 200;
const keptMs = 5 * 60_000;
const keptMax = 2000;

export class NameBook {
  readonly #api: Pick<Api, 'ask'>;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  #waiting: Entry[] = [];
  #isAsking = false;

  constructor(api: Pick<Api, 'ask'>, clock = browserClock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** Calls with the name once it is known; the result ends that. */
  watch(kind: NamedKind, id: string, onName: (name: string | undefined) => void): () => void {
    const entry = this.#entry(kind, id);
    entry.watchers.add(onName);
    if (entry.name !== undefined) onName(entry.name);
    if (entry.untilMs <= this.#clock.now() && this.#waiting.length < waitingMax) {
      entry.untilMs = this.#clock.now() + keptMs;
      this.#waiting.push(entry);
      this.#askSoon();
    }
    return () => void entry.watchers.delete(onName);
  }

  #entry(kind: NamedKind, id: string): Entry {
    const key = `${kind} ${id}`;
    const entry = this.#entries.get(key) ?? { kind, id, watchers: new Set(), untilMs: 0 };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > keptMax && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  #askSoon(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#clock.after(gatherMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    const batch = this.#waiting.splice(0, idsMax);
    const idsOf = (kind: NamedKind) =>
      batch.filter((entry) => entry.kind === kind).map(({ id }) => id);
    const query = Object.fromEntries(
      (['servers', 'projects', 'users'] as const).map((kind) => [
        kind,
        idsOf(kind).join(',') || undefined,
      ]),
    );
    try {
      const answer = await this.#api.ask<Answer>('GET', '/operator/v1/names', { query });
      for (const entry of batch) {
        entry.name = answer[entry.kind]?.[entry.id];
        for (const watcher of entry.watchers) watcher(entry.name);
      }
    } catch {
      // The ids stay, and other screens say that the API is away.
    }
    this.#isAsking = false;
    if (this.#waiting.length > 0) this.#askSoon();
  }
}
