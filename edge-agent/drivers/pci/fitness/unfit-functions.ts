// Functions that are neither offered nor bound, whatever their entry says.

import { type AllowListEntry, namesIds } from '#agent/drivers/pci/allow-list.ts';
import type { Wish } from '#agent/drivers/pci/choice.ts';
import type { Guards } from '#agent/guards/guards.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type PortDeps, switchPortRefusals } from './switch-ports.ts';
import { denylistRefusals } from './vfio-denylist.ts';

export interface UnfitDeps extends PortDeps {
  readonly hardware: Pick<Hardware, 'readProc' | 'readBytes'>;
  readonly guards: Guards;
  /** Whether the operator names a model by the entry, not only an address. */
  readonly namesIds?: (entry: AllowListEntry) => boolean;
  /** Why functions could not be bound at the last attempt, by address. */
  readonly failedBindings: Map<string, string>;
}

/** Whether another card may come to the address: the entry names ids, or the agent writes them. */
export function mayBeReplaced(
  { namesIds: names = namesIds }: Pick<UnfitDeps, 'namesIds'>,
  { entry }: Pick<Wish, 'entry'>,
): boolean {
  return names(entry) || entry.components !== undefined;
}

/**
 * Why functions are neither offered nor bound: another card was offered at their address, the
 * kernel does not let a guest have them, or the host itself needs them.
 */
export async function findUnfitFunctions(
  deps: Omit<UnfitDeps, 'failedBindings'>,
  wishes: readonly Wish[],
): Promise<ReadonlyMap<string, string>> {
  const bound = wishes.flatMap(({ functions, entry }) =>
    functions.map((fn) => [fn, entry.bind_to] as const),
  );
  const offered = new Set(
    wishes
      .filter(({ functions }) => functions.some(({ address }) => deps.guards.isOffered(address)))
      .map(({ physical }) => physical),
  );
  return new Map([
    ...(await denylistRefusals(deps, bound)),
    ...ofCards(
      wishes,
      await switchPortRefusals(
        deps,
        wishes.map(({ physical }) => physical),
        (card) => offered.has(card),
      ),
    ),
    ...(await findOtherCardRefusals(deps, wishes)),
  ]);
}

export async function findOtherCardRefusals(
  deps: Pick<UnfitDeps, 'guards' | 'namesIds'>,
  wishes: readonly Wish[],
): Promise<ReadonlyMap<string, string>> {
  const strict = wishes.filter((wish) => !mayBeReplaced(deps, wish));
  return ofCards(strict, await deps.guards.findOtherCards(strict.map(({ physical }) => physical)));
}

/** The reasons of cards, by the addresses of what they offer. */
function ofCards(
  wishes: readonly Wish[],
  reasons: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  return new Map(
    wishes.flatMap(({ physical, functions }) => {
      const reason = reasons.get(physical.address);
      return reason === undefined ? [] : functions.map((fn) => [fn.address, reason] as const);
    }),
  );
}

/**
 * Why a device stays with its driver: without the agent's state, what sits at its address may be
 * another card, or a disk of the host.
 */
export function refuseUnknownCard(
  deps: Pick<UnfitDeps, 'guards' | 'namesIds'>,
  wish: Pick<Wish, 'entry'>,
): string | undefined {
  if (mayBeReplaced(deps, wish) || !deps.guards.asksCards()) return undefined;
  return (
    'waits for the control plane to say which card was offered here before the agent lost its ' +
    'state; an entry with its ids need not wait'
  );
}

/** Why functions are not offered: no guest gets what the host could not bind. */
export function findUnbound(
  { failedBindings }: Pick<UnfitDeps, 'failedBindings'>,
  wishes: readonly Wish[],
): ReadonlyMap<string, string> {
  return new Map(
    wishes.flatMap(({ functions, entry: { bind_to: driver } }) =>
      functions.flatMap(({ address, boundDriver }) => {
        const reason = boundDriver === driver ? undefined : failedBindings.get(address);
        return reason === undefined
          ? []
          : [[address, `could not be bound to ${driver}: ${reason}`.slice(0, 255)] as const];
      }),
    ),
  );
}

/** One reason for a card all of whose functions are withheld. */
export function withhold(wishes: readonly Wish[], reasons: ReadonlyMap<string, string>) {
  const withheld = new Map<string, string>();
  const left = wishes.flatMap((wish) => {
    const functions = wish.functions.filter(({ address }) => !reasons.has(address));
    for (const { address } of wish.functions) {
      const reason = reasons.get(address);
      const named = functions.length === 0 ? wish.physical.address : address;
      if (reason !== undefined) withheld.set(named, reason);
    }
    return functions.length > 0 ? [{ ...wish, functions }] : [];
  });
  return { wishes: left, withheld };
}
