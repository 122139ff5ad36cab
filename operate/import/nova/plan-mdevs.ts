// Which of Nova's types of mediated devices driver `mdev` of the agent offers. Pure.

import type { MdevType } from '#core/contracts/nova/nova-conf.ts';
import { ownerTrait } from '#core/shapes/vocabulary/placement-names.ts';

export interface MdevPool {
  readonly parents: readonly string[];
  readonly type: string;
  readonly resource_class: string;
  readonly traits?: readonly string[];
}

export interface MdevPlan {
  readonly pools: readonly MdevPool[];
  readonly rows: readonly {
    readonly name: string;
    readonly verdict: 'move' | 'stay' | 'refuse';
    readonly note: string;
  }[];
  /** Classes that Nova offers by these types, those that stay included. */
  readonly classes: ReadonlySet<string>;
}

/**
 * @param traits a trait of Nova's provider → the type of its vGPUs
 * @param isAttached whether Nova attaches the mdevs of accelerator requests
 */
export function planNovaMdevs(
  types: readonly MdevType[],
  traits: ReadonlyMap<string, string>,
  isAttached: boolean,
): MdevPlan {
  const pools: MdevPool[] = [];
  const all = types.flatMap(({ addresses }) => addresses);
  const rows = types.map((mdevType): MdevPlan['rows'][number] => {
    const { type: name, addresses, resourceClass, maxInstances } = mdevType;
    const fault = findFault(mdevType, all);
    if (fault) return { name, verdict: 'refuse', note: fault };
    const reason = reasonToStay(mdevType, types, isAttached);
    if (reason) return { name, verdict: 'stay', note: reason };
    const ownTraits = [...traits].filter(([, type]) => type === name).map(([trait]) => trait);
    pools.push({
      parents: addresses,
      type: name,
      resource_class: resourceClass,
      ...(ownTraits.length > 0 && { traits: ownTraits }),
    });
    const more = [
      ...(maxInstances ? [`max_instances ${maxInstances} is lost: as many as fit`] : []),
      ...(name.startsWith('nvidia-') ? ['driver nvidia_gpu knows more of such cards'] : []),
    ];
    return { name, verdict: 'move', note: [addresses.join(', '), ...more].join('; ') };
  });
  return { pools, rows, classes: new Set(types.map(({ resourceClass }) => resourceClass)) };
}

function findFault({ type, addresses, resourceClass }: MdevType, all: readonly string[]) {
  const duplicate = addresses.find((each) => all.indexOf(each) !== all.lastIndexOf(each));
  if (duplicate) return `${duplicate} is in device_addresses more than once`;
  if (!/^(VGPU|CUSTOM_[A-Z0-9_]+)$/.test(resourceClass)) {
    return `mdev_class ${resourceClass} must be VGPU or CUSTOM_...`;
  }
  return /^[a-zA-Z0-9_-]{1,64}$/.test(type) ? undefined : 'must be a name in mdev_supported_types';
}

function reasonToStay(
  { type, addresses }: MdevType,
  types: readonly MdevType[],
  isAttached: boolean,
): string | undefined {
  if (addresses.length === 0) {
    return `[mdev_${type}] has no device_addresses, so that Nova takes every card: name the cards there`;
  }
  const open = types.find((each) => each.addresses.length === 0);
  if (open) return `Nova would take its cards for ${open.type}, which has no device_addresses`;
  const other = addresses.find((each) => !pciAddress.test(each));
  if (other) return `the parent ${other} is not a PCI device`;
  return isAttached
    ? undefined
    : 'Nova before 34 attaches no mdev of an accelerator request: --attach-mdev if this one does';
}

const pciAddress = /^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$/i;

/** The group for a number of mdevs, all of one card, like Nova. */
export function mdevGroup(resourceClass: string, amount: string, traits: readonly string[]) {
  return {
    [`resources:${resourceClass}`]: amount,
    ...Object.fromEntries([ownerTrait, ...traits].map((each) => [`trait:${each}`, 'required'])),
  };
}
