// The compute nodes of the cloud, and what an operator does with them.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { eventually } from '#test/support/suites/rest.ts';
import {
  computeConfigurationName,
  configurationFile,
  usualDriver,
} from './install/configuration.ts';
import { startNova, startNovaApi } from './install/programs.ts';
import { providersOf } from './providers.ts';
import { show } from './servers.ts';
import { bootFile, type Stage } from './stage.ts';

/** Adds the second node, unless it is added, and waits for devices and providers of both nodes. */
export async function joinSecondNode(stage: Stage): Promise<readonly [string, string]> {
  const [first = '', second = ''] = stage.cloud.plan.computeHosts;
  if ((await providersOf(stage, second)).length === 0) {
    await stage.system.start(`agent-${second}`);
    await stage.cloud.startCompute(second);
    await eventually(
      () => stage.admin.nova.ask('GET', '/os-hypervisors'),
      ({ body }) => body.hypervisors.length === 2,
    );
  }
  await eventually(
    () => providersOf(stage, second),
    ({ length }) => length === 7,
  );
  return [first, second];
}

async function putService(
  { admin }: Stage,
  host: string,
  state: { readonly forced_down: boolean },
): Promise<void> {
  const path = `/os-services?binary=nova-compute&host=${host}`;
  const [service] = (await admin.nova.ask('GET', path)).body.services;
  assert.ok(service, `Nova has no nova-compute on ${host}.`);
  await admin.nova.ask('PUT', `/os-services/${service.id}`, state);
}

/** Sends new servers to that node only; without a name to any node. */
export async function scheduleOnlyTo({ admin: { nova } }: Stage, host?: string): Promise<void> {
  const { services } = (await nova.ask('GET', '/os-services?binary=nova-compute')).body;
  for (const each of services) {
    const status = host === undefined || each.host === host ? 'enabled' : 'disabled';
    await nova.ask('PUT', `/os-services/${each.id}`, { status });
  }
}

/** Simulates a power cut: kills nova-compute and the agent, and sets forced_down in Nova. */
export async function losePower(stage: Stage, host: string): Promise<void> {
  await stage.cloud.killCompute(host);
  await stage.system.kill(`agent-${host}`);
  await putService(stage, host, { forced_down: true });
}

export async function restorePower(stage: Stage, host: string): Promise<void> {
  await stage.system.start(`agent-${host}`);
  await stage.cloud.startCompute(host);
  // Nova refuses until nova-compute has cleaned up the servers that were evacuated from the node.
  await eventually(
    () => putService(stage, host, { forced_down: false }).catch((error: Error) => error),
    (refusal) => refusal === undefined,
  );
}

/** Starts nova-compute of the node with another driver of Nova's, or with the usual one. */
export async function restartWith(stage: Stage, host: string, driver = usualDriver): Promise<void> {
  const { plan } = stage.cloud;
  const file = configurationFile(plan, computeConfigurationName(plan, host));
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/^compute_driver = .*/m, `compute_driver = ${driver}`));
  await restartCompute(stage, host);
}

/**
 * Waits until the service reports its state, and so takes messages.
 *
 * @param isLibvirt Nova's libvirt driver changes the service's record itself, before the service
 *   takes messages
 */
export async function restartCompute(
  stage: Stage,
  host: string,
  { isLibvirt = false } = {},
): Promise<void> {
  await stage.cloud.killCompute(host);
  const killedAt = Date.now();
  await stage.cloud.startCompute(host);
  const query = `binary=nova-compute&host=${host}`;
  const changedAt = await untilReported(stage, query, killedAt + 1000);
  if (isLibvirt) await untilReported(stage, query, changedAt + 3000);
}

/** Waits for a report of the service's state; returns its time. */
function untilReported({ admin }: Stage, query: string, since: number): Promise<number> {
  return eventually(
    async () => {
      const { services } = (await admin.nova.ask('GET', `/os-services?${query}`)).body;
      return Date.parse(`${services[0]?.updated_at}Z`);
    },
    (at) => at > since,
    240,
  );
}

/**
 * Restarts services of Nova with another nova.conf.
 *
 * @param names by default those that call us; nova-compute has a file of its own
 */
export async function restartNova(
  stage: Stage,
  text: string,
  names: readonly ('nova-api' | 'nova-conductor')[] = ['nova-api', 'nova-conductor'],
): Promise<void> {
  const { cloud } = stage;
  writeFileSync(configurationFile(cloud.plan, 'nova'), text);
  for (const name of names) await cloud.processes.kill(name);
  const killedAt = Date.now();
  if (names.includes('nova-conductor')) startNova(cloud, 'conductor', 'nova');
  if (names.includes('nova-api')) await startApiOfNova(stage);
  if (!names.includes('nova-conductor')) return;
  // A message that no conductor takes is lost.
  await untilReported(stage, 'binary=nova-conductor', killedAt + 1000);
}

export async function startApiOfNova({ cloud, demo }: Stage): Promise<void> {
  startNovaApi(cloud);
  await cloud.processes.listening('nova-api', cloud.plan.ports.nova);
  // The first request may take a connection to the process before.
  await eventually(
    () => demo.nova.try('GET', '/servers').catch(String),
    (reply) => typeof reply !== 'string' && reply.status === 200,
  );
}

/** The first node's hardware is empty after it, and its agent is back. */
export async function bootHost({ cloud, system }: Stage): Promise<void> {
  const agent = `agent-${cloud.plan.computeHost}`;
  await system.kill(agent);
  writeFileSync(bootFile(cloud.plan), randomUUID());
  await system.start(agent);
}

export async function hostOf(stage: Stage, id: string): Promise<string | null> {
  const { server } = (await stage.admin.nova.ask('GET', `/servers/${id}`)).body;
  return server['OS-EXT-SRV-ATTR:host'];
}

/** Performs an action on a server, waits until Nova has finished, and returns the status. */
export async function act(stage: Stage, id: string, action: object): Promise<string> {
  await stage.admin.nova.ask('POST', `/servers/${id}/action`, action);
  const { status } = await eventually(
    () => show(stage, id),
    ({ task }) => task === null,
    120,
  );
  return status;
}
