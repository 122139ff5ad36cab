// Asks the agent's drivers for all accelerators of a recorded host, as an operator would who wants
// each of them offered as a whole.

import { aiChips } from '#agent/drivers/by-model/ai-chips.ts';
import { ownDrivers } from '#agent/drivers/index.ts';
import { modelName } from '#agent/drivers/pci/names.ts';
import { qatFamilies } from '#agent/drivers/qat/families.ts';
import type { HostRecord, RecordedFunction } from '#agent/record/host-record.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { buildHost } from './build-host.ts';

export interface OfferedRow {
  readonly address: string;
  readonly ids: string;
  readonly driver: string;
  /** `GPU, PGPU`, or why it is not offered. */
  readonly outcome: string;
}

/** Whole cards only: a virtual function goes with its physical one. */
export function driverFor({ ids, classCode, values }: RecordedFunction): string | undefined {
  const [vendorId = '', productId = ''] = ids.split(':');
  // A listing does not say whose virtual function one is.
  const isVirtual = /\bVF$|Virtual Function/.test(modelName({ vendorId, productId }) ?? '');
  if (values.physical !== undefined || isVirtual) return undefined;
  const isModel = aiChips.rows.some(
    ({ vendor_id: id, product_ids }) => id === vendorId && product_ids.includes(productId),
  );
  if (isModel) return 'ai_chip';
  if (vendorId === '8086' && Object.hasOwn(qatFamilies, productId)) return 'qat';
  if (classCode.startsWith('03')) return vendorId === '10de' ? 'nvidia_gpu' : 'pci';
  if (classCode.startsWith('0108')) return 'nvme';
  if (/^02(00|07|80)/.test(classCode)) return 'nic';
  return /^(12|0b4)/.test(classCode) ? 'pci' : undefined;
}

type Settings = (addresses: readonly string[]) => unknown;

const settings: Readonly<Record<string, Settings>> = {
  nvidia_gpu: (addresses) => ({ cards: [{ addresses }] }),
  nic: (addresses) => ({ cards: [{ addresses, virtual_functions: false, clean: 'none' }] }),
  qat: (addresses) => ({ cards: [{ addresses, virtual_functions: false }] }),
  nvme: (devices) => ({ devices, clean: 'none', data_may_stay: true }),
  ai_chip: (addresses) => ({ devices: [{ addresses }] }),
  pci: (addresses) => ({ allow_list: addresses.map((address) => ({ address })) }),
};

export async function offerHost(record: HostRecord): Promise<readonly OfferedRow[]> {
  const wanted = Map.groupBy(record.functions, driverFor);
  const rows: OfferedRow[] = [];
  const host = buildHost(record);
  try {
    for (const [driver, functions] of wanted) {
      if (driver !== undefined)
        rows.push(...(await offerBy(driver, functions, await host.context())));
    }
  } finally {
    host.remove();
  }
  return rows.sort((one, other) => (one.address < other.address ? -1 : 1));
}

async function offerBy(
  name: string,
  functions: readonly RecordedFunction[],
  context: Parameters<
    Extract<ReturnType<(typeof ownDrivers)[number]['configure']>, { create: unknown }>['create']
  >[0],
): Promise<OfferedRow[]> {
  const module = ownDrivers.find((each) => each.name === name);
  const configured = module?.configure(settings[name]?.(functions.map(({ address }) => address)));
  if (!configured || 'faults' in configured)
    throw new Error(`${name}: ${JSON.stringify(configured)}`);
  const { devices, notOffered = [] } = await configured.create(context).discover();
  const reasons = new Map(notOffered.map(({ address, reason }) => [address, reason]));
  return functions.map(({ address, ids }) => {
    const device = devices[address];
    const outcome = device ? describe(device) : (reasons.get(address) ?? 'not named');
    return { address, ids, driver: name, outcome };
  });
}

function describe({ type, offers, regions }: ReportedDevice): string {
  const all = [...(offers ? [offers] : []), ...regions];
  return [type, ...all.map((each) => `${each.attach_handles.length} ${each.resource_class}`)].join(
    ', ',
  );
}
