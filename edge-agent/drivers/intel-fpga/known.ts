// What driver `intel_fpga` keeps in a file: facts of cards that their own driver does not have at
// the moment, and what was written into regions, which the hardware shows only in part.

import * as z from 'zod';
import { openStateFiles } from '#agent/state/state-files.ts';
import { cardIds, type PciFunction } from '#agent/sysfs/pci.ts';
import { pciAddress } from '#core/shapes/derive/fields.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import type { CardFacts } from './engines.ts';

const card = z.object({
  ids: z.string(),
  interface: z.guid(),
  ports: z.int().min(1).max(9),
  static_region: z.string().regex(/^0x[0-9a-f]{1,16}$/),
  /** Virtual functions, in the order of their ports. */
  functions: z.array(pciAddress).max(9).default([]),
  /** The boot in which the ports are with the physical function, for programming. */
  away: z.string().optional(),
});
export type KnownCard = z.infer<typeof card>;

const content = z.object({
  boot: z.string(),
  image: z.guid().optional(),
  functions: z.array(z.guid()).max(64),
});
export type Content = z.infer<typeof content>;

const form = z.object({
  cards: z.record(z.string(), card).default({}),
  /** Keys are `<address> <number of the port>`. */
  contents: z.record(z.string(), content).default({}),
});

export interface CardRecords {
  /** Undefined for another card than the one that was seen there. */
  card(fn: PciFunction): Promise<KnownCard | undefined>;
  remember(fn: PciFunction, facts: CardFacts, functions?: readonly string[]): Promise<void>;
  /** Forgets the facts of cards that the settings no longer name. */
  keepOnly(isKept: (address: string) => boolean): Promise<void>;
  setAway(address: string, isAway: boolean): Promise<void>;
  /** What was written into the region in this boot; undefined if that is unknown. */
  content(address: string, port: number): Promise<Content | undefined>;
  /** @param written undefined before the content changes */
  setContent(
    address: string,
    port: number,
    written: Omit<Content, 'boot'> | undefined,
  ): Promise<void>;
}

const file = 'cards.json';

export function openCardRecords(directory: string, bootId: string): CardRecords {
  const files = openStateFiles(directory);
  let kept: z.infer<typeof form> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other: jobs of several cards run side by side. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
  const load = async () => (kept ??= parsed(await files.read(file)));
  const change = (apply: (state: z.infer<typeof form>) => z.infer<typeof form>) =>
    inTurn(async () => {
      const before = await load();
      const after = apply(before);
      if (JSON.stringify(after) === JSON.stringify(before)) return;
      await files.replace(file, JSON.stringify(after));
      kept = after;
    });
  return {
    card: (fn) =>
      inTurn(async () => {
        const stored = (await load()).cards[fn.address];
        return stored?.ids === cardIds(fn) ? stored : undefined;
      }),
    remember: (fn, { interface: id, ports, static_region }, functions) =>
      change((state) => {
        const before = state.cards[fn.address];
        const same = before?.ids === cardIds(fn) ? before : undefined;
        const after = {
          ids: cardIds(fn),
          interface: id,
          ports,
          static_region,
          functions: [...(functions ?? same?.functions ?? [])],
          ...(same?.away && { away: same.away }),
        };
        return { ...state, cards: { ...state.cards, [fn.address]: after } };
      }),
    keepOnly: (isKept) =>
      change((state) => {
        const kept = Object.entries(state.cards).filter(([address]) => isKept(address));
        return { ...state, cards: Object.fromEntries(kept) };
      }),
    setAway: (address, isAway) =>
      change((state) => {
        const stored = state.cards[address];
        if (!stored) return state;
        const { away: _, ...rest } = stored;
        const after = isAway ? { ...rest, away: bootId } : rest;
        return { ...state, cards: { ...state.cards, [address]: after } };
      }),
    content: (address, port) =>
      inTurn(async () => {
        const stored = (await load()).contents[`${address} ${port}`];
        return stored?.boot === bootId ? stored : undefined;
      }),
    setContent: (address, port, written) =>
      change((state) => {
        const { [`${address} ${port}`]: _, ...others } = state.contents;
        if (!written) return { ...state, contents: others };
        return {
          ...state,
          contents: { ...others, [`${address} ${port}`]: { ...written, boot: bootId } },
        };
      }),
  };
}

/** An invalid file counts as none. */
function parsed(text: string | undefined): z.infer<typeof form> {
  return form.safeParse(parseJson(text)).data ?? form.parse({});
}
