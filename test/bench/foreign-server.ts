// A server that is not ours to start; it speaks Cyborg's v2 API, whoever made it.

import { type Api, createApi, expectAnswer } from './api.ts';
import { type LatencyOptions, measure } from './latency.ts';
import type { Foreign } from './options.ts';
import { printLatency } from './print-latency.ts';

/** As upstream's documentation has it for the fake driver's device. */
const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];

export async function benchForeignServer(
  foreign: Foreign,
  options: LatencyOptions,
): Promise<boolean> {
  const { target, hostname, providerUuid, instanceUuid } = foreign;
  const api = createApi(target);
  const profileName = foreign.profileName ?? (await makeProfile(api));
  try {
    const place = {
      hostname,
      providerUuid,
      profileName,
      ...(instanceUuid !== undefined && { instanceUuid }),
    };
    const measured = await measure([{ title: target.url, api, places: [place] }], options);
    printLatency(measured);
    return measured.every(({ failure }) => failure === undefined);
  } finally {
    if (foreign.profileName === undefined) {
      await expectAnswer(api, 204, 'DELETE', `/device_profiles?value=${profileName}`);
    }
    api.close();
  }
}

/** Deployed Cyborg takes a list of one. */
async function makeProfile(api: Api): Promise<string> {
  const name = `bench-${Date.now()}`;
  await expectAnswer(api, 201, 'POST', '/device_profiles', [{ name, groups }]);
  return name;
}
