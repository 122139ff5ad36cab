// A system of the bench's own: each part in a process of its own, as with `npm start`, on free
// ports and in a temporary directory; with devices, a profile, and any number of other ARQs.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConsumerDeps } from '#core/consumer-deps.ts';
import { silentLog } from '#core/log.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { chooseLayout, type Layout, replacedBy } from '#local/process/layout.ts';
import { apiUrl } from '#local/process/parts.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { type ApiTarget, createApi, expectAnswer } from './api.ts';
import type { Place } from './nova-cycle.ts';
import { otherArqs } from './stored-arqs.ts';
import { type StoredRow, storeRows } from './stored-rows.ts';

export const stage = 'bench';
const hostname = 'cmp1';
const profileName = 'bench';

export interface OwnSystem {
  readonly layout: Layout;
  readonly system: System;
  /** Requests have a user's token and Nova's service token, as from Nova. */
  readonly target: ApiTarget;
  /** One place for each device, in the order of {@link OwnSystemOptions.handles}. */
  readonly places: readonly Place[];
  /** A client finds the system by it. */
  readonly variables: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

interface OwnSystemOptions {
  /** The number of attach handles of each device. */
  readonly handles: readonly number[];
  /** How many other ARQs are stored. */
  readonly arqCount: number;
  /** Other rows that are stored before the system starts. */
  readonly rows?: Iterable<StoredRow>;
  readonly variables?: (layout: Layout) => Promise<Readonly<Record<string, string>>>;
}

export async function startOwnSystem(options: OwnSystemOptions): Promise<OwnSystem> {
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-bench-'));
  // A million ARQs take some gigabytes: delete them at every exit.
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  const inherited = { ...process.env };
  // Ignore the caller's variables: the load is for the bench's own engines and fakes.
  for (const name of [...Object.values(replacedBy), 'AWS_ENDPOINT_URL']) delete process.env[name];
  try {
    const layout = await chooseLayout({ stage, directory, anyPorts: true });
    storeRows(layout, storedBefore(options));
    const variables = await options.variables?.(layout);
    const system = await startSystem({
      layout,
      agents: [],
      restart: false,
      ...(variables && { variables }),
    });
    const stop = async () => {
      await system.stop();
      process.off('exit', remove);
      remove();
    };
    try {
      await announceHost(layout, hostname);
      const target = { url: apiUrl(layout), token: 'demo-token', serviceToken: 'nova-token' };
      const providers = await storeDevices(options.handles);
      await createProfile(target);
      const places = providers.map((providerUuid) => ({ hostname, providerUuid, profileName }));
      return { layout, system, target, places, variables: { ...process.env }, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  } finally {
    // A system leaves its endpoints in the environment; reset them for the next system.
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, inherited);
  }
}

function* storedBefore({ arqCount, rows = [] }: OwnSystemOptions): Generator<StoredRow> {
  yield* otherArqs(arqCount);
  yield* rows;
}

/** Stores the devices as the consumer of reports does, and returns the resource providers. */
async function storeDevices(handles: readonly number[]): Promise<string[]> {
  const deps = { ...createConsumerDeps('bench'), log: silentLog };
  const devices = handles.map((count, index) =>
    aDevice({
      address: `0000:${(index + 16).toString(16)}:00.0`,
      provider_suffix: `Bench${index}`,
      handles: count,
    }),
  );
  await applyReport(deps, hostname, aReport(devices), deps.clock());
  const { devices: stored } = await deps.store.inventory.host(hostname);
  return devices.map(({ address }) => {
    const provider = stored.find((each) => each.address === address)?.providers[0];
    if (!provider) throw new Error(`Device ${address} has no resource provider.`);
    return provider;
  });
}

async function createProfile(target: ApiTarget): Promise<void> {
  const api = createApi({ ...target, token: 'admin-token' });
  const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];
  await expectAnswer(api, 201, 'POST', '/device_profiles', [{ name: profileName, groups }]);
  api.close();
}
