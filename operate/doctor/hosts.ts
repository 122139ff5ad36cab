// Checks each host: its identity at AWS IoT, the presence of its agent, and what needs an
// operator.

import { X509Certificate } from 'node:crypto';
import { createRegistry, type Registry } from '#core/clients/aws/host-registry.ts';
import { CheckFailed, type Finding, perform } from '#core/command-line/checks.ts';
import { readHostname, thingName } from '#core/contracts/topics.ts';
import { allNotOffered } from '#core/domain/arq/attach-types.ts';
import { isUnhealthy } from '#core/domain/device/device-health.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import { refusedNow } from '#core/domain/host/host.ts';
import { failuresBeforePause } from '#core/domain/host/host-pause.ts';
import { isLost } from '#core/domain/host/presence.ts';
import {
  findOtherOwner,
  foreignProviders,
  readTree,
} from '#core/operations/placement/find-other-owner.ts';
import { otherStackAt } from '#core/operations/placement/put-provider.ts';
import { findBlockingConsumers } from '#core/operations/restore/reinstate-handles.ts';
import type { CheckContext } from './check.ts';

const devicesPerPage = 1000;
const endsSoonMs = 30 * 24 * 60 * 60 * 1000;

/** One finding per host, or one that says why there are none. */
export async function examineHosts(patient: CheckContext): Promise<Finding[]> {
  const { deps, aws } = patient;
  const registry = createRegistry(aws.iot, deps.settings.stage);
  let enrolled: string[] = [];
  let seen: string[] = [];
  const listing = await perform(
    {
      name: 'hosts',
      remedy: 'Check the permissions to list things and to read the inventory.',
      look: async () => {
        enrolled = (await registry.things()).map(readHostname);
        seen = await hostsWithDevices(patient);
        return `${enrolled.length} enrolled, ${seen.length} with devices`;
      },
    },
    patient,
  );
  const findings = [listing];
  for (const hostname of [...new Set([...enrolled, ...seen])].sort()) {
    const check = {
      name: `host ${hostname}`,
      remedy: 'Try again.',
      look: () => examineHost(patient, registry, hostname, enrolled.includes(hostname)),
    };
    findings.push(await perform(check, patient));
  }
  return findings;
}

async function hostsWithDevices({ deps }: CheckContext): Promise<string[]> {
  const hosts = new Set<string>();
  // Sorts before every uuid; DynamoDB does not compare a key with an empty text.
  let after = '0';
  for (;;) {
    const devices = await deps.listings.devicesAfter(after, devicesPerPage);
    for (const { hostname } of devices) hosts.add(hostname);
    if (devices.length < devicesPerPage) return [...hosts];
    after = devices.at(-1)?.uuid ?? after;
  }
}

