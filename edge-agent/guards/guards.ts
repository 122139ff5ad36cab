// The guards: asked by a driver at each discovery for all its functions, and again before a handle
// of one is prepared.

import type { PciFunction } from '#agent/sysfs/pci.ts';
import { readGroup, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import { findRefusal, holdRefusal } from './assignable.ts';
import { cardRefusal, cardToKeep, isConfirmed, type OfferedCard } from './card-identities.ts';
import { type FactsDeps, readHostFacts, toProblem } from './host-facts.ts';
import type { ReadDomains } from './libvirt/domains.ts';
import type { OfferedBefore } from './offered-before.ts';
import { readServerUses, type ServerUse, type ServerUses } from './server-uses.ts';

export interface GuardsDeps extends FactsDeps {
  readonly offeredBefore: OfferedBefore;
  readonly readDomains: ReadDomains;
  /** Whether a control plane can say what was offered before the state was lost. */
  readonly hasCloud?: boolean;
  /** The host's clock; the system's if absent. */
  readonly wallMs?: () => number;
}

interface GuardRequest {
  readonly driver: string;
  /** What the driver would offer. */
  readonly wanted: readonly PciFunction[];
  /** All functions of the host. */
  readonly all: readonly PciFunction[];
  readonly isOurs: (fn: PciFunction) => boolean;
  /** Addresses at which the driver works itself, for example cleans: they stay offered. */
  readonly busy?: ReadonlySet<string>;
  /** Addresses that the driver itself does not offer now: a guest may have had them before. */
  readonly withheld?: readonly string[];
}

/** A clause for each function in use, which completes "The device at <address> ...". */
type Held = ReadonlyMap<string, string>;

interface OfServers {
  readonly held: Held;
  /** Why the servers' functions are not all known. */
  readonly unknown?: string;
}

export interface Guards {
  /** Why functions are refused, by address; records the others as offered. */
  check(request: GuardRequest): Promise<ReadonlyMap<string, string>>;
  /**
   * Why a function must not be prepared for a guest now; undefined if it may. No process may have
   * it open, because its handle has just been claimed. A domain may be defined with it: of a
   * server that was evacuated, until nova-compute is back on this host.
   */
  recheck(address: string, isOurs: (fn: PciFunction) => boolean): Promise<string | undefined>;
  /**
   * What uses the functions, by address; host use of a function may be left out. Domains count
   * only with functions that the agent does not offer: those of its own guests are defined, too.
   */
  heldBy(functions: readonly PciFunction[], countsHostUse: boolean): Promise<Held>;
  /** Which functions belong to servers that libvirt knows, offered or not. */
  ofServers(functions: readonly PciFunction[]): Promise<OfServers>;
  /** Whether the agent offers the function to guests. */
  isOffered(address: string): boolean;
  /** The card that is offered at the address, or was when it was last there. */
  cardAt(address: string): OfferedCard | undefined;
  /** Whether the control plane has yet to say what was offered before. */
  asksCards(): boolean;
  /** Why cards are refused because another one was offered at their address, by address. */
  findOtherCards(cards: readonly PciFunction[]): Promise<Held>;
  /**
   * Refuses cards whose serial number is another one than before, and keeps what all others are,
   * because they are offered now.
   *
   * @param serials serial numbers by address, of the cards that show one
   * @param isNamed whether the settings name the card by its ids, so that it may be another one
   */
  keepCards(
    cards: readonly PciFunction[],
    serials: ReadonlyMap<string, string>,
    isNamed: (card: PciFunction) => boolean,
  ): Promise<Held>;
}

export function openGuards(deps: GuardsDeps): Guards {
  const { sysfs, offeredBefore, readDomains } = deps;
  /** What cannot be read never ends the discovery. */
  const readServers = async (): Promise<Servers> => {
    const domains = await readDomains();
    const { unknown } = domains;
    try {
      return { usesOf: readServerUses(sysfs, domains), unknown };
    } catch (error) {
      return { usesOf: () => [], unknown: toProblem(error) };
    }
  };
  /** The confirmations are read only if a card differs: each discovery asks for all cards. */
  const refuseUnconfirmed = async (
    cards: readonly PciFunction[],
    refusalOf: typeof cardRefusal,
  ): Promise<Held> => {
    const others = cards.flatMap((card) => {
      const before = offeredBefore.cardAt(card.address);
      const refusal = refusalOf(card, before);
      return refusal === undefined ? [] : [{ card, before, refusal }];
    });
    if (others.length === 0) return new Map();
    const confirmations = await offeredBefore.confirmations();
    return new Map(
      others
        .filter(({ card, before }) => !isConfirmed(card, before, confirmations))
        .map(({ card, refusal }) => [card.address, refusal]),
    );
  };
  return {
    check: async ({ driver, wanted, all, isOurs, busy, withheld = [] }) => {
      const facts = await readHostFacts(deps, wanted);
      const servers = await readServers();
      const groups = iommuGroups(all);
      const before = offeredBefore.functionsOf(driver);
      const refusals = new Map<string, string>();
      // A stopped guest has nothing open, and has its function nevertheless.
      const kept = withheld.filter((address) => before.has(address));
      for (const fn of wanted) {
        const { address, iommuGroup = '' } = fn;
        const group = groups.get(iommuGroup) ?? [];
        const mayBeHeld = before.has(address);
        const server = servers.usesOf(fn);
        const refusal =
          findRefusal({ fn, group, isOurs, mayBeHeld }, facts) ??
          (mayBeHeld ? undefined : toClause(server[0], servers.unknown));
        const stays = mayBeHeld && busy?.has(address);
        if (refusal && !stays) refusals.set(address, refusal);
        // Refused for another reason while a guest has it: after the reason has gone, the guest
        // still has it.
        const isOpen = facts.openByVfio.has(iommuGroup) || facts.openByVfio.has(address);
        const isDefined = server.some(({ as }) => as === 'itself');
        const isUnknown = facts.unknown.has(address) || servers.unknown !== undefined;
        const mayBeGuests = isOpen || isDefined || isUnknown;
        if (!refusal || stays || (mayBeHeld && mayBeGuests)) kept.push(address);
      }
      await offeredBefore.replace(driver, kept);
      return refusals;
    },
    isOffered: offeredBefore.has,
    cardAt: offeredBefore.cardAt,
    asksCards: () => deps.hasCloud === true && offeredBefore.asksCards(),
    findOtherCards: (cards) => refuseUnconfirmed(cards, cardRefusal),
    keepCards: async (cards, serials, isNamed) => {
      const changes = new Map<string, { before: OfferedCard | undefined; card: OfferedCard }>();
      const now = new Date(deps.wallMs?.() ?? Date.now()).toISOString();
      const named = new Set(cards.filter(isNamed));
      const refusals = await refuseUnconfirmed(cards, (fn, before) =>
        named.has(fn) ? undefined : cardRefusal(fn, before, serials.get(fn.address)),
      );
      const confirmations = await offeredBefore.confirmations();
      for (const fn of cards.filter(({ address }) => !refusals.has(address))) {
        const seen = { now, isNamed: named.has(fn), serial: serials.get(fn.address) };
        const before = offeredBefore.cardAt(fn.address);
        const card = cardToKeep(fn, before, seen, confirmations);
        if (card) changes.set(fn.address, { before, card });
      }
      await offeredBefore.keepCards(changes);
      return refusals;
    },
    heldBy: async (functions, countsHostUse) => {
      const facts = await readHostFacts(deps, functions);
      const servers = await readServers();
      const held = new Map<string, string>();
      for (const fn of functions) {
        // Virtual functions that are to be made, or moved, are asked for themselves.
        const server = servers
          .usesOf(fn)
          .find(({ as, address }) => as !== 'card' && !offeredBefore.has(address));
        const refusal =
          holdRefusal(fn, facts, { mayBeHeld: false, countsHostUse }) ?? server?.clause;
        if (refusal) held.set(fn.address, refusal);
      }
      return held;
    },
    ofServers: async (functions) => {
      const { usesOf: of, unknown } = await readServers();
      const held = new Map<string, string>();
      for (const fn of functions) {
        const [use] = of(fn);
        if (use) held.set(fn.address, use.clause);
      }
      return { held, ...(unknown && { unknown }) };
    },
    recheck: async (address, isOurs) => {
      const fn = readPciFunctionAt(sysfs, address);
      if (!fn) return 'is no longer there';
      const group = readGroup(sysfs, fn);
      return findRefusal({ fn, group, isOurs, mayBeHeld: false }, await readHostFacts(deps, [fn]));
    },
  };
}

interface Servers {
  readonly usesOf: ServerUses;
  /** Why the functions of all servers are not known. */
  readonly unknown: string | undefined;
}

function toClause(use: ServerUse | undefined, unknown: string | undefined): string | undefined {
  return use?.clause ?? (unknown && `may be in use: ${unknown}`);
}

/** Only groups of several: a host has thousands of functions alone in theirs. */
function iommuGroups(all: readonly PciFunction[]): ReadonlyMap<string, readonly PciFunction[]> {
  const first = new Map<string, PciFunction>();
  const groups = new Map<string, PciFunction[]>();
  for (const fn of all) {
    if (!fn.iommuGroup) continue;
    const group = groups.get(fn.iommuGroup);
    const before = first.get(fn.iommuGroup);
    if (group) group.push(fn);
    else if (before) groups.set(fn.iommuGroup, [before, fn]);
    else first.set(fn.iommuGroup, fn);
  }
  return groups;
}
