// The functions that the agent offers, kept over restarts: a guest may have them open, which is no
// use by the host. A function that is no longer offered leaves the list as soon as no process has
// it open, so that another service can take it. Beside it, what each offered card was.

import * as z from 'zod';
import type { Log } from '#agent/log.ts';
import { openConfirmations, type ReadConfirmations } from '#agent/state/confirmations.ts';
import { readState } from '#agent/state/read-state.ts';
import type { StateFiles } from '#agent/state/state-files.ts';
import { keptCard, type OfferedCard } from './card-identities.ts';

const file = 'offered.json';
const form = z.object({
  version: z.literal(1),
  drivers: z.record(z.string(), z.array(z.string())),
  /** Keys are PCI addresses of physical functions. */
  cards: z.record(z.string(), keptCard).default({}),
  /** The control plane has not said yet what was offered before this file was made. */
  asks_cards: z.literal(true).optional(),
});

interface CardChange {
  readonly before: OfferedCard | undefined;
  readonly card: OfferedCard;
}

export interface OfferedBefore {
  functionsOf(driver: string): ReadonlySet<string>;
  /** Whether any driver offers it. */
  has(address: string): boolean;
  /** Resolves when it is on disk: before the report that offers the functions. */
  replace(driver: string, addresses: readonly string[]): Promise<void>;
  cardAt(address: string): OfferedCard | undefined;
  /**
   * Resolves when it is on disk what is offered at these addresses. Skips an address whose card
   * has changed since the caller read it.
   */
  keepCards(changes: ReadonlyMap<string, CardChange>): Promise<void>;
  /** Whether the control plane must say what was offered before. */
  asksCards(): boolean;
  /** It has: these cards. Resolves when they are on disk. */
  learnCards(cards: ReadonlyMap<string, OfferedCard>): Promise<void>;
  /** Cards that an operator has confirmed. */
  readonly confirmations: ReadConfirmations;
}

export async function openOfferedBefore(files: StateFiles, log: Log): Promise<OfferedBefore> {
  // Without a valid file, devices in use by guests are refused until the guests end; none is given
  // twice.
  const stored = await readState(
    files,
    { name: file, form, event: 'List of offered functions unreadable' },
    log,
  );
  const functions = new Map(Object.entries(stored?.drivers ?? {}));
  const cards = new Map<string, OfferedCard>(Object.entries(stored?.cards ?? {}));
  let asksCards = stored === undefined || stored.asks_cards === true;
  const write = async (
    nextFunctions: Iterable<readonly [string, readonly string[]]>,
    nextCards: Iterable<readonly [string, OfferedCard]>,
    asks = asksCards,
  ) => {
    const text = {
      version: 1,
      drivers: Object.fromEntries(nextFunctions),
      cards: Object.fromEntries(nextCards),
      ...(asks && { asks_cards: true }),
    };
    await files.replace(file, JSON.stringify(text));
  };
  /** Drivers look at once, and the control plane answers meanwhile: one change at a time. */
  let turns: Promise<unknown> = Promise.resolve();
  const inTurn = (change: () => Promise<void>): Promise<void> => {
    const turn = turns.then(change);
    turns = turn.catch(() => {});
    return turn;
  };
  return {
    functionsOf: (driver) => new Set(functions.get(driver)),
    has: (address) => [...functions.values()].some((each) => each.includes(address)),
    replace: (driver, addresses) =>
      inTurn(async () => {
        const sorted = [...addresses].sort();
        const before = functions.get(driver) ?? [];
        const isSame = sorted.every((address, index) => address === before[index]);
        if (isSame && sorted.length === before.length) return;
        await write([...functions, [driver, sorted]], cards);
        functions.set(driver, sorted);
      }),
    cardAt: (address) => cards.get(address),
    keepCards: (changes) =>
      inTurn(async () => {
        const changed = [...changes].flatMap(([address, { before, card }]) =>
          cards.get(address) === before ? [[address, card] as const] : [],
        );
        if (changed.length === 0) return;
        await write(functions, [...cards, ...changed]);
        for (const [address, card] of changed) cards.set(address, card);
      }),
    asksCards: () => asksCards,
    learnCards: (learnt) =>
      inTurn(async () => {
        await write(functions, [...cards, ...learnt], false);
        for (const [address, card] of learnt) cards.set(address, card);
        asksCards = false;
      }),
    confirmations: openConfirmations(files, log),
  };
}
