// Servers that nova-compute starts after a boot of its host, by resume_guests_state_on_host_boot.

import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hardwareHost } from '#test/openstack/hardware-node.ts';
import {
  type CloudPlan,
  computeConfigurationName,
  configurationFile,
  textOf,
} from '#test/openstack/install/configuration.ts';
import { patchCompute } from '#test/openstack/install/nova-source.ts';
import { restartCompute } from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { show } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import {
  hasDevice,
  installHook,
  removeHook,
  sentenceOf,
  untilRecorded,
  untilSaid,
} from './lost-device.ts';
import type { GuestNode } from './node.ts';
import { actAndRead, bootTenant, found, printedBy, withinSeconds } from './tenant.ts';

const text = 'what a boot of the host keeps';

export function resumed(node: GuestNode): readonly Scenario[] {
  return [
    {
      name: 'guest: a server that Nova resumes lacks its NVMe device, unless Nova has the patch',
      run: async (stage) => {
        const { plan } = stage.cloud;
        const tenant = await bootTenant(stage, 'nvme', text);
        await untilRecorded(node, tenant.id);
        setResume(plan, true);
        await node.powerOff();
        await node.host.boot();
        await node.startAgent();
        const [, said] = await Promise.all([
          restartCompute(stage, hardwareHost, { isLibvirt: true }),
          untilRunning(node, tenant.id).then(() =>
            untilSaid(stage, `server ${tenant.id}, which runs without it`),
          ),
        ]);
        assert.equal((await show(stage, tenant.id)).status, 'ACTIVE');
        assert.equal(await hasDevice(node.host.guest, tenant.id), false);

        await installHook(node);
        await resume(stage, node, tenant.id);
        const { status } = await show(stage, tenant.id);
        assert.equal(status, 'ERROR');
        assert.match(computeLog(plan), sentenceOf(tenant.id));
        assert.notEqual(await stateOf(node, tenant.id), 'running');
        const ended = await untilSaid(stage);
        const lines = await actAndRead(stage, tenant, { reboot: { type: 'HARD' } });
        assert.equal(lines[1], found(text));

        const undo = await patchCompute(stage.cloud, hardwareHost, 'nova-resume.patch');
        await resume(stage, node, tenant.id);
        undo();
        assert.equal((await show(stage, tenant.id)).status, 'ACTIVE');
        assert.ok(await hasDevice(node.host.guest, tenant.id));
        assert.equal((await printedBy(stage, tenant.id))[1], found(text));

        setResume(plan, false);
        await removeHook(node);
        await restartCompute(stage, hardwareHost, { isLibvirt: true });
        await node.removeAndClean(stage, tenant);
        return [
          `ACTIVE without its device, said ${said} s after its start`,
          `with the hook: ${status}, not started; the incident ends after ${ended} s`,
          'with the patch: ACTIVE with its device and data',
        ].join('\n');
      },
    },
  ];
}

function setResume(plan: CloudPlan, value: boolean): void {
  const file = configurationFile(plan, computeConfigurationName(plan, hardwareHost));
  const settings = { DEFAULT: { resume_guests_state_on_host_boot: value } };
  appendFileSync(file, `\n${textOf(settings)}`);
}

/** To nova-compute a host has booted when servers do not run that ran before. */
async function resume(stage: Stage, { host: { guest } }: GuestNode, id: string): Promise<void> {
  await stage.cloud.killCompute(hardwareHost);
  await guest.run('virsh', 'destroy', id);
  await restartCompute(stage, hardwareHost, { isLibvirt: true });
}

async function untilRunning(node: GuestNode, id: string): Promise<void> {
  await eventually(
    () => stateOf(node, id),
    (state) => state === 'running',
    withinSeconds,
  );
}

/** libvirt's word; empty after Nova has undefined what did not start. */
async function stateOf({ host: { guest } }: GuestNode, id: string): Promise<string> {
  return (await guest.tryRun('virsh', 'domstate', id)).stdout.trim();
}

function computeLog(plan: CloudPlan): string {
  const name = `${computeConfigurationName(plan, hardwareHost)}.log`;
  return readFileSync(join(plan.directory, 'log', name), 'utf8');
}
