// Families of Intel QuickAssist cards, by the product id of their physical functions (Linux,
// drivers/crypto/intel/qat; pci.ids). Vendor 8086, class 0b40. Generations are those of DPDK
// (drivers/common/qat); Linux counts the first four families as generation 2.

export const qatServices = ['sym', 'asym', 'dc', 'dcc', 'decomp'] as const;
export type QatService = (typeof qatServices)[number];

export interface QatFamily {
  readonly name: string;
  readonly generation: number;
  /** Services that a card can run at the same time; absent where they cannot be set. */
  readonly servicesMax?: number;
  /** Services that the family has beside sym, asym, dc and dcc. */
  readonly more?: readonly QatService[];
}

const gen4 = { generation: 4, servicesMax: 2 };

export const qatFamilies: Readonly<Record<string, QatFamily>> = {
  '0435': { name: 'dh895xcc', generation: 1 },
  '37c8': { name: 'c62x', generation: 2 },
  '19e2': { name: 'c3xxx', generation: 2 },
  '6f54': { name: 'd15xx', generation: 2 },
  '18a0': { name: 'c4xxx', generation: 3 },
  '4940': { name: '4xxx', ...gen4 },
  '4942': { name: '401xx', ...gen4 },
  '4944': { name: '402xx', ...gen4 },
  '4946': { name: '420xx', generation: 5, servicesMax: 2 },
  // Linux, Documentation/ABI/testing/sysfs-driver-qat: at most three of gen 6.
  '4948': { name: '6xxx', generation: 6, servicesMax: 3, more: ['decomp'] },
};

/** Why a card of the family cannot run these services; undefined if it can. */
export function refusalOfServices(
  { name, servicesMax, more = [] }: QatFamily,
  services: readonly QatService[],
): string | undefined {
  if (servicesMax === undefined) return `services of the family ${name} cannot be set`;
  if (services.length > servicesMax) {
    return `the family ${name} runs at most ${servicesMax} services`;
  }
  const unknown = services.find((each) => each === 'decomp' && !more.includes(each));
  return unknown && `the family ${name} does not have the service ${unknown}`;
}

/** Pure. `sym;asym`: the order means nothing. @returns undefined for what is no such list */
export function parseServices(text: string): readonly QatService[] | undefined {
  const words = text.split(';');
  const services = qatServices.filter((each) => words.includes(each));
  return services.length === words.length ? services : undefined;
}

export function isSameServices(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}
