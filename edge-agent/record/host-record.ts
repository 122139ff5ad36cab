// What a host shows of its PCI functions, as text that a person can read and send: a line for each
// function, then lines of what uses them. It has no serial numbers, no addresses of networks, and
// no names of hosts, users or file systems.
//
//   0000:17:00.0 10de:2330 030200 rev a1 subsystem 10de:16c1 driver nvidia group 29 node 0
//   master ens1f0 bond
//   mount nvme0n1p2 /

export interface RecordedFunction {
  readonly address: string;
  /** Hexadecimal digits, lower case, like all ids here: `10de:2330`. */
  readonly ids: string;
  readonly classCode: string;
  readonly values: Readonly<Partial<Record<ValueName, string>>>;
}

/** In their order in a line. */
export const valueNames = [
  'rev',
  'subsystem',
  'driver',
  /** IOMMU group, or `none`. */
  'group',
  /** NUMA node; -1: the firmware does not say. */
  'node',
  /** The function above it in the tree of buses. */
  'below',
  /** The physical function of a virtual one. */
  'physical',
  /** The most virtual functions, and the product id that they have. */
  'vfs',
  'vf-product',
  /** The kernel's ways to reset it, separated by commas, or `none`. */
  'resets',
  'boot-vga',
  /** Entries of classes, separated by commas: `net ens1f0,ens1f1`. */
  'net',
  'drm',
  'accel',
  'graphics',
  'nvme',
  'block',
  'infiniband',
  'mdev-types',
] as const;
export type ValueName = (typeof valueNames)[number];

export interface HostRecord {
  readonly functions: readonly RecordedFunction[];
  /** Interface → the bond or bridge that it is below. */
  readonly masters: Readonly<Record<string, string>>;
  /** Interfaces of default routes, and others with an address. */
  readonly routes: Readonly<Record<string, 'default' | 'address'>>;
  /** Block device → `/`, `elsewhere` for another mount, or `swap`. */
  readonly mounts: Readonly<Record<string, string>>;
  /** Block device → what is made of it: `md0`, `dm-0`. */
  readonly holders: Readonly<Record<string, string>>;
}

const uses = { master: 'masters', route: 'routes', mount: 'mounts', holder: 'holders' } as const;

export function printHost(record: HostRecord): string {
  const functions = record.functions.map(({ address, ids, classCode, values }) =>
    [
      address,
      ids,
      classCode,
      ...valueNames.flatMap((name) => (values[name] === undefined ? [] : [name, values[name]])),
    ].join(' '),
  );
  const used = Object.entries(uses).flatMap(([word, key]) =>
    Object.entries(record[key]).map((pair) => [word, ...pair].join(' ')),
  );
  return [...functions, ...used, ''].join('\n');
}

/** A line that is no record; the message names it. */
export class RecordInvalid extends Error {
  override readonly name = 'RecordInvalid';
}

const functionLine =
  /^([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([0-9a-f]{4}:[0-9a-f]{4}) ([0-9a-f]{6})((?: \S+ \S+)*)$/;
/** A name of the kernel, or several; never a path. */
const valueIs = /^[A-Za-z0-9_.:,+@-]{1,1024}$/;
const linesMax = 20_000;

/** Lines that begin with `#` are left out. @throws RecordInvalid */
export function parseHost(text: string): HostRecord {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length > linesMax) throw new RecordInvalid(`More than ${linesMax} lines.`);
  const record = {
    functions: [] as RecordedFunction[],
    masters: {},
    routes: {},
    mounts: {},
    holders: {},
  } satisfies HostRecord & Record<string, unknown>;
  for (const line of lines) {
    const [word = '', name = '', value = '', more] = line.split(' ');
    if (Object.hasOwn(uses, word)) {
      const isPlain = valueIs.test(name) && (valueIs.test(value) || value === '/');
      if (!isPlain || more !== undefined)
        throw new RecordInvalid(`No use of a device: ${shown(line)}`);
      Object.assign(record[uses[word as keyof typeof uses]], { [name]: value });
    } else record.functions.push(parseFunction(line));
  }
  return record;
}

function parseFunction(line: string): RecordedFunction {
  const [, address, ids, classCode, rest = ''] = functionLine.exec(line) ?? [];
  if (!address || !ids || !classCode) throw new RecordInvalid(`No function: ${shown(line)}`);
  const words = rest.split(' ').slice(1);
  const values: Partial<Record<ValueName, string>> = {};
  for (let index = 0; index < words.length; index += 2) {
    const [name = '', value = ''] = words.slice(index, index + 2);
    const valueName = valueNames.find((each) => each === name);
    if (!valueName || !valueIs.test(value)) {
      throw new RecordInvalid(`${shown(name)} of ${address} is none of ${valueNames.join(', ')}.`);
    }
    values[valueName] = value;
  }
  return { address, ids, classCode, values };
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 120));
}
