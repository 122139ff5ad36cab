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
  const rows = (await discoverAll(record)).flatMap(({ driver, functions, devices, reasons }) =>
    functions.map(({ address, ids }) => {
      const device = devices[address];
      const outcome = device ? describe(device) : (reasons.get(address) ?? 'not named');
      return { address, ids, driver, outcome };
    }),
  );
  return rows.sort((one, other) => (one.address < other.address ? -1 : 1));
}

/** What the drivers report of the host's accelerators. */
export async function reportedDevices(record: HostRecord): Promise<readonly ReportedDevice[]> {
  return (await discoverAll(record)).flatMap(({ devices }) => Object.values(devices));
}

async function discoverAll(record: HostRecord) {
  const found: Awaited<ReturnType<typeof discoverBy>>[] = [];
  const host = buildHost(record);
  try {
    for (const [driver, functions] of Map.groupBy(record.functions, driverFor)) {
      if (driver !== undefined)
        found.push(await discoverBy(driver, functions, await host.context()));
    }
  } finally {
    host.remove();
  }
  return found;
}

async function discoverBy(
  name: string,
  functions: readonly RecordedFunction[],
  context: Parameters<
    Extract<ReturnType<(typeof ownDrivers)[number]['configure']>, { create: unknown }>['create']
  >[0],
) {
  const module = ownDrivers.find((each) => each.name === name);
  const addresses = functions.map(({ address }) => address);
  const configured = module?.configure(settings[name]?.(addresses, functions));
  if (!configured || 'faults' in configured)
    throw new Error(`${name}: ${JSON.stringify(configured)}`);
  const { devices, notOffered = [] } = await configured.create(context).discover();
  const reasons = new Map(notOffered.map(({ address, reason }) => [address, reason]));
  return { driver: name, functions, devices, reasons };
}

function describe({ type, offers, regions }: ReportedDevice): string {
  const all = [...(offers ? [offers] : []), ...regions];
  return [type, ...all.map((each) => `${each.attach_handles.length} ${each.resource_class}`)].join(
    ', ',
  );
}
