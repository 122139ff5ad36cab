// Which of Nova's PCI devices driver `pci` of the agent offers, and how a device profile asks for
// what an alias asks for. Pure.

import { isDeepStrictEqual } from 'node:util';
import type { Address, AliasSpec, DeviceSpec } from '#core/contracts/nova/pci-forms.ts';
import type { Group } from '#core/domain/profile/device-profile.ts';
import { present } from '#core/shapes/derive/present.ts';
import { ownerTrait } from '#core/shapes/vocabulary/placement-names.ts';
import { mayBeSame, mayOverlap } from './overlap.ts';

/** An entry of the allow-list of driver `pci`. */
export interface AllowListItem {
  readonly vendor_id?: string;
  readonly product_id?: string;
  readonly address?: string;
  readonly resource_class: string;
  readonly traits?: readonly string[];
  readonly virtual_functions?: true;
  readonly companions?: true;
}

export type AliasPlan =
  | { readonly name: string; readonly reason: string }
  | {
      readonly name: string;
      /** Its devices go to a guest with those of these aliases, on the same card. */
      readonly cards: readonly string[];
    }
  | {
      readonly name: string;
      /** Asks for one device. */
      readonly group: Group;
      /** The alias with the same group, if one comes before. */
      readonly as: string;
      readonly notes: readonly string[];
    };

export interface DevicePlan {
  readonly allowList: readonly AllowListItem[];
  readonly aliases: readonly AliasPlan[];
  /** Names of entries → why they stay with Nova. */
  readonly staying: ReadonlyMap<string, string>;
  /** Names of entries whose devices go with a card. */
  readonly companions: ReadonlySet<string>;
}

interface Offer {
  readonly spec: DeviceSpec;
  readonly alias: AliasSpec;
  readonly resourceClass: string;
}

export interface NovaDevices {
  readonly specs: readonly DeviceSpec[];
  readonly aliases: readonly AliasSpec[];
  readonly isInPlacement: boolean;
}

/** In the order of the entries: of Nova's as of ours, the first that matches a device counts. */
export function planCards(nova: NovaDevices): DevicePlan {
  const { specs, aliases } = nova;
  const matched = specs.flatMap((spec) => matchOffers(spec, nova));
  const staying = new Map<string, string>();
  let plans: readonly AliasPlan[] = [];
  let count: number;
  // An entry that stays may keep an alias, and an alias that stays may keep entries.
  do {
    count = staying.size;
    keepEntries(nova, staying);
    plans = planAliases(aliases, matched, staying, plans);
    keepUnasked(specs, matched, plans, staying);
  } while (staying.size > count);
  const moving = new Set(plans.flatMap((plan) => ('group' in plan ? [plan.name] : [])));
  const items = matched
    .filter(({ spec, alias }) => !staying.has(spec.name) && moving.has(alias.name))
    .flatMap(toItems);
  const allowList = items.filter(
    (item, index) => items.findIndex((each) => isDeepStrictEqual(each, item)) === index,
  );
  return {
    allowList,
    aliases: plans.map((plan) => withLoss(plan, matched, staying)),
    staying,
    companions: new Set(),
  };
}

function planAliases(
  aliases: readonly AliasSpec[],
  matched: readonly Offer[],
  staying: ReadonlyMap<string, string>,
  earlier: readonly AliasPlan[],
): readonly AliasPlan[] {
  const plans: AliasPlan[] = [];
  for (const name of new Set(aliases.map((each) => each.name))) {
    // Its own reason says more than that its entries stay, which follows.
    const kept = earlier.find((plan) => plan.name === name && 'reason' in plan);
    if (kept) {
      plans.push(kept);
      continue;
    }
    const specsOfName = aliases.filter((each) => each.name === name);
    const offers = matched.filter(({ alias }) => alias.name === name);
    const before = plans.flatMap((plan) =>
      'group' in plan ? [{ plan, types: listTypes(aliases, plan.name) }] : [],
    );
    plans.push(planAlias({ name, alternatives: specsOfName, offers, staying, before }));
  }
  return plans;
}

