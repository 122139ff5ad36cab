// Makes a record of what `udevadm info --export-db` prints: bug reports and test suites of
// distributions have it of many hosts. It names no IOMMU group, NUMA node and way to reset.

import type { HostRecord, RecordedFunction, ValueName } from '#agent/record/host-record.ts';
import { RecordInvalid } from '#agent/record/host-record.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { present } from '#core/shapes/derive/present.ts';

const classes = ['net', 'drm', 'accel', 'graphics', 'nvme', 'block', 'infiniband'] as const;
/** The kernel makes these names of an interface's hardware address. */
const namedByAddress = /^(enx|wlx|wwx)[0-9a-f]{12}$/;

/** @throws RecordInvalid */
export function parseUdevExport(text: string): HostRecord {
  const entries = text.split(/\n\s*\n/).map(readProperties);
  const names = new Map<string, Partial<Record<ValueName, string>>>();
  for (const { DEVPATH: path = '', SUBSYSTEM: subsystem } of entries) {
    const name = classes.find((each) => each === subsystem);
    const entry = path.split('/').at(-1) ?? '';
    const address = addressesOf(path).at(-1);
    if (!name || !address || !/^[A-Za-z0-9_.:-]+$/.test(entry) || namedByAddress.test(entry)) {
      continue;
    }
    // A connector, such as card0-DP-1.
    if (name === 'drm' && entry.includes('-')) continue;
    const stored = names.get(address) ?? {};
    const others = stored[name];
    names.set(address, { ...stored, [name]: others ? `${others},${entry}` : entry });
  }
  const slots = new Set(entries.flatMap(({ PCI_SLOT_NAME: slot = '' }) => addressesOf(slot)));
  const functions = entries.flatMap((entry) => toFunction(entry, slots, names) ?? []);
  if (functions.length === 0) throw new RecordInvalid('The export has no PCI function.');
  return { functions, masters: {}, routes: {}, mounts: {}, holders: readHolders(entries, names) };
}

/** Members of RAID, and what LUKS has opened; the export does not say which disks LVM has. */
function readHolders(
  entries: readonly Properties[],
  names: ReadonlyMap<string, Partial<Record<ValueName, string>>>,
): HostRecord['holders'] {
  const blocks = new Set([...names.values()].flatMap(({ block }) => block?.split(',') ?? []));
  const encrypted = new Map(
    entries.map(({ ID_FS_UUID: uuid = '', DEVNAME: node = '' }) => [
      uuid.replaceAll('-', ''),
      nodeName(node),
    ]),
  );
  const pairs = entries.flatMap((entry) => {
    const { DEVNAME: node = '', DEVTYPE: kind, DM_UUID: id = '' } = entry;
    const [, uuid = ''] = /^CRYPT-\w+-([0-9a-f]{32})-/.exec(id) ?? [];
    // A partition of the volume names its members, too.
    const members = kind === 'disk' ? membersOf(entry) : [];
    return [...members, encrypted.get(uuid) ?? '']
      .filter((member) => blocks.has(member))
      .map((member) => [member, nodeName(node)] as const);
  });
  return Object.fromEntries(pairs.sort());
}

function membersOf(entry: Properties): string[] {
  return Object.entries(entry).flatMap(([name, node]) =>
    /^(UDISKS_)?MD_DEVICE_.+_DEV$/.test(name) ? [nodeName(node)] : [],
  );
}

function nodeName(node: string): string {
  return node.replace(/^\/dev\//, '');
}

type Properties = Readonly<Record<string, string>>;

function readProperties(entry: string): Properties {
  const pairs = entry.split('\n').flatMap((line) => {
    const [, name, value] = /^E: (\w+)=(.*)$/.exec(line) ?? [];
    return name && value ? [[name, value] as const] : [];
  });
  return Object.fromEntries(pairs);
}

function toFunction(
  entry: Properties,
  slots: ReadonlySet<string>,
  names: ReadonlyMap<string, Partial<Record<ValueName, string>>>,
): RecordedFunction | undefined {
  const { PCI_SLOT_NAME: slot = '', PCI_ID: ids, PCI_CLASS: code, SUBSYSTEM: kind } = entry;
  const { DEVPATH: path = '', DRIVER: driver, PCI_SUBSYS_ID: subsystem } = entry;
  const address = addressesOf(slot)[0];
  if (!address || !ids || !code || kind !== 'pci') return undefined;
  const parents = addressesOf(path).slice(0, -1);
  return {
    address,
    ids: ids.toLowerCase(),
    // udev prints it without the zeros before it.
    classCode: code.toLowerCase().padStart(6, '0'),
    values: present({
      subsystem: subsystem === '0000:0000' ? undefined : subsystem?.toLowerCase(),
      driver,
      // Some exports are only of a part of the host.
      below: parents.findLast((each) => slots.has(each)) ?? parents.at(-1),
      ...names.get(address),
    }),
  };
}

function addressesOf(path: string): string[] {
  return path.split('/').flatMap((step) => {
    const parsed = parsePciAddress(step);
    return parsed ? [printPciAddress(parsed)] : [];
  });
}
