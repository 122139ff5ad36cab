// A QAT card as the kernel's driver shows it (Linux, Documentation/ABI/testing: sysfs-driver-qat,
// sysfs-driver-qat_ras, debugfs-driver-qat). Each file takes the driver's locks, so that each is
// read through the hardware port. Families before 4xxx have none but the heartbeat.

import type { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type PciFunction, readPciFunctions } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { parseServices, type QatFamily, type QatService, qatFamilies } from './families.ts';

interface CardDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
}

type QatState = 'up' | 'down';

export interface QatFiles {
  /** Absent where the family's driver has no such file. */
  readonly state?: QatState;
  readonly services?: readonly QatService[];
  readonly ringPairs?: number;
}

export function findFamily({ productId }: PciFunction): QatFamily | undefined {
  return Object.hasOwn(qatFamilies, productId) ? qatFamilies[productId] : undefined;
}

export function virtualFunctions(sysfs: Sysfs, { address }: PciFunction): PciFunction[] {
  return readPciFunctions(sysfs, () => {}).filter((fn) => fn.physicalFunction === address);
}

/** @throws a clause unless the card shows its state and services, or has no such files */
export async function readFiles(deps: CardDeps, fn: PciFunction): Promise<QatFiles> {
  if (!deps.sysfs.list(`${fn.path}/qat`)) return {};
  const state = await readIfThere(deps, fn, 'qat/state');
  const text = await readIfThere(deps, fn, 'qat/cfg_services');
  const rings = Number(await readIfThere(deps, fn, 'qat/num_rps').catch(() => undefined));
  const services = text === undefined ? undefined : parseServices(text);
  if (state !== undefined && state !== 'up' && state !== 'down') {
    throw new Error('has an unknown state');
  }
  if (text !== undefined && !services) throw new Error('has an unknown list of services');
  return {
    ...(state && { state }),
    ...present({ services }),
    ...(Number.isSafeInteger(rings) && rings > 0 && { ringPairs: rings }),
  };
}

async function readIfThere(
  { hardware }: CardDeps,
  { address, path }: PciFunction,
  name: string,
): Promise<string | undefined> {
  try {
    return await hardware.readText(address, `${path}/${name}`);
  } catch (error) {
    if ((error as HardwareError).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** One write, and what the card shows afterwards. @throws the kernel's error, or a sentence */
export async function setState(deps: CardDeps, fn: PciFunction, target: QatState): Promise<void> {
  await deps.hardware.writeText(fn.address, `${fn.path}/qat/state`, target);
  const { state } = await readFiles(deps, fn);
  if (state !== target) throw new Error(`the state of ${fn.address} is ${state}, not ${target}`);
}

export async function setServices(
  deps: CardDeps,
  fn: PciFunction,
  services: readonly QatService[],
): Promise<void> {
  await deps.hardware.writeText(fn.address, `${fn.path}/qat/cfg_services`, services.join(';'));
}

/** The file went with the card's driver, or debugfs is closed by lockdown. */
const hidden: ReadonlySet<string> = new Set(['ENOENT', 'EPERM', 'EACCES']);

/**
 * `0`: the card answers; `-1`: it does not. Reading it asks the card; the file is there while the
 * card is up, and the text ends with a zero byte.
 */
export async function readHeartbeat(
  { sysfs, hardware }: CardDeps,
  { address }: PciFunction,
): Promise<'0' | '-1' | undefined> {
  const folder = debugNames(sysfs).find(
    (name) => /^qat_[a-z0-9]+_/.test(name) && name.endsWith(`_${address}`),
  );
  if (folder === undefined) return undefined;
  const file = `kernel/debug/${folder}/heartbeat/status`;
  const text = await hardware.readText(address, file).catch((error: HardwareError) => {
    // A card that is asked and does not return, now or before, is not alive either.
    return hidden.has(error.code) ? '' : '-1';
  });
  const [, status] = /^(0|-1)[\n\0]*$/.exec(text) ?? [];
  return status === '0' || status === '-1' ? status : undefined;
}

/** None where debugfs is not mounted, or closed by lockdown. */
function debugNames(sysfs: Sysfs): readonly string[] {
  try {
    return sysfs.list('kernel/debug') ?? [];
  } catch {
    return [];
  }
}

/** Reads the card's counters since it came up. */
export async function readRas(
  deps: CardDeps,
  fn: PciFunction,
): Promise<Omit<NonNullable<ReportedDevice['health']>, 'since'> | undefined> {
  const count = async (name: string) => {
    const text = await readIfThere(deps, fn, `qat_ras/${name}`).catch(() => undefined);
    return /^\d{1,15}$/.test(text ?? '') ? Number(text) : 0;
  };
  const fatal = await count('errors_fatal');
  if (fatal > 0) {
    return { state: 'unhealthy', reason: `has had ${fatal} fatal errors since it came up` };
  }
  const nonfatal = await count('errors_nonfatal');
  if (nonfatal === 0) return undefined;
  const reason = `has had ${nonfatal} uncorrectable errors since it came up`;
  return { state: 'degraded', reason };
}

/** The switch on the card: the three physical functions of a c62x chip are behind one. */
export function findChip(
  sysfs: Sysfs,
  { path, address }: Pick<PciFunction, 'path' | 'address'>,
): string | undefined {
  try {
    const steps = sysfs.resolve(path).split('/');
    const isFunction = (step: string | undefined) => /^[0-9a-f:]+\.[0-7]$/.test(step ?? '');
    const above = steps.at(-3);
    return steps.at(-1) === address && isFunction(above) ? above : undefined;
  } catch {
    return undefined;
  }
}