/** An entry whose aliases all stay stays with them. */
function keepUnasked(
  specs: readonly DeviceSpec[],
  matched: readonly Offer[],
  plans: readonly AliasPlan[],
  staying: Map<string, string>,
): void {
  for (const spec of specs.filter(({ name }) => !staying.has(name))) {
    const names = matched.flatMap((each) => (each.spec === spec ? [each.alias.name] : []));
    if (plans.some((plan) => 'group' in plan && names.includes(plan.name))) continue;
    staying.set(spec.name, `the aliases that ask for it stay: ${[...new Set(names)].join(', ')}`);
  }
}

/** An alias that stays may share devices with one that moves. */
function withLoss(
  plan: AliasPlan,
  matched: readonly Offer[],
  staying: ReadonlyMap<string, string>,
): AliasPlan {
  if (!('reason' in plan)) return plan;
  const lost = matched.filter(
    ({ spec, alias }) => alias.name === plan.name && !staying.has(spec.name),
  );
  const names = [...new Set(lost.map(({ spec }) => spec.name))].join(', ');
  return names ? { ...plan, reason: `${plan.reason}; Nova loses its devices of ${names}` } : plan;
}

function keepEntries(nova: NovaDevices, staying: Map<string, string>): void {
  const { specs } = nova;
  for (const spec of specs.filter(({ name }) => !staying.has(name))) {
    const isAsked = matchOffers(spec, nova).length > 0;
    const reason =
      spec.stays ?? faultOfNames(spec) ?? (isAsked ? undefined : 'no alias asks for it');
    if (reason) staying.set(spec.name, reason);
  }
  // A device that two entries match would be offered by the agent and by Nova.
  for (let count = -1; count !== staying.size; ) {
    count = staying.size;
    for (const spec of specs.filter(({ name }) => !staying.has(name))) {
      const other = specs.find((each) => staying.has(each.name) && mayOverlap(each, spec));
      if (!other) continue;
      const narrow = 'distinguish them by vendor_id and product_id, or by address';
      staying.set(spec.name, `${other.name}, which stays, may match the same devices: ${narrow}`);
    }
  }
}

function faultOfNames({ resourceClass, traits }: DeviceSpec): string | undefined {
  if (resourceClass !== undefined && !isOfferedByPci(resourceClass)) {
    return `driver pci offers FPGA, PGPU and CUSTOM_ classes, not ${resourceClass}`;
  }
  const standard = traits.find((trait) => !trait.startsWith('CUSTOM_'));
  return standard && `the agent offers CUSTOM_ traits only, not ${standard}`;
}

function isOfferedByPci(name: string): boolean {
  return name === 'FPGA' || name === 'PGPU' || name.startsWith('CUSTOM_');
}

function matchOffers(spec: DeviceSpec, { aliases, isInPlacement }: NovaDevices): readonly Offer[] {
  return aliases.flatMap((alias): Offer[] => {
    if (!mayBeSame(spec.vendor, alias.vendor) || !mayBeSame(spec.product, alias.product)) return [];
    const byIds = generatedClass(alias.vendor ?? spec.vendor, alias.product ?? spec.product);
    const resourceClass = spec.resourceClass ?? byIds;
    const requested = alias.resourceClass ?? (isInPlacement ? byIds : undefined);
    if (resourceClass === undefined) return [];
    if (requested !== undefined && requested !== resourceClass) return [];
    return alias.traits.every((trait) => spec.traits.includes(trait))
      ? [{ spec, alias, resourceClass }]
      : [];
  });
}

/** The class that Nova gives to a device whose entry names none. */
function generatedClass(vendor: string | undefined, product: string | undefined) {
  return vendor && product ? `CUSTOM_PCI_${vendor}_${product}`.toUpperCase() : undefined;
}

interface NamedAlias {
  readonly name: string;
  readonly alternatives: readonly AliasSpec[];
  readonly offers: readonly Offer[];
  readonly staying: ReadonlyMap<string, string>;
  readonly before: readonly {
    readonly plan: Extract<AliasPlan, { readonly group: Group }>;
    readonly types: string;
  }[];
}

