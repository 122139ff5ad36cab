// Nova's calls, measured of a real Cyborg and of this service in turns. Each has a node, a device
// with 16 handles, and servers that the same Nova knows, so that both post real events.

import assert from 'node:assert/strict';
import { providerUuid } from '#core/domain/ids.ts';
import { createSubject, measure } from '#test/bench/latency.ts';
import { printLatency } from '#test/bench/print/print-latency.ts';
import { scheduleOnlyTo } from '#test/openstack/nodes.ts';
import { providersOf } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { build, makeFlavor } from '#test/openstack/servers.ts';
import { acceleratorUrl, type Stage } from '#test/openstack/stage.ts';
import { demo, logIn } from '#test/openstack/users.ts';
import { eventually } from '#test/support/suites/rest.ts';
import type { Move } from './stage.ts';

const atOnce = 8;
const iterations = 80;
const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];

export function sideBySide(stage: Stage, { cyborg, before, provider }: Move): Scenario[] {
  const [first = '', second = ''] = stage.cloud.plan.computeHosts;
  return [
    {
      name: 'side by side: our agent reports a device of another node',
      run: async () => {
        await stage.system.start(`agent-${second}`);
        await stage.cloud.startCompute(second);
        await eventually(
          () => providersOf(stage, second),
          ({ length }) => length === 2,
          240,
        );
        return '';
      },
    },
    {
      name: 'side by side: the calls of Nova are answered by both, in turns',
      run: async () => {
        const { plan } = stage.cloud;
        const tokens = {
          token: await logIn(plan, demo),
          serviceToken: await logIn(plan, { name: 'nova', project: 'service' }),
        };
        const device = await provider();
        await makeFlavor(stage, 'plain');
        const placesOn = async (hostname: string, ofDevice: string) => {
          await scheduleOnlyTo(stage, hostname);
          const servers = await Promise.all(
            Array.from({ length: atOnce }, () => build(stage, 'plain')),
          );
          return servers.map(({ id, status, fault }) => {
            assert.equal(status, 'ACTIVE', fault);
            const profileName = 'side-by-side';
            return { hostname, providerUuid: ofDevice, profileName, instanceUuid: id };
          });
        };
        for (const { admin } of [stage, before])
          await admin.accelerator.ask('POST', '/device_profiles', [
            { name: 'side-by-side', groups },
          ]);
        const subjects = [
          createSubject(
            'this service',
            { url: acceleratorUrl(stage.layout), ...tokens },
            await placesOn(second, providerUuid(`${second}_FakeDevice`)),
          ),
          createSubject(
            `Cyborg ${cyborg.release.name}`,
            { url: cyborg.url, ...tokens },
            await placesOn(first, device.uuid),
          ),
        ];
        const measured = await measure(subjects, { iterations, concurrencies: [1, atOnce] });
        for (const { api } of subjects) api.close();
        printLatency(measured);
        assert.equal(measured[0]?.failure, undefined);
        return '';
      },
    },
  ];
}
