// Measures servers that run already and speak Cyborg's v2 API.

import { type LatencyOptions, measure, type Subject } from './latency.ts';
import type { Foreign } from './options.ts';
import { printLatency } from './print/print-latency.ts';
import { type Api, createApi, expectAnswer } from './system/api.ts';

/** The groups that Cyborg's documentation shows for the fake driver's device. */
const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];

/** Measures one server, or two in turns with a comparison. */
export async function benchForeignServers(
  servers: readonly Foreign[],
  options: LatencyOptions,
): Promise<boolean> {
  const opened: Opened[] = [];
  try {
    for (const server of servers) opened.push(await open(server));
    const measured = await measure(
      opened.map(({ subject }) => subject),
      options,
    );
    printLatency(measured);
    return measured.every(({ failure }) => failure === undefined);
  } finally {
    for (const { close } of opened) await close();
  }
}

interface Opened {
  readonly subject: Subject;
  close(): Promise<void>;
}

async function open(foreign: Foreign): Promise<Opened> {
  const { target, hostname, providerUuid, instanceUuid } = foreign;
  const api = createApi(target);
  const profileName = foreign.profileName ?? (await makeProfile(api));
  const place = {
    hostname,
    providerUuid,
    profileName,
    ...(instanceUuid !== undefined && { instanceUuid }),
  };
  return {
    subject: { title: target.url, api, places: [place] },
    close: async () => {
      if (foreign.profileName === undefined) {
        await expectAnswer(api, 204, 'DELETE', `/device_profiles?value=${profileName}`);
      }
      api.close();
    },
  };
}

/** Deployed Cyborg accepts only a list of one profile. */
async function makeProfile(api: Api): Promise<string> {
  const name = `bench-${Date.now()}`;
  await expectAnswer(api, 201, 'POST', '/device_profiles', [{ name, groups }]);
  return name;
}