async function examineHost(
  { deps }: CheckContext,
  registry: Registry,
  hostname: string,
  isEnrolled: boolean,
): Promise<string> {
  const enrol = `cyborg-ops enrol add ${hostname} --stage ${deps.settings.stage}`;
  if (!isEnrolled) {
    const remedy = `Enrol the host: ${enrol}; or, if the host is gone, delete its instances.`;
    throw new CheckFailed('The host has devices, but no thing of this stage at AWS IoT.', remedy);
  }
  const thing = thingName(deps.settings.stage, hostname);
  const certificates = await registry.certificatesOf(thing);
  const active = certificates.filter(({ status }) => status === 'ACTIVE');
  if (active.length === 0) {
    throw new CheckFailed(
      'The host has no active certificate.',
      `Enrol the host with an empty folder: ${enrol}`,
    );
  }
  const endsMs = Math.max(...active.map(({ pem }) => Date.parse(new X509Certificate(pem).validTo)));
  if (endsMs < deps.clock() + endsSoonMs) {
    throw new CheckFailed(
      `The host's certificate ends at ${new Date(endsMs).toISOString()}; then its agent cannot connect.`,
      `cyborg-ops enrol rotate ${hostname} --stage ${deps.settings.stage}; or, if the agent should have renewed it (rotate_after_days), on the host: journalctl -u cyborg-agent -g Certificate`,
    );
  }
  const inventory = await deps.store.inventory.host(hostname);
  const { host, devices } = inventory;
  if (host.lastReportAt === undefined) {
    const remedy = 'Install its folder and start its agent; see docs/agent.md.';
    throw new CheckFailed('The host has never reported.', remedy);
  }
  if (host.conflict) {
    const { since, boots } = host.conflict;
    const seen = boots.map(({ bootId, lastAt }) => `${bootId} (last report ${lastAt})`);
    const remedy = `Compare /proc/sys/kernel/random/boot_id on both hosts, end the agent that is not ${hostname}, or enrol it as another host; then cyborg-ops hosts settle ${hostname} --boot <its boot id>; see reports-in-conflict in docs/operations/hosts.md.`;
    throw new CheckFailed(
      `Two agents report as this host since ${since}: boots ${seen.join(', ')}.`,
      remedy,
    );
  }
  if (isLost(host, deps.clock())) {
    const remedy = `On the host: systemctl status cyborg-agent; journalctl -u cyborg-agent`;
    throw new CheckFailed(
      `The agent is not connected; its last report is of ${host.lastReportAt}.`,
      remedy,
    );
  }
  if (host.failedJobs && host.failedJobs.count >= failuresBeforePause) {
    const { count, lastAt, reason } = host.failedJobs;
    throw new CheckFailed(
      `The last ${count} jobs failed, the last at ${lastAt}: ${reason}`,
      'On the host: journalctl -u cyborg-agent; see A host that fails its jobs, in docs/operations/devices.md.',
    );
  }
  const refused = refusedNow(host.refused).map(([at, { reason }]) => `${at}: ${reason}`);
  if (refused.length > 0) {
    throw new CheckFailed(
      `The descriptions of these devices are refused: ${refused.join('; ').slice(0, 500)}`,
      'Correct the settings or the driver of the agent; the other devices are stored.',
    );
  }
  const foreign = foreignProviders(await readTree(deps, hostname), devices);
  const offeredTwice: string[] = [];
  const ofOtherStacks: string[] = [];
  const notOffered = allNotOffered(inventory, deps.settings.attachTypes);
  const left = notOffered.map(({ address, driver, reason }) => `${address} (${driver}) ${reason}`);
  const withheld = { quarantined: 0, restored: 0 };
  const blocking = new Set<string>();
  for (const device of devices) {
    const providers = await deps.store.inventory.providers(device.providers);
    for (const each of providers) {
      const states = each.handles.map(handleStateOf);
      withheld.quarantined += states.filter((state) => state === 'quarantined').length;
      withheld.restored += states.filter((state) => state === 'restored').length;
      const { unknown, moved } = await findBlockingConsumers(deps, each);
      for (const instance of [...unknown, ...moved]) blocking.add(instance);
    }
    const owner = await findOtherOwner(deps, foreign, device, async () => providers);
    if (owner) offeredTwice.push(`${device.address} by ${owner.name}, by ${owner.by}`);
    const [provider] = device.providers;
    const mark = provider && (await otherStackAt(deps, provider));
    if (mark) ofOtherStacks.push(`${device.address} by ${mark}`);
  }
  if (offeredTwice.length > 0) {
    throw new CheckFailed(
      `Nova or another service offers these devices, too: ${offeredTwice.join('; ').slice(0, 500)}`,
      "Remove them from Nova's [pci] or [devices] configuration, or from the agent's settings; see devices-offered-twice in docs/operations/devices.md.",
    );
  }
  if (ofOtherStacks.length > 0) {
    throw new CheckFailed(
      `Another stack has these devices in Placement, and this one does not touch them: ${ofOtherStacks.join('; ').slice(0, 500)}`,
      'Forget the host in the stack that it has left; see Two stacks on one Placement, in docs/operations/devices.md.',
    );
  }
  if (withheld.quarantined > 0) {
    const remedy =
      'Cleaning is retried automatically. To clean now: POST /v2/devices/<uuid>/force_release. If the host cannot clean a device, clean it by hand, and send {"cleaned": true}; see handles-quarantined in docs/operations/devices.md.';
    throw new CheckFailed(`${withheld.quarantined} handles are in quarantine.`, remedy);
  }
  if (withheld.restored > 0) {
    const why =
      blocking.size > 0
        ? `because of instances ${[...blocking].join(', ').slice(0, 500)}`
        : 'until the host has reported and Placement was asked, within the hour';
    throw new CheckFailed(
      `${withheld.restored} handles are restored from a backup, and withheld ${why}.`,
      `cyborg-ops reconcile ${hostname} names provider and instance; see docs/operations/restore.md.`,
    );
  }
  const renewal =
    active.length > 1 ? `; ${active.length} certificates: enrol retire removes the old ones` : '';
  const named = left.length > 0 ? `; not offered: ${left.join('; ').slice(0, 500)}` : '';
  const unwell = devices.filter(isUnhealthy);
  if (unwell.length > 0) {
    const reasons = unwell.map(({ address, health }) => `${address} ${health?.reason ?? ''}`);
    throw new CheckFailed(
      `Devices are unhealthy, and no server gets them: ${reasons.join('; ').slice(0, 500)}`,
      'On the host: journalctl -u cyborg-agent; see Unhealthy devices, in docs/operations/devices.md.',
    );
  }
  return `${devices.length} devices, last report ${host.lastReportAt}${renewal}${named}`;
}