function planAlias({ name, alternatives, offers, staying, before }: NamedAlias): AliasPlan {
  const stay = (reason: string): AliasPlan => ({ name, reason });
  const [first] = alternatives;
  if (!first) throw new Error(`The alias ${name} has no values.`);
  if (alternatives.some(({ numaPolicy }) => ['required', 'socket'].includes(numaPolicy))) {
    return stay(`numa_policy ${first.numaPolicy}: an accelerator request has no NUMA affinity`);
  }
  if (alternatives.some(({ isMigratable }) => isMigratable)) {
    return stay('live_migratable: Nova migrates no server with accelerator requests');
  }
  if (offers.length === 0) return stay('no device_spec of this host matches');
  const moved = offers.filter(({ spec }) => !staying.has(spec.name));
  if (moved.length === 0) {
    const left = [...new Set(offers.map(({ spec }) => spec.name))].join(', ');
    return stay(`its devices stay with Nova: ${left}`);
  }
  const classes = [...new Set(moved.map(({ resourceClass }) => resourceClass))];
  const [resourceClass] = classes;
  if (resourceClass === undefined || classes.length > 1) {
    return stay(
      `its devices have the classes ${classes.join(', ')}, and a profile asks for one: give them one resource_class`,
    );
  }
  const group = makeGroup(resourceClass, alternatives, moved);
  const types = listTypes(alternatives, name);
  const same = before.find(({ plan }) => isDeepStrictEqual(plan.group, group));
  if (same && same.types !== types) {
    return stay(
      `only device_type distinguishes its devices from those of ${same.plan.name}: give them a resource_class of their own`,
    );
  }
  const notes = listNotes(alternatives, offers, staying);
  return { name, group, as: same?.plan.as ?? name, notes };
}

function makeGroup(
  resourceClass: string,
  alternatives: readonly AliasSpec[],
  moved: readonly Offer[],
): Group {
  const products = new Set(alternatives.map(({ product }) => product));
  const [product] = products;
  // A class of the operator's may have devices of other products, too.
  const isShared = moved.some(({ spec }) => spec.resourceClass !== undefined);
  const byProduct =
    isShared && products.size === 1 && product
      ? [`CUSTOM_PCI_PRODUCT_ID_${product.toUpperCase()}`]
      : [];
  const [first] = alternatives;
  const traits = [
    ownerTrait,
    ...byProduct,
    ...(alternatives.length === 1 ? (first?.traits ?? []) : []),
  ];
  return {
    [`resources:${resourceClass}`]: '1',
    ...Object.fromEntries(traits.map((trait) => [`trait:${trait}`, 'required'])),
  };
}

function listTypes(aliases: readonly AliasSpec[], name: string): string {
  const alternatives = aliases.filter((each) => each.name === name);
  return [...new Set(alternatives.map(({ deviceType }) => deviceType ?? 'any'))].join();
}

function listNotes(
  alternatives: readonly AliasSpec[],
  offers: readonly Offer[],
  staying: ReadonlyMap<string, string>,
): string[] {
  const left = new Set(offers.flatMap(({ spec: { name } }) => (staying.has(name) ? [name] : [])));
  return [
    ...(left.size > 0 ? [`without the devices of ${[...left].join(', ')}`] : []),
    ...(alternatives.some(({ deviceType }) => deviceType === undefined)
      ? ['no device_type: virtual functions where a card has them, else the card']
      : []),
  ];
}

function toItems({ spec, alias, resourceClass }: Offer): AllowListItem[] {
  const vendor = alias.vendor ?? spec.vendor;
  const product = alias.product ?? spec.product;
  const item: AllowListItem = {
    ...present({ vendor_id: vendor, product_id: product }),
    ...(spec.address && { address: printed(spec.address) }),
    resource_class: resourceClass,
    ...(spec.traits.length > 0 && { traits: spec.traits }),
  };
  const virtual: AllowListItem = { ...item, virtual_functions: true };
  if (alias.deviceType === 'type-VF') return [virtual];
  return alias.deviceType === undefined ? [virtual, item] : [item];
}

function printed([domain, bus, slot, fn]: Address): string {
  return `${domain}:${bus}:${slot}.${fn}`;
}
