// Audio and USB functions that are on one card with a GPU. They share its IOMMU group, so the
// agent gives them to a guest with the GPU (`companions` of driver `pci`), and no profile asks for
// them. nova.conf names ids alone, so they are known by these. Pure. https://pci-ids.ucw.cz

import type { AliasSpec, DeviceSpec } from '#core/contracts/nova/pci-forms.ts';
import { type AliasPlan, type DevicePlan, type NovaDevices, planCards } from './plan-devices.ts';

/** Vendor → product ids. */
const companionIds: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    '10de',
    ids(
      // High Definition Audio of Kepler to Blackwell.
      '0e08 0e09 0e0a 0e0b 0e0f 0e1a 0e1b 0fb0 0fb8 0fb9 0fba 0fbb 0fbc 10ef 10f0 10f1 10f2',
      '10f7 10f8 10f9 10fa 1aeb 1aef 228b 228e 2291 22ba 22bb 22bc 22bd 22be 22e8 22e9 22eb',
      // USB and the controller of its connector, of Turing.
      '1ad6 1ad7 1ad8 1ad9 1ada 1adb 1aec 1aed',
    ),
  ],
  // HDMI audio; USB of Navi 10 and 21.
  ['1002', ids('aae0 aae8 aaf0 aaf8 ab18 ab20 ab28 ab30 ab38 ab40', '7314 73a4')],
]);

interface NamedDevice {
  readonly vendor?: string | undefined;
  readonly product?: string | undefined;
}

function isCompanion({ vendor = '', product = '' }: NamedDevice): boolean {
  return companionIds.get(vendor)?.has(product) ?? false;
}

function ids(...lists: readonly string[]): ReadonlySet<string> {
  return new Set(lists.flatMap((each) => each.split(' ')));
}

export function planNovaDevices({ specs, aliases, isInPlacement }: NovaDevices): DevicePlan {
  const names = new Set(aliases.map(({ name }) => name));
  const named = [...names].map((name) => aliases.filter((each) => each.name === name));
  const companions = new Set(named.filter((all) => all.every(isCompanion)).flat());
  const plan = planCards({
    specs: specs.filter((each) => !isCompanion(each)),
    aliases: aliases.filter((each) => !companions.has(each)),
    isInPlacement,
  });
  if (companions.size === 0 && !specs.some(isCompanion)) return plan;
  return withCompanions(plan, { specs, aliases, companions });
}

interface CompanionPlan {
  readonly specs: readonly DeviceSpec[];
  readonly aliases: readonly AliasSpec[];
  readonly companions: ReadonlySet<AliasSpec>;
}

/** Audio and USB functions move with the cards of their vendor, or stay as these do. */
function withCompanions(
  plan: DevicePlan,
  { specs, aliases, companions }: CompanionPlan,
): DevicePlan {
  const reason = 'it is a function of a card with a GPU, which no alias of its vendor moves';
  const cardsOf = (vendor: string | undefined) =>
    plan.aliases.flatMap((each) =>
      'group' in each && aliases.some((one) => one.name === each.name && one.vendor === vendor)
        ? [each.name]
        : [],
    );
  const entries = specs.filter(isCompanion);
  const moving = entries.filter(({ vendor, stays }) => !stays && cardsOf(vendor).length > 0);
  const staying = new Map(plan.staying);
  for (const each of entries) {
    if (!moving.includes(each)) staying.set(each.name, each.stays ?? reason);
  }
  const vendors = new Set(moving.map(({ vendor }) => vendor));
  const names = new Set([...companions].map(({ name }) => name));
  const plans = [...names].map((name): AliasPlan => {
    const cards = aliases.flatMap((each) =>
      each.name === name && vendors.has(each.vendor) ? cardsOf(each.vendor) : [],
    );
    return cards.length > 0 ? { name, cards: [...new Set(cards)] } : { name, reason };
  });
  return {
    allowList: plan.allowList.map((item) =>
      vendors.has(item.vendor_id) && !item.virtual_functions ? { ...item, companions: true } : item,
    ),
    aliases: [...plan.aliases, ...plans],
    staying,
    companions: new Set(moving.map(({ name }) => name)),
  };
}
