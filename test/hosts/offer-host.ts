// Asks the agent's drivers for all accelerators of a recorded host, as an operator would who wants
// each of them offered as a whole.

import { ownDrivers } from '#agent/drivers/index.ts';
import type { HostRecord, RecordedFunction } from '#agent/record/host-record.ts';
import { driverFor, wholeSettings } from '#agent/self-test/offer-all.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { buildHost } from './build-host.ts';

export interface OfferedRow {
  readonly address: string;
  readonly ids: string;
  readonly driver: string;
  /** `GPU, PGPU`, or why it is not offered. */
  readonly outcome: string;
}

const settings: typeof wholeSettings = {
  ...wholeSettings,
  // No record has what a device can erase.
  nvme: (devices) => ({ devices, clean: 'none', data_may_stay: true }),
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
  const addresses = functions.map(({ address }) => address);
  const configured = module?.configure(settings[name]?.(addresses, functions));
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
