// Each host: who it is at AWS IoT, whether its agent is there, and what of it waits for an operator.

import { hostnameOf, thingName } from '#core/contracts/topics.ts';
import { isWithheld } from '#core/domain/handle-state.ts';
import { failuresBeforePause } from '#core/domain/host-pause.ts';
import { isLost } from '#core/domain/presence.ts';
import { createRegistry, type Registry } from '../enrol/registry.ts';
import { type CheckContext, CheckFailed, type Finding, perform } from './check.ts';

const devicesPerPage = 1000;

/** A finding per host, or one that says why there are none. */
export async function examineHosts(patient: CheckContext): Promise<Finding[]> {
  const { deps, aws } = patient;
  const registry = createRegistry(aws.iot, deps.settings.stage);
  let enrolled: string[] = [];
  let seen: string[] = [];
  const listing = await perform(
    {
      name: 'hosts',
      remedy: 'Check the rights to list things and to read the inventory.',
      look: async () => {
        enrolled = (await registry.things()).map(hostnameOf);
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
  // Before any uuid; DynamoDB compares no key with an empty text.
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
  const enrol = `npm run -s enrol -- add ${hostname} --stage ${deps.settings.stage}`;
  if (!isEnrolled) {
    const remedy = `Enrol it: ${enrol}; or, if the host is gone, delete its instances.`;
    throw new CheckFailed('It has devices, and AWS IoT has no thing of this stage for it.', remedy);
  }
  const thing = thingName(deps.settings.stage, hostname);
  const certificates = await registry.certificatesOf(thing);
  const active = certificates.filter(({ status }) => status === 'ACTIVE');
  if (active.length === 0) {
    throw new CheckFailed(
      'It has no active certificate.',
      `Enrol it with an empty folder: ${enrol}`,
    );
  }
  const { host, devices } = await deps.store.inventory.host(hostname);
  if (host.lastReportAt === undefined) {
    const remedy = 'Install its folder and start its agent; see docs/agent.md.';
    throw new CheckFailed('It has never reported.', remedy);
  }
  if (host.conflict) {
    const { since, boots } = host.conflict;
    const seen = boots.map(({ bootId, lastAt }) => `${bootId} (last report ${lastAt})`);
    const remedy = `Compare /proc/sys/kernel/random/boot_id on both hosts, end the agent that is not ${hostname}, or enrol it as another host; then npm run -s settle -- ${hostname} --boot <its boot id>; see reports-in-conflict in docs/operations.md.`;
    throw new CheckFailed(
      `Two agents report as it since ${since}: boots ${seen.join(', ')}.`,
      remedy,
    );
  }
  if (isLost(host, deps.clock())) {
    const remedy = `On the host: systemctl status cyborg-agent; journalctl -u cyborg-agent`;
    throw new CheckFailed(`Its agent is away; its last report is of ${host.lastReportAt}.`, remedy);
  }
  if (host.failedJobs && host.failedJobs.count >= failuresBeforePause) {
    const { count, lastAt, reason } = host.failedJobs;
    throw new CheckFailed(
      `Its last ${count} jobs failed, the last at ${lastAt}: ${reason}`,
      'On the host: journalctl -u cyborg-agent; see A host that fails its jobs, in docs/operations.md.',
    );
  }
  const refused = Object.entries(host.refused).map(([at, { reason }]) => `${at}: ${reason}`);
  if (refused.length > 0) {
    throw new CheckFailed(
      `What it says of these devices is refused: ${refused.join('; ').slice(0, 500)}`,
      'Correct the settings of its agent, or its driver; the other devices are stored.',
    );
  }
  let withheld = 0;
  for (const { providers } of devices) {
    for (const { handles } of await deps.store.inventory.providers(providers)) {
      withheld += handles.filter(isWithheld).length;
    }
  }
  if (withheld > 0) {
    const remedy =
      'Cleaning is retried by itself. To have the host clean now: POST /v2/devices/<uuid>/force_release. What it cannot clean, clean by hand, and send {"cleaned": true}; see handles-quarantined in docs/operations.md.';
    throw new CheckFailed(`${withheld} handles are in quarantine, or from a backup.`, remedy);
  }
  const renewal =
    active.length > 1 ? `; ${active.length} certificates: enrol retire removes the old` : '';
  return `${devices.length} devices, last report ${host.lastReportAt}${renewal}`;
}
