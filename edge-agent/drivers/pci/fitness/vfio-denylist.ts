// Models that the kernel's driver vfio-pci refuses to take, because a guest can stop the host with
// them: Linux, drivers/vfio/pci/vfio_pci.c, vfio_pci_dev_in_denylist. Denylist and its parameter
// disable_denylist exist since 5.9.

import type { Hardware } from '#agent/hardware/port.ts';
import { type PciFunction, readIfReadable } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';

interface DeniedModels {
  /** All are of vendor 8086. */
  readonly products: readonly string[];
  /** The first release of each series that denies them; a later series does, too. */
  readonly since: readonly string[];
}

const denied: readonly DeniedModels[] = [
  // QAT: DH895xCC, C3xxx and C62x, each with its virtual functions.
  { products: ['0435', '0443', '19e2', '19e3', '37c8', '37c9'], since: ['5.9'] },
  // The accelerators DSA and IAA of Sapphire Rapids.
  { products: ['0b25', '0cfe'], since: ['5.15.159', '6.1.91', '6.6.31', '6.8.10', '6.9'] },
];
const driver = 'vfio-pci';
const parameters = 'module/vfio_pci/parameters';

const reason =
  'cannot be given to a guest: vfio-pci refuses this model (denylist), with which a guest can stop ' +
  'the host; load vfio-pci with disable_denylist=1 only if you trust every guest';

interface DenylistDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Pick<Hardware, 'readProc'>;
}

/**
 * Why functions cannot be bound to the driver, by address. A function that is bound to it has been
 * taken; other drivers of VFIO have no denylist.
 *
 * @param bindTo the driver that the settings name; by default libvirt binds it to vfio-pci
 */
export async function denylistRefusals(
  { sysfs, hardware }: DenylistDeps,
  functions: readonly (readonly [fn: PciFunction, bindTo: string | undefined])[],
): Promise<ReadonlyMap<string, string>> {
  const listed = functions.filter(
    ([{ vendorId, productId, boundDriver = '' }, bindTo = driver]) =>
      vendorId === '8086' &&
      denied.some(({ products }) => products.includes(productId)) &&
      bindTo === driver &&
      !boundDriver.includes('vfio'),
  );
  const [first] = listed;
  if (!first || !isDenying(sysfs)) return new Map();
  const release = await hardware
    .readProc(first[0].address, 'sys/kernel/osrelease')
    .catch(() => undefined);
  return new Map(
    listed.flatMap(([{ address, productId }]) =>
      isDeniedBy(productId, release) ? [[address, reason] as const] : [],
    ),
  );
}

/** A driver that is loaded without the parameter is older than its denylist. */
function isDenying(sysfs: Sysfs): boolean {
  const value = readIfReadable(sysfs, `${parameters}/disable_denylist`);
  return value === undefined ? sysfs.list(parameters) === undefined : value !== 'Y';
}

/** Without a release that can be read, only the models of the first denylist are denied. */
function isDeniedBy(productId: string, release: string | undefined): boolean {
  const { since = [] } = denied.find(({ products }) => products.includes(productId)) ?? {};
  const [, version] = /^(\d+\.\d+(?:\.\d+)?)/.exec(release ?? '') ?? [];
  if (version === undefined) return since.includes('5.9');
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const series = since.map((each) => each.split('.').map(Number));
  const own = series.find(([a, b, c]) => a === major && b === minor && c !== undefined);
  if (own) return patch >= (own[2] ?? 0);
  const [lastMajor = 0, lastMinor = 0] = series.at(-1) ?? [];
  return major > lastMajor || (major === lastMajor && minor >= lastMinor);
}
