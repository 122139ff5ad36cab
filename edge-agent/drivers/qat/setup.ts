// Set-up of QAT cards: services, which are set while a card is down; the card up; all of its
// virtual functions, and their binding. Taking a card down removes its virtual functions.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { HostChange } from '#agent/drivers/contract/driver.ts';
import { functionCount, planPci, refusalOfRemoval } from '#agent/drivers/pci/setup.ts';
import { reasonOf } from '#agent/log.ts';
import { type PciFunction, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import { findFamily, readFiles, setServices, setState, virtualFunctions } from './card.ts';
import { isSameServices, type QatService, refusalOfServices } from './families.ts';
import { type QatCard, toAllowList } from './settings.ts';

const what = 'list of services';
const stateForServices = 'state for other services';

export async function planQat(
  context: DriverContext,
  cards: ReadonlyMap<string, QatCard>,
  failedBindings: Map<string, string>,
): Promise<readonly HostChange[]> {
  const { sysfs, hardware, guards } = context;
  const changes: HostChange[] = [];
  const ready = new Map<string, QatCard>();
  for (const [address, card] of cards) {
    const fn = readPciFunctionAt(sysfs, address);
    if (!fn || !findFamily(fn)) continue;
    const planned = await planServices(context, fn, card).catch((error: unknown): HostChange[] => {
      const difference = { address, what: 'state', before: 'unknown', after: 'up' };
      return [{ ...difference, refusal: `it cannot be read (${reasonOf(error)})` }];
    });
    changes.push(...planned);
    // Until the services are as wanted, virtual functions are neither made nor bound.
    if (planned.every((change) => change.what === 'state' && 'apply' in change)) {
      ready.set(address, card);
    }
  }
  const parseCount = (address: string) => {
    const total = sysfs.readAttribute(`bus/pci/devices/${address}/sriov_totalvfs`) ?? '';
    return /^[1-9]\d{0,4}$/.test(total) ? Number(total) : undefined;
  };
  const allowList = toAllowList(ready, parseCount);
  const pci = await planPci({ sysfs, hardware, guards, allowList, failedBindings });
  return [...changes, ...pci.map((change) => onlyWhileUp(context, change))];
}

/** A change before it in the plan brings the card up, and may have failed. */
function onlyWhileUp(context: DriverContext, change: HostChange): HostChange {
  if (!('apply' in change) || change.what !== functionCount) return change;
  return {
    ...change,
    apply: async () => {
      const { state } = await readFiles(context, here(context, change.address));
      if (state === 'down') throw new Error(`${change.address} is down`);
      await change.apply();
    },
  };
}

async function planServices(
  context: DriverContext,
  fn: PciFunction,
  card: QatCard,
): Promise<HostChange[]> {
  const { address } = fn;
  if (!card.virtual_functions) return [];
  const { state, services } = await readFiles(context, fn);
  const { services: expected } = card;
  const isOther = expected !== undefined && !isSameServices(services ?? [], expected);
  const up: HostChange = {
    address,
    what: 'state',
    before: 'down',
    after: 'up',
    apply: () => setState(context, here(context, address), 'up'),
  };
  if (!isOther) return state === 'down' ? [up] : [];
  const difference = { address, what, before: shown(services), after: shown(expected) };
  const family = findFamily(fn);
  const refusal =
    (family && refusalOfServices(family, expected)) ?? (await findRefusal(context, fn));
  if (refusal !== undefined) return [{ ...difference, refusal }];
  const set: HostChange = {
    ...difference,
    apply: async () => {
      const now = here(context, address);
      await setServices(context, now, expected);
      const { services: set = [] } = await readFiles(context, now);
      if (!isSameServices(set, expected)) throw new Error(`it has the services ${shown(set)}`);
    },
  };
  if (state !== 'up') return [set];
  const down: HostChange = {
    address,
    what: stateForServices,
    before: 'up',
    after: 'down',
    apply: async () => {
      const now = here(context, address);
      const refused = await findRefusal(context, now);
      if (refused !== undefined) throw new Error(refused);
      await setState(context, now, 'down');
    },
  };
  return [down, set];
}

async function findRefusal(context: DriverContext, fn: PciFunction): Promise<string | undefined> {
  return await refusalOfRemoval(context, fn, virtualFunctions(context.sysfs, fn));
}

function here({ sysfs }: DriverContext, address: string): PciFunction {
  const fn = readPciFunctionAt(sysfs, address);
  if (!fn) throw new Error(`${address} is no longer there`);
  return fn;
}

export function shown(services: readonly QatService[] = []): string {
  return services.join(';') || 'unknown';
}
