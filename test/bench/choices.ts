// What choosing costs: the alternative that Nova is given, and the units of a pool that a bind
// takes.

import { createConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { toContent } from '#core/domain/profile/profile-changes.ts';
import { silentLog } from '#core/log.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { createDeviceProfiles } from '#core/operations/profiles/create-device-profiles.ts';
import { updateDeviceProfile } from '#core/operations/profiles/update-device-profile.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { aDevice, aHandle, aReport } from '#test/support/reports.ts';
import { refuseUnmeasured, streamsRead } from './large.ts';
import { createSubject, type LatencyOptions, measure } from './latency.ts';
import { printMultiples } from './print/print-multiples.ts';
import { type OwnSystem, startOwnSystem } from './system/own-system.ts';

/** As many as the pool has, and enough that Nova is always given the first alternative. */
const handles = [64, 4096] as const;
const poolUnits = 64;
const pools = 'cmp2';
/** A promise is a write, beside the one read of another profile. */
const getMax = 3;
const bindMax = 1.5;

/** Returns false if a ratio is above its target. */
export async function benchChoices({ iterations }: LatencyOptions): Promise<boolean> {
  const own = await startOwnSystem({ handles, arqCount: 0 });
  try {
    await addChoices(own);
    await streamsRead(own);
    const [few, many] = own.places as [Place, Place];
    const pooled = { hostname: pools, providerUuid: providerUuid(`${pools}_Pool`) };
    const subjects = [
      createSubject('one profile', own.target, [many]),
      createSubject('one with alternatives', own.target, [{ ...many, profileName: 'either' }]),
      createSubject(`${poolUnits} handles`, own.target, [few]),
      createSubject(`a pool of ${poolUnits}`, own.target, [{ ...pooled, profileName: 'pooled' }]),
    ];
    const measured = await measure(subjects, { iterations, concurrencies: [1] });
    for (const { api } of subjects) api.close();
    refuseUnmeasured(measured);
    const isGetWithin = printMultiples('GET profile', measured.slice(0, 2), getMax);
    return printMultiples('PATCH', measured.slice(2), bindMax) && isGetWithin;
  } finally {
    await own.stop();
  }
}

type Place = OwnSystem['places'][number];

async function addChoices({ layout, variables }: OwnSystem): Promise<void> {
  Object.assign(process.env, variables);
  const deps = { ...createConsumerDeps('bench'), log: silentLog };
  await announceHost(layout, pools);
  const attach_handles = Array.from({ length: poolUnits }, (_, index) => ({
    ...aHandle(index + 1),
    locality: { numa: index % 2, root: `0000:${index % 8}` },
  }));
  const offers = { resource_class: 'PGPU', traits: [], attach_handles };
  await applyReport(
    deps,
    pools,
    aReport([aDevice({ provider_suffix: 'Pool', offers })]),
    Date.now(),
  );
  const fake = { 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' };
  const card = { 'resources:PGPU': '1' };
  const requests = [
    { name: 'either', groups: [fake] },
    { name: 'pooled', groups: [card] },
  ];
  await createDeviceProfiles(deps, requests, '2.3');
  await updateDeviceProfile(deps, 'either', (profile) => ({
    ...toContent(profile),
    alternatives: [[card]],
  }));
}
